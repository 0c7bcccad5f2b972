package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/procid"
)

// scratchVariable makes this test's program one that works in a directory of its own until it is ended.
const scratchVariable = "PLIMSOLL_BENCH_TEST_SCRATCH"

func TestMain(m *testing.M) {
	if role := os.Getenv(roleVariable); role != "" { // a child of a part: without this it would be all tests again
		exit(playRole(role, os.Args[1:]))
	}
	parent := os.Getenv(scratchVariable)
	if parent == "" {
		os.Exit(m.Run())
	}
	ctx, stop := interrupted()
	defer stop()
	dir, err := scratch(parent, "test")
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "file"), make([]byte, 1<<20), 0o600)
	}
	fmt.Println(dir, err)
	<-ctx.Done()
	_ = os.RemoveAll(dir)
}

// A directory is removed when its process is asked to end, and by the next process when it was killed.
func TestScratchIsRemoved(t *testing.T) {
	parent := t.TempDir()
	foreign := filepath.Join(parent, scratchPrefix+"of-somebody-else")
	if err := os.Mkdir(foreign, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		if dir := endScratch(t, parent, sig); exists(dir) {
			t.Errorf("%v left %s", sig, dir)
		}
	}
	left := endScratch(t, parent, syscall.SIGKILL)
	if !exists(left) {
		t.Fatal("a killed process removed its directory")
	}
	own, err := scratch(parent, "test")
	if err != nil {
		t.Fatal(err)
	}
	if exists(left) {
		t.Errorf("%s of a killed process is still there", left)
	}
	sweep(parent)
	if !exists(own) || !exists(foreign) {
		t.Error("a directory of a running process, or of another program, was removed")
	}
}

// A process of another machine or container may still run, although nothing here has its id.
func TestScratchOfElsewhereStays(t *testing.T) {
	parent := t.TempDir()
	gone := procid.ID{PID: 1 << 30, Boot: procid.Self().Boot, Namespace: procid.Self().Namespace}
	container, machine := gone, gone
	container.Namespace, machine.Boot = "pid:[1]", "00000000-0000-0000-0000-000000000000"
	for name, c := range map[string]struct {
		maker procid.ID
		stays bool
	}{"gone": {gone, false}, "container": {container, true}, "machine": {machine, true}} {
		dir := filepath.Join(parent, scratchPrefix+name)
		b, err := json.Marshal(c.maker)
		if err = errors.Join(err, os.Mkdir(dir, 0o700), os.WriteFile(filepath.Join(dir, makerFile), b, 0o600)); err != nil {
			t.Fatal(err)
		}
		if sweep(parent); exists(dir) != c.stays {
			t.Errorf("%s: the directory is there: %v, want %v", name, !c.stays, c.stays)
		}
	}
}

func exists(name string) bool { _, err := os.Lstat(name); return err == nil }

// endScratch starts a process, sends it a signal when it has made its directory, and returns the directory.
func endScratch(t *testing.T, parent string, sig syscall.Signal) string {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), scratchVariable+"="+parent)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	kill := time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() })
	defer kill.Stop()
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || !strings.HasSuffix(line, " <nil>\n") {
		t.Fatalf("it printed %q, error %v", line, err)
	}
	if err := cmd.Process.Signal(sig); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	return strings.Fields(line)[0]
}
