package run

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/plimsoll-bench/plimsoll/disk/device"
	"github.com/plimsoll-bench/plimsoll/internal/notrun"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
	"github.com/plimsoll-bench/plimsoll/store"
	"github.com/plimsoll-bench/plimsoll/store/embedded"
	"github.com/plimsoll-bench/plimsoll/workload"
)

// smallDisk is a disk of some MiB, and false where this user cannot make one.
func smallDisk(t *testing.T, size string) (string, bool) {
	t.Helper()
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size="+size); err != nil {
		notrun.Here(t, "no small disk can be made here: %v", err)
		return "", false
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return dir, true
}

// fill takes all space of a disk.
func fill(dir string) error {
	f, err := os.Create(filepath.Join(dir, "everything"))
	if err != nil {
		return err
	}
	defer f.Close()
	for n := 1 << 16; n > 0; {
		if _, err := f.Write(make([]byte, n)); errors.Is(err, syscall.ENOSPC) {
			n /= 2
		} else if err != nil {
			return err
		}
	}
	return nil
}

// A record whose disk is full says so for ever, and is not valid.
func TestRecordOnAFullDisk(t *testing.T) {
	disk, ok := smallDisk(t, "8m")
	if !ok {
		return
	}
	dir := filepath.Join(disk, "record")
	asked := spec.Run{Target: "null:", Workload: spec.Workload{Name: "c", Records: 100},
		Load: spec.Load{Workers: 1, Rate: 100, Duration: spec.Duration(60e9)}}
	asked.Defaults()
	printed, err := Execute(t.Context(), asked, Options{Dir: dir, Ready: func(context.Context) error {
		return fill(disk)
	}})
	if err == nil || !strings.Contains(err.Error(), "full") {
		t.Fatalf("the run ended with %v", err)
	}
	if err := os.Remove(filepath.Join(disk, "everything")); err != nil {
		t.Fatal(err)
	}
	kept, err := record.OpenRun(dir)
	if err != nil {
		t.Fatal(err)
	}
	for what, r := range map[string]*record.Run{"printed": printed, "kept": kept} {
		if r.Status != record.Failed || !strings.Contains(r.Problem, "full") || measure.Worst(r.Validity) != measure.Invalid {
			t.Errorf("the result %s is %s (%s) with the findings %v", what, r.Status, r.Problem, r.Validity)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(dir, ".reserve*")); len(left) > 0 {
		t.Errorf("left are %v", left)
	}
}

// fillStore inserts into the collection of the YCSB workloads until the disk is full.
func fillStore(t *testing.T, dir string) {
	t.Helper()
	st, err := embedded.Open(t.Context(), dir, store.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close() //nolint:errcheck // it says that the disk is full
	session, err := st.Session(0)
	if err != nil {
		t.Fatal(err)
	}
	for i, outcome := int64(0), store.OK; outcome == store.OK; i++ {
		doc, err := bson.Marshal(bson.D{{Key: "_id", Value: i}, {Key: "field0", Value: make([]byte, 1<<18)}})
		if err != nil {
			t.Fatal(err)
		}
		var res store.Result
		session.Do(time.Now().Add(10*time.Minute), &workload.Request{Verb: workload.Insert, Collection: "usertable",
			Docs: [][]byte{doc}}, &res)
		outcome = res.Outcome
	}
}

// A full embedded store can be used again: its data are to be dropped anyway.
func TestFullEmbeddedStoreIsEmptied(t *testing.T) {
	disk, ok := smallDisk(t, "24m")
	if !ok {
		return
	}
	fillStore(t, filepath.Join(disk, "db"))
	asked := spec.Run{Target: "embedded:" + filepath.Join(disk, "db"), Workload: spec.Workload{Name: "c", Records: 100},
		Load: spec.Load{Workers: 1, Operations: 10}, LoadPhase: spec.LoadPhase{Only: true}}
	asked.Defaults()
	run := func(change func(*spec.Run)) (*record.Run, error) {
		s := asked
		change(&s)
		return Execute(t.Context(), s, Options{Dir: filepath.Join(t.TempDir(), "record")})
	}
	if _, err := run(func(*spec.Run) {}); err == nil || !strings.Contains(err.Error(), "is full") {
		t.Fatalf("the store opens although its disk is full: %v", err)
	}
	r, err := run(func(s *spec.Run) { s.LoadPhase.Drop = true })
	if err != nil || r.Fill == nil || r.Fill.Inserted != 100 {
		t.Errorf("with --load drop: %v", err)
	}
}

// An embedded store in memory is not a disk, and the result says so; one on a disk has no such finding.
func TestEmbeddedStoreInMemory(t *testing.T) {
	memory, ok := smallDisk(t, "64m")
	if !ok {
		return
	}
	for dir, want := range map[string]bool{filepath.Join(memory, "db"): true, filepath.Join(t.TempDir(), "db"): false} {
		storage, err := device.Here().Storage(filepath.Dir(dir))
		if err != nil {
			t.Fatal(err)
		}
		if !want && len(storage.Memory) > 0 {
			notrun.Here(t, "the directory of tests is in memory (%s)", strings.Join(storage.Memory, ", "))
			continue
		}
		r, err := Execute(t.Context(), small(dir, func(*spec.Run) {}), Options{Dir: filepath.Join(t.TempDir(), "record")})
		if err != nil {
			t.Fatal(err)
		}
		if got := slices.ContainsFunc(r.Validity, func(f measure.Finding) bool { return f.ID == "embedded-memory" }); got != want {
			t.Errorf("%s: %+v", dir, r.Validity)
		}
	}
}
