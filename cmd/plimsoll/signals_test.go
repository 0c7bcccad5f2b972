package main

import (
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/plimsoll-bench/plimsoll/record"
)

// A terminal that closes takes the reader of the progress with it and hangs up. Neither ends a run in the middle: it
// ends in order, with the exit code of an interrupt and a whole record.
func TestRunThatLosesItsTerminal(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "record")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, "run", "null:", "--rate", "100", "--duration", "1h", "--out", dir)
	cmd.Args[0] = "plimsoll"
	cmd.Env = append(os.Environ(), "PLIMSOLL_HOME="+t.TempDir())
	// Tests that nohup started would hand on that hangups are ignored; what is caught here is as usual in a child.
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)
	defer signal.Stop(hangups)
	stderr, err := cmd.StderrPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	if _, err := stderr.Read(make([]byte, 1)); err != nil { // it has begun to tell
		t.Fatal(err)
	}
	if err := stderr.Close(); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "the load goes on without anybody who reads", func() bool {
		r, err := record.OpenRun(dir)
		return err == nil && r.Phase("measure") != nil && r.Phase("measure").Seconds > 2
	})
	if err := cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	select {
	case <-done:
	case <-time.After(time.Minute):
		t.Fatal("it did not end")
	}
	if code := cmd.ProcessState.ExitCode(); code != exitInterrupted {
		t.Errorf("it ended with %v", cmd.ProcessState)
	}
	if r, err := record.OpenRun(dir); err != nil || r.Status != record.Interrupted {
		t.Errorf("the record: %v, %v", r, err)
	}
}
