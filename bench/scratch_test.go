package main

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
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
	dir, err := scratchIn(parent)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "file"), make([]byte, 1<<20), 0o600)
	}
	fmt.Println(dir, err)
	<-ctx.Done()
	_ = os.RemoveAll(dir)
}

// A process removes its directory at SIGINT and SIGTERM. The next process removes that of a killed one.
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
	own, err := scratchIn(parent)
	if err != nil {
		t.Fatal(err)
	}
	if exists(left) {
		t.Errorf("%s of a killed process is still there", left)
	}
	if _, err := scratchIn(parent); err != nil {
		t.Fatal(err)
	}
	if !exists(own) || !exists(foreign) {
		t.Error("a directory of a running process, or of another program, was removed")
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
