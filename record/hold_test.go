package record

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// TestMain lets a test start this binary as a process that holds a directory until it is killed.
// exitInterrupted is the exit code of a process that holds a directory and got SIGINT.
const exitInterrupted = 130

func TestMain(m *testing.M) {
	if dir := os.Getenv("PLIMSOLL_TEST_HOLD"); dir != "" {
		if _, err := Hold(dir); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		// Shells start background processes with SIGINT ignored; this one has to end all the same.
		interrupt := make(chan os.Signal, 1)
		signal.Notify(interrupt, os.Interrupt)
		fmt.Println("held")
		<-interrupt
		os.Exit(exitInterrupted)
	}
	os.Exit(m.Run())
}

// holdElsewhere starts a process that holds a directory.
func holdElsewhere(t *testing.T, dir string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "PLIMSOLL_TEST_HOLD="+dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || line != "held\n" {
		t.Fatalf("the other process printed %q (%v)", line, err)
	}
	return cmd
}

func TestHoldRefusesASecondHolder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new")
	if pid, held := Holder(dir); held || pid != 0 {
		t.Fatalf("a directory that does not exist is held by %d", pid)
	}
	release, err := Hold(dir)
	if err != nil {
		t.Fatal(err)
	}
	if pid, held := Holder(dir); !held || pid != os.Getpid() {
		t.Errorf("Holder() = %d, %v", pid, held)
	}
	_, err = Hold(dir)
	var refused *HeldError
	if !errors.As(err, &refused) || refused.Pid != os.Getpid() ||
		!strings.Contains(err.Error(), fmt.Sprintf("process %d", os.Getpid())) {
		t.Errorf("a second holder gets %v", err)
	}
	release()
	if _, err := os.Lstat(filepath.Join(dir, LockFile)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the lock file is left: %v", err)
	}
	release, err = Hold(dir)
	if err != nil {
		t.Fatalf("after the release: %v", err)
	}
	release()
}

func TestHoldEndsWithItsProcess(t *testing.T) {
	dir := t.TempDir()
	other := holdElsewhere(t, dir)
	if pid, held := Holder(dir); !held || pid != other.Process.Pid {
		t.Errorf("Holder() = %d, %v; the holder is %d", pid, held, other.Process.Pid)
	}
	if _, err := Hold(dir); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("process %d", other.Process.Pid)) {
		t.Errorf("a second process gets %v", err)
	}
	if err := other.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = other.Wait() // it was killed: the error says that
	if pid, held := Holder(dir); held {
		t.Errorf("still held by %d after it was killed", pid)
	}
	release, err := Hold(dir)
	if err != nil {
		t.Fatalf("after the holder was killed: %v", err)
	}
	release()
}

// Two at once must never have it, although the file is removed with every release, and looking must disturb nobody.
func TestHoldExcludes(t *testing.T) {
	dir := t.TempDir()
	var inside atomic.Int32
	var took atomic.Int32
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 50 {
				release, err := Hold(dir)
				if errors.As(err, new(*HeldError)) {
					continue // it was held for longer than a holder waits
				}
				if err != nil {
					t.Error(err)
					return
				}
				if n := inside.Add(1); n != 1 {
					t.Errorf("%d hold it at once", n)
				}
				took.Add(1)
				inside.Add(-1)
				release()
			}
		})
	}
	wg.Go(func() {
		for range 500 {
			Holder(dir)
		}
	})
	wg.Wait()
	if took.Load() == 0 {
		t.Error("no process had the lock")
	}
}

func TestHoldSaysWhatIsWrong(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Hold(filepath.Join(file, "dir")); err == nil || strings.Contains(err.Error(), "\n") ||
		!strings.Contains(err.Error(), "A part of this path is a file") {
		t.Errorf("a directory below a file: %v", err)
	}
}

// What a killed process left in the file, or anything else, keeps nobody out.
func TestHoldIgnoresWhatTheFileSays(t *testing.T) {
	for _, content := range []string{"", "{", `{"pid":1,"started":"2026-01-01T00:00:00Z"}`, strings.Repeat("x", 1000)} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, LockFile), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
		if pid, held := Holder(dir); held {
			t.Errorf("%q: held by %d", content, pid)
		}
		release, err := Hold(dir)
		if err != nil {
			t.Errorf("%q: %v", content, err)
			continue
		}
		if pid, held := Holder(dir); !held || pid != os.Getpid() {
			t.Errorf("%q: Holder() = %d, %v", content, pid, held)
		}
		release()
	}
}
