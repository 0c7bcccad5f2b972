package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/plimsoll-bench/plimsoll/fault"
	"github.com/plimsoll-bench/plimsoll/lab/engine/enginetest"
	"github.com/plimsoll-bench/plimsoll/platform"
	"github.com/plimsoll-bench/plimsoll/record"
)

// deployed is a deployment that no lab is, with a platform file.
type deployed struct {
	*enginetest.Set
	dir, file, home string
}

func newOwn(t *testing.T, binary string) *deployed {
	t.Helper()
	o := &deployed{Set: enginetest.StartSet(t, binary, 3), dir: t.TempDir()}
	o.file, o.home = filepath.Join(o.dir, "platform.yaml"), filepath.Join(o.dir, "home")
	text := "members:\n"
	for i, name := range o.Names {
		text += fmt.Sprintf("  - {name: %s, address: '%s', zone: zone%d}\n", name, o.Addresses[i], i+1)
	}
	text += fmt.Sprintf(`actions:
  kill:
    inject: [%[1]s, kill, "{member}"]
    heal: [%[1]s, start, "{member}"]
    witness: [%[1]s, is-dead, "{member}"]
    failure_mode: crash
  pause:
    inject: [%[1]s, pause, "{member}"]
    heal: [%[1]s, resume, "{member}"]
    witness: [%[1]s, is-paused, "{member}"]
    failure_mode: black-hole
  stop:
    inject: [%[1]s, stop, "{member}"]
    heal: [%[1]s, start, "{member}"]
    failure_mode: planned
    timeout: 2m
`, o.Script)
	if err := os.WriteFile(o.file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return o
}

// command is plimsoll with the home of the deployment.
func (o *deployed) command(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, args...)
	cmd.Args[0] = "plimsoll"
	cmd.Env = append(os.Environ(), "PLIMSOLL_HOME="+o.home)
	return cmd
}

// run runs a command, and returns its exit code and all that it printed.
func (o *deployed) run(t *testing.T, args ...string) (int, string) {
	t.Helper()
	cmd := o.command(t, args...)
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), string(out)
}

// drill are the arguments of a drill that breaks the deployment.
func (o *deployed) drill(out string, more ...string) []string {
	return append([]string{"drill", o.URI, "--platform", o.file, "--at", "3s", "--rate", "200", "--w", "majority", "--quiet",
		"--out", filepath.Join(o.dir, out)}, more...)
}

// survived runs a drill with its record in a directory, and checks that all writes survived. On a busy machine too few
// writes come in the second before the fault, or a member is late, so a drill without a verdict is repeated.
func (o *deployed) survived(t *testing.T, dir string, args ...string) *record.Drill {
	t.Helper()
	const attempts = 5
	for n := 1; ; n++ {
		code, out := o.run(t, args...)
		d, err := record.OpenDrill(filepath.Join(o.dir, dir))
		if err != nil {
			t.Fatalf("exit code %d, %v\n%s", code, err, out)
		}
		if n < attempts && d.Verdict == record.Unknown {
			t.Logf("attempt %d: %q", n, d.Reasons)
			if err := os.RemoveAll(filepath.Join(o.dir, dir)); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if code != exitSuccess || d.Verdict != record.Holds {
			t.Fatalf("exit code %d, %s: %q, %+v\n%s", code, d.Verdict, d.Reasons, d.Rounds, out)
		}
		return d
	}
}

// A drill on a deployment that is no lab does nothing without a yes, and says what it would do.
func TestPlatformPlan(t *testing.T) {
	t.Parallel()
	o := newOwn(t, enginetest.StandinMongo(t, "8.0.12"))
	const says = "kill:db2\n--------\n3.00 s after the start of the measured time, for 2s\n"
	for _, c := range []struct {
		args []string
		code int
		want []string
	}{
		{o.drill("a", "--fault", "kill:db2", "--for", "2s", "--duration", "9s", "--dry-run"), exitSuccess,
			[]string{says, "db2 (address " + o.Addresses[1], "inject   " + o.Script + " kill db2\n", "heal     " + o.Script + " start db2\n", "is-dead db2\n", "crash"}},
		{o.drill("a", "--fault", "kill:db2", "--for", "2s", "--duration", "9s"), exitUsage,
			[]string{says, "nothing was done", "--yes-break-it"}},
		{o.drill("a", "--fault", "pause:random", "--dry-run"), exitSuccess, []string{"one of these 3 members", "pause db1", "pause db2", "pause db3"}},
		{o.drill("a", "--fault", "kill:primary", "--dry-run"), exitSuccess, []string{"role primary"}},
		{o.drill("a", "--fault", "kill:primary", "--dry-run", "--format", "json"), exitSuccess, []string{`"step": "heal"`}},
		{o.drill("a", "--fault", "cut:db1", "--dry-run"), exitUsage, []string{"does not have it (it has: pause, kill, stop)"}},
		{o.drill("a", "--fault", "kill:db7", "--dry-run"), exitUnreachable, []string{`there is no member "db7"`}},
		{[]string{"platform", "status"}, exitSuccess, []string{"no fault is in the journal"}},
		{[]string{"platform", "heal"}, exitSuccess, []string{"nothing was done"}},
	} {
		code, out := o.run(t, c.args...)
		for _, want := range c.want {
			if !strings.Contains(out, want) {
				t.Errorf("%v lacks %q:\n%s", c.args, want, out)
			}
		}
		if code != c.code {
			t.Errorf("%v: exit code %d, want %d:\n%s", c.args, code, c.code, out)
		}
	}
	for _, left := range []string{filepath.Join(o.dir, "a"), filepath.Join(o.home, "platform")} {
		if _, err := os.Stat(left); !os.IsNotExist(err) {
			t.Errorf("%s was made: %v", left, err)
		}
	}
}

// The primary of a set of processes is killed and started by commands. All writes of a majority survive, and the record
// has the commands with their times.
func TestPlatformDrill(t *testing.T) {
	t.Parallel()
	o := newOwn(t, enginetest.StandinMongo(t, "8.0.12"))
	d := o.survived(t, "a", o.drill("a", "--fault", "kill:primary", "--for", "6s", "--duration", "16s", "--yes-break-it")...)
	f := d.Rounds[0].Faults[0]
	if !f.Hit || f.Mode != fault.Crash || !strings.HasPrefix(f.Target, "db") || f.Seen < f.Injected ||
		f.Healed < f.Done {
		t.Errorf("%+v", f)
	}
	steps := ""
	for _, c := range f.Commands {
		if c.Asked == 0 || c.Returned < c.Asked || !strings.HasPrefix(c.Command, o.Script) {
			t.Errorf("%+v", c)
		}
		if c.Step != "witness" || c.Exit == 0 { // a process that was killed may still be ending at the first look
			steps += fmt.Sprintf(" %s:%d", c.Step, c.Exit)
		}
	}
	if steps != " inject:0 witness:0 heal:0" {
		t.Errorf("the commands were%s", steps)
	}
	_, page := o.run(t, "show", "--verbose", filepath.Join(o.dir, "a"))
	for _, want := range []string{"first effect seen", "command returned", "heal command started", o.Script + " start " + f.Target, "all members run"} {
		if !strings.Contains(page, want) {
			t.Errorf("the result lacks %q:\n%s", want, page)
		}
	}
	if left, err := os.ReadDir(filepath.Join(o.home, "platform")); err != nil || len(left) > 0 {
		t.Errorf("the journal has %v, %v", left, err)
	}
}

// A rolling restart and an index build are events of a deployment that is no lab, of a real mongod where there is one.
func TestPlatformMaintenance(t *testing.T) {
	t.Parallel()
	binary, ok := enginetest.RealMongo(t)
	if !ok {
		binary = enginetest.StandinMongo(t, "8.0.12")
	}
	o := newOwn(t, binary)
	for event, figure := range map[string]string{"rolling-restart:all": "members restarted", "index-build:workload": "documents indexed"} {
		if event == "index-build:workload" && !ok {
			continue // the stand-in has no indexes
		}
		out := strings.ReplaceAll(event, ":", "-")
		// The load goes on until the event has ended.
		f := o.survived(t, out, o.drill(out, "--fault", event, "--duration", "8s", "--yes-break-it")...).Rounds[0].Faults[0]
		if !f.Hit || f.Event == nil ||
			len(f.Event.Figures) == 0 || f.Event.Figures[0].Name != figure || f.Event.Figures[0].Value < 3 {
			t.Errorf("%s: %+v", event, f)
		}
	}
}

// Events that MongoDB has no command for are commands of the platform file: a backup, an initial sync, and members that
// are removed and added. The drill waits until a member that copies data is a secondary.
func TestPlatformMaintenanceByCommands(t *testing.T) {
	t.Parallel()
	o := newOwn(t, enginetest.StandinMongo(t, "8.0.12"))
	data := filepath.Join(filepath.Dir(o.Script), "db3", "data")
	file := filepath.Join(o.dir, "events.yaml")
	text := fmt.Sprintf(`
run: {target: '%[1]s', load: {duration: 16s, rate: 200}, durability: {w: majority}}
platform: events-platform.yaml
faults:
  - {fault: "backup:db2", at: 2s}
  - {fault: "initial-sync:db3", at: 4s}
  - {fault: "remove-member:db3", at: 8s, for: 2s}
  - {fault: "add-member:db3", at: 12s, for: 1s}
`, o.URI)
	events := fmt.Sprintf(`actions:
  backup: {inject: [cp, -r, '%[2]s', '%[2]s.copy'], witness: [test, -e, '%[2]s.copy'], failure_mode: planned}
  initial-sync:
    inject: [sh, -c, '%[1]s stop db3 && rm -r %[2]s/* && %[1]s start db3']
    witness: [test, -e, '%[2]s/mongod.lock']
    failure_mode: planned
  remove-member: {inject: [%[1]s, stop, db3], heal: [%[1]s, start, db3], witness: [%[1]s, is-dead, db3], failure_mode: planned}
  add-member: {inject: [%[1]s, start, db3], heal: ["true"], witness: [test, -e, '%[2]s/mongod.lock'], failure_mode: planned}
`, o.Script, data)
	all, err := os.ReadFile(o.file)
	if err != nil {
		t.Fatal(err)
	}
	members, _, _ := strings.Cut(string(all), "actions:")
	err = errors.Join(os.WriteFile(file, []byte(text), 0o600),
		os.WriteFile(filepath.Join(o.dir, "events-platform.yaml"), []byte(members+events), 0o600))
	if err != nil {
		t.Fatal(err)
	}
	d := o.survived(t, "a", "drill", file, "--quiet", "--yes-break-it", "--out", filepath.Join(o.dir, "a"))
	if len(d.Rounds[0].Faults) != 4 {
		t.Fatalf("%+v", d.Rounds[0].Faults)
	}
	for _, f := range d.Rounds[0].Faults {
		if !f.Hit || f.Noticed == nil || f.Noticed.P99Before == 0 || f.Done < f.Injected || len(f.Commands) < 2 {
			t.Errorf("%+v, noticed %+v", f, f.Noticed)
		}
		if event := f.Fault.Name == "backup" || f.Fault.Name == "initial-sync"; event &&
			(f.Event == nil || f.Event.Outcome != record.EventCompleted) {
			t.Errorf("%s: %+v", f.Fault, f.Event)
		}
	}
}

// A drill that is killed leaves its fault in the journal, from which a person can revert it before its watchdog does.
// One that is interrupted reverts its fault itself.
func TestPlatformKilled(t *testing.T) {
	t.Parallel()
	o := newOwn(t, enginetest.StandinMongo(t, "8.0.12"))
	journals := filepath.Join(o.home, "platform")
	begin := func(out string) *exec.Cmd {
		var text bytes.Buffer
		cmd := o.command(t, o.drill(out, "--fault", "pause:db3", "--for", "30m", "--duration", "1h",
			"--yes-break-it")...)
		cmd.Stdout, cmd.Stderr = &text, &text
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = cmd.Process.Kill() })
		waitFor(t, "the fault is in place", func() bool {
			return exec.Command(o.Script, "is-paused", "db3").Run() == nil
		})
		return cmd
	}
	killed := begin("killed")
	if code, out := o.run(t, "platform", "heal"); code != exitSuccess || !strings.Contains(out, "a running drill injected it") {
		t.Errorf("while the drill runs: exit code %d\n%s", code, out)
	}
	if err := killed.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = killed.Wait() // it was killed
	if code, out := o.run(t, "platform", "status"); code != exitSuccess || !strings.Contains(out, "pause:db3 is still injected on db3, since ") ||
		!strings.Contains(out, "its drill has ended, and its watchdog reverts it at ") ||
		!strings.Contains(out, "\n  heal: "+o.Script+" resume db3") {
		t.Errorf("status: exit code %d\n%s", code, out)
	}
	if code, out := o.run(t, "platform", "heal"); code != exitSuccess || !strings.Contains(out, "pause:db3 on db3: reverted") {
		t.Errorf("heal: exit code %d\n%s", code, out)
	}
	if exec.Command(o.Script, "is-paused", "db3").Run() == nil {
		t.Error("db3 is paused after the heal")
	}
	interrupted := begin("interrupted")
	waitFor(t, "the fault is known", func() bool {
		s, err := record.ReadStatus(filepath.Join(o.dir, "interrupted"))
		return err == nil && s != nil && s.Stage().Stage == record.StageBroken
	})
	if err := interrupted.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	_ = interrupted.Wait() // the exit code is compared
	if code := interrupted.ProcessState.ExitCode(); code != exitInterrupted {
		t.Errorf("the interrupted drill ended with %v:\n%s", interrupted.ProcessState, interrupted.Stdout)
	}
	if exec.Command(o.Script, "is-paused", "db3").Run() == nil {
		t.Error("db3 is paused after the interrupt")
	}
	if left, err := platform.Left(journals); err != nil || len(left) > 0 {
		t.Errorf("the journal has %+v, %v", left, err)
	}
}

// The commands of one fault are in the file of the drill, which names its platform by a relative name.
func TestPlatformInFile(t *testing.T) {
	t.Parallel()
	o := newOwn(t, enginetest.StandinMongo(t, "8.0.12"))
	file := filepath.Join(o.dir, "drill.yaml")
	text := fmt.Sprintf(`
run: {target: '%s', load: {duration: 12s, rate: 200}, durability: {w: majority}}
platform: platform.yaml
faults:
  - {fault: exec:secondary, at: 3s, for: 3s, exec: {inject: [%[2]s, kill, "{member}"], heal: [sh, -c, '%[2]s start "$PLIMSOLL_MEMBER"'],
     witness: [sh, -c, "echo it is there $1; false", x, --password=sesame99], failure_mode: crash}}
`, o.URI, o.Script)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	code, out := o.run(t, "drill", file, "--quiet", "--yes-break-it", "--out", filepath.Join(o.dir, "a"))
	d, err := record.OpenDrill(filepath.Join(o.dir, "a"))
	if err != nil {
		t.Fatalf("exit code %d, %v\n%s", code, err, out)
	}
	if code != exitInvalid || d.Verdict != record.Unknown || !strings.Contains(strings.Join(d.Reasons, "\n"), "contradict each other") {
		t.Errorf("exit code %d, %s: %q\n%s", code, d.Verdict, d.Reasons, out)
	}
	if _, page := o.run(t, "show", "--verbose", filepath.Join(o.dir, "a")); !strings.Contains(page, "output") || !strings.Contains(page, "it is there") {
		t.Errorf("the result lacks the output of the witness:\n%s", page)
	}
	err = filepath.WalkDir(filepath.Join(o.dir, "a"), func(path string, e os.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		b, err := os.ReadFile(path)
		if bytes.Contains(b, []byte("sesame99")) {
			t.Errorf("%s has the password", path)
		}
		return err
	})
	if err != nil || strings.Contains(out, "sesame99") {
		t.Errorf("%v\n%s", err, out)
	}
}
