package main

import (
	"bytes"
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// slip is a mistake in which a secret stands where none belongs. The secret is written as SECRET.
type slip struct {
	name  string
	args  []string
	input string            // standard input
	files map[string]string // that are there before
}

// misplaced is an address at which nobody answers, for places where no address belongs.
const misplaced = "mongodb://user:SECRET@127.0.0.1:1/?connectTimeoutMS=50&serverSelectionTimeoutMS=50"

// slips has every command that takes a word with an address as that word, every kind of file with an address in a wrong
// place, and every part of an address with a secret in it.
func slips() []slip {
	var all []slip
	words := func(lines ...string) {
		for _, line := range lines {
			args := strings.Fields(line)
			for i := range args {
				args[i] = strings.ReplaceAll(args[i], "URI", misplaced)
			}
			all = append(all, slip{name: line, args: args})
		}
	}
	words("URI", "URI --workload a", "help URI", "run URI a", "run a URI", "run --workload URI null:", "run --mode URI null:", "run --web=URI null:",
		"run -f URI", "run -P URI null:", "run --client URI null:", "run --w URI null: --operations 10", "run --out URI null: --operations 10 --records 10",
		"run --label URI null: --operations 10 --records 10", "run --label a=URI null: --operations 10 --records 10", "run --database URI null:",
		"run --duration URI null:", "run --records URI null:", "run --slo URI null:", "run --load URI null:", "run --stage URI null:", "run --set URI null:",
		"run --set theta=URI null:", "run --set URI=1 null:", "run --durability URI null:", "run --URI", "run --uri=URI", "run embedded:URI --operations 1", "run lab:URI", "run --format URI null:",
		"run URI --timeout 100ms", "run URI --timeout 100ms --client driver", "run URI --via rest --workload person --timeout 100ms",
		"show URI", "report URI", "report a URI", "serve URI", "serve --listen URI", "study run URI", "study plan URI", "study resume URI", "study status URI", "study init URI", "suite run URI", "suite plan URI", "suite resume URI", "suite status URI", "suite show URI", "suite plan a --scale URI",
		"study URI", "drill URI a", "drill --fault URI lab:x", "drill lab:x --fault kill:URI", "drill lab:x --at URI --fault kill:primary",
		"disk URI --duration 1ms", "disk --lab URI", "doctor URI", "doctor a URI", "doctor --uri URI,URI", "doctor --probe URI", "lab up URI", "lab up a URI", "lab status URI", "lab down URI", "lab connect URI",
		"lab exec URI URI -- true", "lab revert URI", "lab fail URI URI", "lab logs URI", "lab plan URI", "lab URI", "history URI", "compare URI URI", "compare a URI",
		"size URI", "size a --need URI", "ycsb URI", "ycsb run URI", "ycsb run mongodb URI", "ycsb load mongodb -P URI", "ycsb run mongodb -p URI", "ycsb run mongodb -p mongodb.url=URI -p recordcount=1 -p operationcount=1",
		"ycsb run mongodb -p mongodb.url=URI -p workload=URI", "ycsb run mongodb -threads URI", "workload show URI", "calibrate URI", "calibrate --client URI", "engine run URI", "engine install URI", "engine URI",
		"faultfs URI", "version URI", "man URI/x", "completion URI")
	for name, address := range map[string]string{
		"authMechanism": "mongodb://h/?authMechanism=SECRET", "tls": "mongodb://127.0.0.1:1/?tls=SECRET", "port": "mongodb://h:SECRET/", "only a password": "mongodb://user:SECRET",
		"no scheme": "user:SECRET@127.0.0.1:1", "one slash": "mongodb:/user:SECRET@h", "no slash": "mongodb:user:SECRET@h", "not escaped": "mongodb://user:SECRET/a@SECRET@127.0.0.1:1/",
		"a quotation mark": `mongodb://user:"SECRET"a b@127.0.0.1:1/`, "other scheme": "mongo://user:SECRET@h/", "postgres": "postgres://user:SECRET@h/", "maxPoolSize": "mongodb://h/?maxPoolSize=SECRET",
		"no value": "mongodb://user:SECRET@h/?journal", "properties": "mongodb://h/?authMechanismProperties=a:SECRET", "readPreference": "mongodb://user:SECRET@h/?readPreference=x", "https": "https://user:SECRET@127.0.0.1:1/",
	} {
		for _, client := range []string{"wire", "driver"} {
			all = append(all, slip{name: "part of an address: " + name + " with " + client, args: []string{"run", address, "--timeout", "100ms", "--client", client, "--out", "rec"}})
		}
		all = append(all, slip{name: "where a record is expected: " + name, args: []string{"show", address}},
			slip{name: "where a command is expected: " + name, args: []string{address}},
			slip{name: "where a study is expected: " + name, args: []string{"study", "resume", address}},
			slip{name: "ycsb: " + name, args: []string{"ycsb", "run", "mongodb", "-p", "mongodb.url=" + address, "-p", "recordcount=1", "-p", "operationcount=1", "-p", "plimsoll.timeout=100ms"}},
			slip{name: "doctor: " + name, args: []string{"doctor", "--uri", address}})
	}
	return append(all, fileSlips()...)
}

// fileSlips are mistakes in files.
func fileSlips() []slip {
	var all []slip
	for name, text := range map[string]string{
		"key":                  misplaced + ": 1",
		"flow key":             "{" + misplaced + "}",
		"key below load":       "load: {'" + misplaced + "': 1}",
		"rate":                 "load: {rate: '" + misplaced + "'}",
		"duration":             "load: {duration: '" + misplaced + "'}",
		"workers":              "load: {workers: '" + misplaced + "'}",
		"client":               "client: " + misplaced,
		"workload":             "workload: {name: '" + misplaced + "'}",
		"workload alone":       "workload: " + misplaced,
		"alias":                "target: *SECRET",
		"tag":                  "target: !SECRET x",
		"anchor twice":         "target: &SECRET *SECRET",
		"merge":                "<<: *SECRET",
		"durability.w":         "{target: 'null:', durability: {w: '" + misplaced + "'}, load: {operations: 10}, workload: {records: 10}}",
		"durability.name":      "{target: 'null:', durability: {name: '" + misplaced + "'}}",
		"out":                  "{target: 'null:', out: '" + misplaced + "', load: {operations: 10}, workload: {records: 10}}",
		"label":                "{target: 'null:', labels: {a: '" + misplaced + "'}, load: {operations: 10}, workload: {records: 10}}",
		"label name":           "{target: 'null:', labels: {'" + misplaced + "': a}, load: {operations: 10}, workload: {records: 10}}",
		"parameter":            "{target: 'null:', workload: {params: {theta: '" + misplaced + "'}}}",
		"objective":            "{target: 'null:', objectives: ['" + misplaced + "']}",
		"stage":                "{target: 'null:', load: {stages: ['" + misplaced + "']}}",
		"no YAML":              "target: " + misplaced + ": x\n  : :",
		"a tab":                "target:\t\"SECRET\n\t- x",
		"two documents":        "---\ntarget: a\n---\n" + misplaced,
		"the address alone":    misplaced,
		"an address in target": "target: '" + misplaced + "'\nload: {timeout: 100ms}",
	} {
		for _, args := range [][]string{{"run", "-f", "spec.yaml"}, {"drill", "spec.yaml"}, {"study", "plan", "spec.yaml"},
			{"study", "run", "spec.yaml"}, {"lab", "up", "-f", "spec.yaml"}, {"run", "--print-spec", "-f", "spec.yaml"}} {
			all = append(all, slip{name: strings.Join(args, " ") + " with " + name, args: args, files: map[string]string{"spec.yaml": text}})
		}
		all = append(all, slip{name: "run -f - with " + name, args: []string{"run", "-f", "-"}, input: text},
			slip{name: "run: in a study, " + name, args: []string{"study", "plan", "spec.yaml"}, files: map[string]string{
				"spec.yaml": "name: x\nrun:\n  " + strings.ReplaceAll(text, "\n", "\n  ") + "\nfactors: {}\n"}})
	}
	for name, text := range map[string]string{
		"key": misplaced + "\n", "value": "recordcount=" + misplaced + "\n", "workload": "workload=" + misplaced + "\n", "class": "measurementtype=" + misplaced + "\n",
		"url": "mongodb.url=" + misplaced + "\nrecordcount=1\noperationcount=1\n",
	} {
		all = append(all, slip{name: "property file of run, " + name, args: []string{"run", "null:", "--operations", "10",
			"--records", "10", "-P", "file"}, files: map[string]string{"file": text}},
			slip{name: "property file of ycsb, " + name, args: []string{"ycsb", "run", "mongodb", "-P", "file", "-p", "plimsoll.timeout=100ms"}, files: map[string]string{"file": text}})
	}
	return all
}

// TestSlips looks for the secret in everything that a command printed and wrote.
func TestSlips(t *testing.T) {
	const secret = "hunter2Sekret"
	all := slips()
	if len(all) < 60 {
		t.Fatalf("there are only %d slips", len(all))
	}
	for _, s := range all {
		t.Run(s.name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			fill := func(text string) string { return strings.ReplaceAll(text, "SECRET", secret) }
			for name, text := range s.files {
				if err := os.WriteFile(name, []byte(fill(text)), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			var args []string
			for _, a := range s.args {
				args = append(args, fill(a))
			}
			home := t.TempDir()
			limit := time.Minute
			if s.args[0] == "doctor" {
				limit = 500 * time.Millisecond // it would wait ten seconds for a server that is not there, and say the same
			}
			ctx, cancel := context.WithTimeout(context.Background(), limit)
			defer cancel()
			env, stdout, stderr := engineEnvironment(home, args...)
			interrupt := make(chan os.Signal, 1)
			interrupt <- os.Interrupt // whatever runs, runs until it is told to end
			env.stdin = strings.NewReader(fill(s.input))
			env.signals = func() (<-chan os.Signal, func()) { return interrupt, func() {} }
			code := mainRun(ctx, env)
			if text := stdout.String() + stderr.String(); strings.Contains(text, secret) {
				t.Errorf("exit %d, printed:\n%s", code, text)
			}
			for _, dir := range []string{".", home} {
				noSecretBelow(t, dir, secret, s.files)
			}
		})
	}
}

// noSecretBelow looks for a secret in the names and the contents of files, but for those that held it before.
func noSecretBelow(t *testing.T, dir, secret string, before map[string]string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if strings.Contains(e.Name(), secret) {
			t.Errorf("there is a file called %s", path)
		}
		if _, given := before[path]; given || !e.Type().IsRegular() {
			return nil
		}
		b, err := os.ReadFile(path)
		if bytes.Contains(b, []byte(secret)) {
			t.Errorf("the secret is in %s", path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}
