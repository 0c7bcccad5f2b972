package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v4"
	"golang.org/x/sys/unix"

	"github.com/plimsoll-bench/plimsoll/fleet"
	"github.com/plimsoll-bench/plimsoll/internal/permit"
	"github.com/plimsoll-bench/plimsoll/record"
)

// trapSpecs are specifications whose every name is a trap: TRAP is a directory in which nothing may be opened or made,
// and PORT a port of loopback to which nothing may connect.
var trapSpecs = map[string]string{
	"lab.yaml": `name: trap
engine: {name: mongod, binary: TRAP/mongod, args: ["--quiet"], parameters: {syncdelay: "60"}}
topology: {kind: sharded, members: 1, shards: 1, config_servers: 1, routers: 1}
`,
	"study.yaml": `name: trap
run:
  workload: {name: a, records: 10}
  load: {workers: 8, duration: 1s, clients: 2, place: "ssh:127.0.0.1"}
  observe: {prometheus: {url: "http://127.0.0.1:PORT/", queries: {q: up}, credentials: TRAP/token}, csv: [{file: TRAP/values.csv}]}
out: TRAP/out
lab:
  engine: {name: mongod, binary: TRAP/mongod, args: ["--quiet"], parameters: {syncdelay: "60"}}
factors: [{path: load.workers, levels: [8, 16]}]
trials: 2
`,
	"loaded.yaml": `name: trap
run:
  target: mongodb://127.0.0.1:PORT/?tls=true&tlsCAFile=TRAP/token
  workload: {name: a, records: 10}
  load: {workers: 8, duration: 1s, clients: 2, place: manual}
  observe: {prometheus: {url: "http://127.0.0.1:PORT/", queries: {q: up}, credentials: TRAP/token}, csv: [{file: TRAP/values.csv}]}
platform: TRAP/platform.yaml
factors: [{path: storage_policy, levels: [a, b]}]
trials: 2
`,
	"drill.yaml": `name: trap
run:
  load: {workers: 8, duration: 10s}
  observe: {prometheus: {url: "http://127.0.0.1:PORT/", queries: {q: up}, credentials: TRAP/token}, csv: [{file: TRAP/values.csv}]}
out: TRAP/out
lab:
  engine: {name: mongod, binary: TRAP/mongod, args: ["--quiet"], parameters: {syncdelay: "60"}}
  topology: {members: 3}
faults: [{fault: "kill:primary"}]
`,
	"commands.yaml": `name: trap
run:
  target: mongodb://127.0.0.1:DEPLOYMENT/
  load: {workers: 8, duration: 10s}
platform: platform.yaml
faults: [{fault: "kill:m1"}]
`,
	"platform.yaml": `members: [{name: m1, address: "127.0.0.1:DEPLOYMENT"}]
actions: {kill: {inject: [TRAP/mongod, inject], heal: [TRAP/mongod, heal], witness: [TRAP/mongod, witness]}}
`,
	"addressed.yaml": `name: trap
run:
  target: "@TRAP/token"
  workload: {name: a, records: 10}
  load: {workers: 8, duration: 1s}
factors: [{path: load.workers, levels: [8, 16]}]
trials: 2
`,
	"addressed-run.yaml": `target: "@TRAP/token"
workload: {name: a, records: 10}
`,
	"run.yaml": `target: mongodb://127.0.0.1:PORT/
workload: {name: a, records: 10}
load: {workers: 8, duration: 1s, clients: 2, place: manual}
observe: {prometheus: {url: "http://127.0.0.1:PORT/", queries: {q: up}, credentials: TRAP/token}, csv: [{file: TRAP/values.csv}]}
out: TRAP/out
`,
	"folder/suite.yaml": `name: trap
out: TRAP/out
parts: [{study: study.yaml}, {drill: drill.yaml}]
`,
	"workload.yaml": `name: trap
collections: {c: {documents: 1, fields: {a: 1}}}
operations: [{name: find, find: {in: c, where: {a: 1}}}]
`,
	"token": "0123456789abcdef\n",
}

// traps notice what a command touches of what its files name.
type traps struct {
	dir         string // TRAP
	watch       *os.File
	connections atomic.Int64
	replace     *strings.Replacer
}

// newTraps sets the traps up in a directory, with the specifications in the current one.
func newTraps(t *testing.T, dir string) *traps {
	t.Helper()
	x := &traps{dir: dir}
	listen := func(count *atomic.Int64) string {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { l.Close() })
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				count.Add(1)
				c.Close()
			}
		}()
		_, port, _ := net.SplitHostPort(l.Addr().String())
		return port
	}
	x.replace = strings.NewReplacer("TRAP", dir, "PORT", listen(&x.connections), "DEPLOYMENT", listen(new(atomic.Int64)))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	program := "#!/bin/sh\ntouch " + dir + "/ran\necho 'db version v5.0.9'\necho 'mongos version v5.0.9'\n"
	for _, name := range []string{"mongod", "mongos", "token", "values.csv", "platform.yaml"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(program), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range trapSpecs {
		x.write(t, name, text)
	}
	for _, name := range []string{"study.yaml", "drill.yaml"} {
		x.write(t, "folder/"+name, trapSpecs[name])
	}
	fd, err := unix.InotifyInit1(unix.IN_NONBLOCK | unix.IN_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	x.watch = os.NewFile(uintptr(fd), "inotify")
	t.Cleanup(func() { x.watch.Close() })
	const events = unix.IN_OPEN | unix.IN_MODIFY | unix.IN_ATTRIB | unix.IN_CREATE | unix.IN_DELETE | unix.IN_MOVE
	if _, err := unix.InotifyAddWatch(fd, dir, events); err != nil {
		t.Fatal(err)
	}
	return x
}

func (x *traps) write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(x.replace.Replace(text)), 0o600); err != nil {
		t.Fatal(err)
	}
}

// marks are the traps that something touched since the last call.
func (x *traps) marks() (found []string) {
	b := make([]byte, 1<<16)
	if n, err := unix.Read(int(x.watch.Fd()), b); err == nil && n > 0 {
		for _, name := range []string{"mongod", "mongos", "token", "values.csv", "platform.yaml", "ran", "out"} {
			if bytes.Contains(b[:n], []byte(name+"\x00")) {
				found = append(found, "the file "+name)
			}
		}
		if len(found) == 0 {
			found = append(found, "the directory of the traps")
		}
	}
	if n := x.connections.Swap(0); n > 0 {
		found = append(found, fmt.Sprintf("%d connections", n))
	}
	return found
}

// filesBelow are the names and times of all files below the directories, without those in made.
func filesBelow(t *testing.T, dirs ...string) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, dir := range dirs {
		err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
			if err == nil && path == "made" {
				return filepath.SkipDir
			}
			if err != nil {
				return err
			}
			info, err := d.Info()
			if err == nil && !d.IsDir() {
				all[path] = fmt.Sprint(info.ModTime().UnixNano(), info.Size())
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// trapRecords writes records that somebody else made: a study and a suite that end early, and runs that were killed,
// with trapped specifications.
func (x *traps) trapRecords(t *testing.T, home string) {
	t.Helper()
	for dir, kind := range map[string]string{"st": record.StudyFile, "su": record.SuiteFile, "ru": record.RunFile,
		"killed": record.RunFile, "dr": record.DrillFile} {
		if err := recordKinds[kind](dir); err != nil {
			t.Fatal(err)
		}
		edit(t, filepath.Join(dir, kind), func(r map[string]any) {
			r["status"] = "interrupted"
			if dir == "killed" {
				r["status"] = "running"
			}
			if dir != "su" {
				tree := x.tree(t, map[string]string{record.StudyFile: "study.yaml", record.RunFile: "run.yaml",
					record.DrillFile: "drill.yaml"}[kind])
				asked, ok := tree["run"].(map[string]any)
				if !ok {
					asked = tree
				}
				if dir == "killed" { // nothing else ends it before the traps
					r["specification"] = tree
					return
				}
				asked["workload"] = map[string]any{"name": filepath.Join(x.dir, "platform.yaml"), "records": 10}
				r["specification"] = tree
			}
		})
	}
	// The writer of these records knows the coordinator of an unfinished run of this user.
	id := "run-" + strings.Repeat("0", 32)
	x.write(t, filepath.Join("killed", fleet.CoordinatorDir, idFile), id)
	x.write(t, filepath.Join("killed", fleet.CoordinatorDir, "fleet.json"), `{"started": 1, "clients": [{}, {}]}`)
	if err := errors.Join(os.MkdirAll(filepath.Join(home, coordinatorsDir, id), 0o700),
		os.Remove(filepath.Join("killed", record.SumsFile)),
		os.CopyFS(filepath.Join("dr", "killed"), os.DirFS("killed"))); err != nil {
		t.Fatal(err)
	}
	var parts []any
	edit(t, filepath.Join("su", record.SuiteFile), func(r map[string]any) {
		for _, p := range r["parts"].([]any) {
			part := p.(map[string]any)
			part["status"], part["kind"] = "planned", "study"
			delete(part, "record")
			parts = append(parts, map[string]any{"name": part["name"], "study": x.tree(t, "study.yaml")})
		}
	})
	plan, _ := json.Marshal(map[string]any{"schema_version": record.SchemaVersion, "kind": record.KindSuitePlan,
		"parts": parts})
	x.write(t, filepath.Join("su", record.SuitePlan), string(plan))
	for _, dir := range []string{"st", "su", "ru", "dr"} {
		if err := record.Seal(dir); err != nil {
			t.Fatal(err)
		}
	}
}

// tree is a specification as it is in a record.
func (x *traps) tree(t *testing.T, name string) (tree map[string]any) {
	t.Helper()
	if err := yaml.Unmarshal([]byte(x.replace.Replace(trapSpecs[name])), &tree); err != nil {
		t.Fatal(err)
	}
	return tree
}

func edit(t *testing.T, file string, change func(map[string]any)) {
	t.Helper()
	b, err := os.ReadFile(file)
	var tree map[string]any
	if err == nil {
		err = json.Unmarshal(b, &tree)
	}
	if err == nil {
		change(tree)
		b, err = json.Marshal(tree)
	}
	if err == nil {
		err = os.WriteFile(file, b, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// trapped are command lines for all commands that may not start programs, and for those that refuse to. Those that end
// with another exit code than 0 come with it and a part of their error.
var trapped = map[string][][]string{
	"study init": {{"study", "init", "made/study.yaml"}},
	"study plan": {{"study", "plan", "study.yaml"}, {"study", "plan", "loaded.yaml"},
		{"study", "plan", "addressed.yaml"}},
	"study schema":     {{"study", "schema"}},
	"study status":     {{"study", "status", "st"}},
	"study resume":     {{"study", "resume", "st"}},
	"suite plan":       {{"suite", "plan", "folder"}},
	"suite schema":     {{"suite", "schema"}},
	"suite status":     {{"suite", "status", "su"}},
	"suite show":       {{"suite", "show", "su"}},
	"suite resume":     {{"suite", "resume", "su"}},
	"lab plan":         {{"lab", "plan", "lab.yaml"}, {"lab", "plan", "--binary", "TRAP/mongod"}},
	"lab init":         {{"lab", "init", "made/lab.yaml"}},
	"lab schema":       {{"lab", "schema"}},
	"lab list":         {{"lab", "list"}},
	"lab status":       {{"lab", "status", "trap"}},
	"lab logs":         {{"lab", "logs", "trap"}},
	"show":             {{"show", "st"}, {"show", "su"}, {"show", "ru"}},
	"report":           {{"report", "st", "su", "ru", "-o", "-"}, {"report", "ru", "--format", "csv"}},
	"serve":            {{"serve", ".", "--listen", "127.0.0.1:0"}},
	"compare":          {{"compare", "ru", "ru"}},
	"history":          {{"history", "."}},
	"size":             {{"size", "ru", "--need", "ops=5,p99<1s"}},
	"workload list":    {{"workload", "list"}},
	"workload init":    {{"workload", "init", "--from", "a"}, {"workload", "init", "made/workload.yaml"}},
	"workload schema":  {{"workload", "schema"}},
	"workload check":   {{"workload", "check", "workload.yaml"}},
	"workload show":    {{"workload", "show", "workload.yaml"}},
	"workload sample":  {{"workload", "sample", "workload.yaml"}},
	"workload compare": {{"workload", "compare", "workload.yaml", "workload.yaml"}},
	"agent manifest":   {{"agent", "manifest", "--connect", "tls://h:1", "--token-file", "token"}},
	"platform status":  {{"platform", "status"}},
	"faultfs ctl":      {{"faultfs", "ctl", "--help"}},
	"faultfs classes":  {{"faultfs", "classes"}},
	"version":          {{"version"}},
	"man":              {{"man", "made"}},
	"help":             {{"help", "run"}},
	"completion":       {{"completion", "bash"}},
	"drill": {{"drill", "drill.yaml", "--print-spec"}, {"drill", "drill.yaml", "--dry-run"},
		{"drill", "commands.yaml", "--print-spec"}, {"drill", "commands.yaml", "--dry-run"},
		{"drill", "k8s:db/mongo", "--fault", "pod-kill:primary", "--print-spec"}},
	"run":        {{"run", "-f", "run.yaml", "--print-spec"}, {"run", "-f", "addressed-run.yaml", "--print-spec"}},
	"run resume": {{"run", "--resume", "killed"}, {"run", "--resume", "dr/killed"}, {"run", "null:", "--resume", "killed"}},
}

// connects are commands that start nothing, and whose only use is a connection to what their command line names.
var connects = []string{"agent clean", "workload record"}

// mustSucceed are the commands above that have to reach their end, so that no error comes before a trap.
var mustSucceed = []string{"study plan", "suite plan", "lab plan", "run", "report", "study status", "suite status",
	"drill drill.yaml"}

// TestNothingStarts runs every command that only plans, checks or shows, and those that resume a record, with
// specifications and records of somebody else: none starts a program, connects, opens or writes what these name.
func TestNothingStarts(t *testing.T) {
	work := t.TempDir()
	t.Chdir(work)
	home := filepath.Join(t.TempDir(), "home")
	t.Setenv("PLIMSOLL_HOME", home)
	x := newTraps(t, filepath.Join(t.TempDir(), "trap"))
	x.trapRecords(t, home)
	if err := os.Mkdir("made", 0o700); err != nil {
		t.Fatal(err)
	}
	x.marks()
	for _, name := range slices.Sorted(maps.Keys(trapped)) {
		for _, args := range trapped[name] {
			before := filesBelow(t, ".", home)
			code, out := inProcess(x, args)
			line := strings.Join(args, " ")
			if marks := x.marks(); len(marks) > 0 {
				t.Errorf("plimsoll %s touched %s\n%s", line, strings.Join(marks, ", "), out)
			}
			resumes := strings.HasSuffix(name, " resume")
			if after := filesBelow(t, ".", home); !resumes && !maps.Equal(before, after) {
				t.Errorf("plimsoll %s changed files: %v instead of %v", line, after, before)
			}
			if resumes && (code != exitUsage || !strings.Contains(out, "not written by this user")) {
				t.Errorf("plimsoll %s ends with %d: %s", line, code, out)
			}
			ends := slices.ContainsFunc(mustSucceed, func(p string) bool { return strings.HasPrefix(line, p) })
			if ends && !resumes && code != exitSuccess {
				t.Errorf("plimsoll %s ends with %d: %s", line, code, out)
			}
		}
	}
}

// A plan reads workload files, recordings and histograms to compute sizes and times. It shows nothing of a file that is
// something else, and waits for no pipe.
func TestPlansShowNoFiles(t *testing.T) {
	work := t.TempDir()
	t.Chdir(work)
	t.Setenv("PLIMSOLL_HOME", filepath.Join(work, "home"))
	x := &traps{replace: strings.NewReplacer()}
	const secret = "hunter2Sekret"
	for name, text := range map[string]string{"histogram": secret + "\n", "columns": secret + "\t" + secret + "\n",
		"blocks": "BlockSize\t" + secret + "\n", "bucket": "BlockSize\t1\n" + secret + "\t1\n", "secret.yaml": secret + "\n",
		"keys.yaml": "password: " + secret + "\n", "login.json": `{"auths": {"h": {"auth": "` + secret + `"}}}`,
		"collections.yaml": "collections: " + secret + "\n", "recording": secret + "\n"} {
		x.write(t, name, text)
	}
	for _, name := range []string{"pipe", "pipe.yaml"} {
		if err := unix.Mkfifo(name, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	histogram := func(name string) string {
		return "{name: a, records: 10, params: {fieldlengthdistribution: histogram, fieldlengthhistogram: " + name + "}}"
	}
	for _, run := range []string{"workload: " + histogram("histogram"), "workload: " + histogram("columns"),
		"workload: " + histogram("blocks"), "workload: " + histogram("bucket"), "workload: " + histogram("pipe"),
		"workload: {name: secret.yaml}", "workload: {name: keys.yaml}", "workload: {name: login.json}",
		"workload: {name: collections.yaml}", "workload: {name: pipe.yaml}", "load: {replay: recording}", "load: {replay: pipe}"} {
		x.write(t, "run.yaml", "target: 'null:'\n"+run+"\n")
		x.write(t, "study.yaml", "name: s\nrun:\n  target: 'null:'\n  "+run+
			"\nfactors: [{path: load.workers, levels: [8, 16]}]\ntrials: 2\n")
		for _, args := range [][]string{{"study", "plan", "study.yaml"}, {"run", "-f", "run.yaml", "--print-spec"}} {
			code, out := inProcess(x, args)
			if strings.Contains(out, secret) || code == exitSuccess && args[0] == "study" {
				t.Errorf("%s of %s ends with %d:\n%s", args[0], run, code, out)
			}
		}
	}
}

// inProcess runs a command whose first signal has already come, so that a server ends.
func inProcess(x *traps, args []string) (code int, out string) {
	var b bytes.Buffer
	real := make([]string, len(args))
	for i, a := range args {
		real[i] = x.replace.Replace(a)
	}
	signals := make(chan os.Signal, 1)
	signals <- unix.SIGTERM
	code = mainRun(context.Background(), &environment{args: real, stdin: strings.NewReader(""), stdout: &b, stderr: &b,
		getenv: os.Getenv, now: time.Now, width: func() int { return 80 },
		signals: func() (<-chan os.Signal, func()) { return signals, func() {} }})
	return code, b.String()
}

// The table of permits has every command, and the test above every command that may not start programs.
func TestEveryCommandHasAPermit(t *testing.T) {
	root := newRootCommand(&environment{getenv: os.Getenv})
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	used := map[string]bool{}
	var visit func(cmd *cobra.Command)
	visit = func(cmd *cobra.Command) {
		for _, c := range cmd.Commands() {
			visit(c)
		}
		p, known := permitOf(cmd)
		if cmd == root || !cmd.Runnable() || cmd.HasSubCommands() && !known { // a group of commands, which shows its help
			return
		}
		_, name, _ := strings.Cut(cmd.CommandPath(), " ")
		if !known {
			t.Errorf("%s is not in the table of permits: say what it may do (permits.go)", cmd.CommandPath())
			return
		}
		for at := name; ; at = at[:strings.LastIndexByte(at, ' ')] {
			if _, ok := permits[at]; ok {
				used[at] = true
				if p&permit.Execute == 0 && trapped[at] == nil && !slices.Contains(connects, at) {
					t.Errorf("%s may start nothing, but no test checks that: add a command line to trapped", cmd.CommandPath())
				}
				return
			}
		}
	}
	visit(root)
	for name := range permits {
		if !used[name] {
			t.Errorf("there is no command %q", name)
		}
	}
}
