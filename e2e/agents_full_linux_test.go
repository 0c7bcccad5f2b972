//go:build !race

package e2e

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/plimsoll-bench/plimsoll/internal/notrun"
	"github.com/plimsoll-bench/plimsoll/record"
)

// TestAgentsOfAFullCoordinator fills the disk with the messages of the coordinator. The run ends with one sentence, its
// agents end, and the record has what was stored before.
func TestAgentsOfAFullCoordinator(t *testing.T) {
	inTurn(t, 35)
	disk := t.TempDir()
	if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, "size=32m"); err != nil {
		notrun.Here(t, "with a full disk: no small disk can be made here (%v)", err)
		return
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(disk, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	dir := filepath.Join(t.TempDir(), out)
	c := startCoordinatorAt(t, filepath.Join(disk, "home"), "run", "null:", "--agents", "2", "--threads", "4", "--pace", "40", "--records", "1000",
		"--duration", "10m", "--out", dir)
	agents := startAgents(t, c, 2)
	measured := func() int64 {
		r, err := record.OpenRun(dir)
		if err != nil || r.Phase("measure") == nil {
			return 0
		}
		return r.Phase("measure").Counts.Succeeded
	}
	c.until(t, "measured operations in the record", func() bool { return measured() > 0 })
	stored := measured()
	all := filepath.Join(disk, "everything")
	f, err := os.Create(all)
	if err != nil {
		t.Fatal(err)
	}
	for n := 1 << 20; n > 0; {
		if _, err := f.Write(make([]byte, n)); errors.Is(err, syscall.ENOSPC) {
			n /= 2
		} else if err != nil {
			t.Fatal(err)
		}
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	c.wait(t).must(t, 1)
	for _, a := range agents {
		a.wait(t) // the coordinator is gone
	}
	said, err := os.ReadFile(filepath.Join(c.dir, "stderr"))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(said), "the coordinator cannot store messages of the run: ") ||
		!strings.Contains(string(said), "no space left on device. Check the free space of its disk, and run again") {
		t.Errorf("the command says\n%s", said)
	}
	if err := os.Remove(all); err != nil {
		t.Fatal(err)
	}
	r, err := record.OpenRun(dir)
	if err != nil {
		t.Fatal(err)
	}
	if r.Status != record.Failed || !strings.Contains(r.Problem, "no space left") || measured() < stored || stored == 0 {
		t.Errorf("the record is %s (%s) with %d operations, and had %d", r.Status, r.Problem, measured(), stored)
	}
}
