package fleet

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll-bench/plimsoll/record"
)

// A parent that is killed leaves nothing running, and a record that can be read.
func TestParentKilled(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "record")
	cmd := exec.Command(os.Args[0], dir)
	cmd.Env = append(os.Environ(), roleVariable+"=parent")
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	pids := make([]int, 3)
	if _, err := fmt.Sscan(line, &pids[0], &pids[1], &pids[2]); err != nil {
		t.Fatalf("the parent says %q: %v", line, err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	for _, pid := range pids {
		for limit := time.Now().Add(patience); running(pid); time.Sleep(20 * time.Millisecond) {
			if time.Now().After(limit) {
				t.Fatalf("client process %d outlives its parent", pid)
			}
		}
	}
	r, err := record.OpenRun(dir)
	if err != nil {
		t.Fatal(err)
	}
	if r.Status != record.Killed || counted(r, "measure").Succeeded == 0 {
		t.Errorf("the record is %s and has %+v", r.Status, counted(r, "measure"))
	}
	if len(r.Clients) != 3 || r.Clients[2].Status != "lost" || r.Clients[2].PID != pids[2] {
		t.Errorf("clients %+v, want those of the processes %v", r.Clients, pids)
	}
	checkSetAside(t, dir, r)
}

// checkSetAside interrupts the move of a killed record after its first file. The record is found, and moved completely.
func checkSetAside(t *testing.T, dir string, want *record.Run) {
	t.Helper()
	to := aside(dir, 1)
	if err := errors.Join(os.Mkdir(to, 0o755), os.Rename(filepath.Join(dir, record.RunFile),
		filepath.Join(to, record.RunFile))); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		got, err := Unfinished(dir)
		if err != nil {
			t.Fatal(err)
		}
		if counted(got, "measure") != counted(want, "measure") || len(got.Clients) != len(want.Clients) {
			t.Errorf("the record in %s has %+v, want %+v", to, counted(got, "measure"), counted(want, "measure"))
		}
	}
	left, err := filepath.Glob(filepath.Join(dir, "*"))
	if left = slices.DeleteFunc(left, func(n string) bool { return filepath.Base(n) == record.LockFile }); err != nil ||
		!slices.Equal(left, []string{to}) {
		t.Errorf("beside %s are %v, %v", to, left, err)
	}
}

// running reports whether a process of this test is still there. One that has ended but was not waited for, by
// whoever inherited it, is gone.
func running(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(rest, "Z") && !strings.HasPrefix(rest, "X")
}
