package main

import (
	"encoding/json"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/plimsoll-bench/plimsoll/internal/permit"
	"github.com/plimsoll-bench/plimsoll/record"
)

// atOnce is how many tests go on at the same time, whatever the number of cores, unless -parallel says otherwise: they
// wait for disks, for timers and for other processes most of the time.
const atOnce = "3"

func TestMain(m *testing.M) {
	permit.Assume(permit.None) // as in the product: a context that loses its permit is found
	if err := flag.Set("test.parallel", atOnce); err != nil {
		panic(err)
	}
	// startService, startWatchdog and lab up start the executable that they are in.
	if len(os.Args) > 1 && slices.Contains([]string{personsCommand, "platform", "lab-supervisor"}, os.Args[1]) {
		main()
		return
	}
	testscript.Main(m, programs())
}

// TestScripts runs whole commands as users type them. Besides testscript's own commands a script may
// use:
//
//	exits CODE COMMAND…         runs it and compares the exit code (0|6 is either of them: the load itself is
//	                            not looked at, and a busy machine may make its result worthless); output is in
//	                            the files out and err
//	interrupted PHASE DIR COMMAND…  the same with SIGINT as soon as the record in DIR has an interval of the
//	                            phase; the exit code must be 130
//	field FILE PATH… VALUE      compares one value of a JSON file
//	made DIR KEY=VALUE…         writes a record whose results are made up (size_test.go)
//	site [spoilt]               serves a release feed and an archive of mongod over HTTPS (script_site_test.go)
func TestScripts(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		Setup: func(e *testscript.Env) error {
			e.Setenv("PLIMSOLL_HOME", filepath.Join(e.WorkDir, "home"))
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": scriptExits, "interrupted": scriptInterrupted, "field": scriptField, "made": scriptMade, "site": scriptSite,
		},
	})
}

// ofJobs are the variables of CI systems by which plimsoll ci knows whose code runs.
var ofJobs = []string{"GITHUB_EVENT_NAME", "GITHUB_REF", "GITHUB_BASE_REF", "GITHUB_HEAD_REF", "CI_MERGE_REQUEST_IID",
	"CI_MERGE_REQUEST_TARGET_BRANCH_NAME", "CI_COMMIT_BRANCH", "CI_COMMIT_TAG"}

// runHere runs a command in the script's directory and environment and leaves its output in the files
// out and err.
func runHere(ts *testscript.TestScript, args []string, meanwhile func(cmd *exec.Cmd, done <-chan struct{})) int {
	path, err := exec.LookPath(args[0])
	if args[0] == "plimsoll" {
		path, err = os.Executable()
	}
	ts.Check(err)
	cmd := exec.Command(path, args[1:]...)
	cmd.Args[0] = args[0] // testscript's Main looks at the name it was called by
	cmd.Dir = ts.MkAbs(".")
	cmd.Env = append(os.Environ(), "PLIMSOLL_HOME="+ts.Getenv("PLIMSOLL_HOME"), "NO_COLOR="+ts.Getenv("NO_COLOR"))
	for _, name := range ofJobs { // these tests may run in a job themselves
		cmd.Env = append(cmd.Env, name+"="+ts.Getenv(name))
	}
	stdout, err := os.Create(ts.MkAbs("out"))
	ts.Check(err)
	defer stdout.Close()
	stderr, err := os.Create(ts.MkAbs("err"))
	ts.Check(err)
	defer stderr.Close()
	cmd.Stdout, cmd.Stderr = stdout, stderr
	ts.Check(cmd.Start())
	done := make(chan struct{})
	go func() { _ = cmd.Wait(); close(done) }() // the exit code says it all
	meanwhile(cmd, done)
	<-done
	return cmd.ProcessState.ExitCode()
}

func scriptExits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND [ARGUMENTS]")
	}
	got := runHere(ts, args[1:], func(*exec.Cmd, <-chan struct{}) {})
	if !slices.Contains(strings.Split(args[0], "|"), strconv.Itoa(got)) {
		ts.Fatalf("%v\nexit code %d, want %s\nstdout:\n%s\nstderr:\n%s", args[1:], got, args[0], ts.ReadFile("out"), ts.ReadFile("err"))
	}
}

func scriptInterrupted(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 3 {
		ts.Fatalf("usage: interrupted PHASE DIR COMMAND [ARGUMENTS]")
	}
	phase, dir := args[0], ts.MkAbs(args[1])
	if got := runHere(ts, args[2:], func(cmd *exec.Cmd, done <-chan struct{}) {
		interruptIn(phase, dir, cmd, done)
	}); got != exitInterrupted {
		ts.Fatalf("exit code %d, want %d\nstderr:\n%s", got, exitInterrupted, ts.ReadFile("err"))
	}
}

// interruptIn interrupts a command as soon as its record has an interval of a phase. One that never comes so far is
// killed, and its exit code tells.
func interruptIn(phase, dir string, cmd *exec.Cmd, done <-chan struct{}) {
	look := time.NewTicker(50 * time.Millisecond)
	defer look.Stop()
	patience := time.After(2 * time.Minute)
	for {
		select {
		case <-done:
			return
		case <-patience:
			_ = cmd.Process.Kill()
			return
		case <-look.C:
		}
		r, err := record.OpenRun(dir)
		if err == nil && r.Phase(phase) != nil && r.Phase(phase).Counts.Attempted > 0 {
			_ = cmd.Process.Signal(os.Interrupt) // it may have ended, and the exit code says so
			return
		}
	}
}

func scriptField(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) < 3 {
		ts.Fatalf("usage: field FILE KEY… VALUE")
	}
	var v any
	ts.Check(json.Unmarshal([]byte(ts.ReadFile(args[0])), &v))
	path, want := args[1:len(args)-1], args[len(args)-1]
	for _, key := range path {
		switch x := v.(type) {
		case map[string]any:
			v = x[key]
		case []any:
			i, err := strconv.Atoi(key)
			ts.Check(err)
			if i < 0 || i >= len(x) {
				ts.Fatalf("%v: there are only %d elements at %s", path, len(x), key)
			}
			v = x[i]
		default:
			ts.Fatalf("%v: nothing at %s", path, key)
		}
	}
	got, err := json.Marshal(v)
	ts.Check(err)
	text := string(got)
	if s, ok := v.(string); ok {
		text = s
	}
	if (text == want) == neg {
		ts.Fatalf("%v is %s, want %s", path, text, want)
	}
}
