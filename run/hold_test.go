package run

import (
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
)

// looker looks at the lock of a record when the first interval comes.
type looker struct {
	silent
	once sync.Once
	look func()
}

func (l *looker) Interval(measure.Dims, *measure.Interval) { l.once.Do(l.look) }

func TestRecordIsHeldWhileItIsWritten(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "record")
	looked := false
	look := func() {
		looked = true
		if pid, held := record.Holder(dir); !held || pid != os.Getpid() {
			t.Errorf("while the run goes on its record is held by %d, %v", pid, held)
		}
		_, err := Execute(t.Context(), small(t.TempDir(), nil), Options{Dir: dir})
		var e *Error
		if !errors.As(err, &e) || e.Stage != Recording || !errors.As(err, new(*record.HeldError)) {
			t.Errorf("a second run into the same directory: %v", err)
		}
	}
	if _, err := Execute(t.Context(), small(t.TempDir(), nil),
		Options{Dir: dir, Progress: &looker{look: look}}); err != nil {
		t.Fatal(err)
	}
	if !looked {
		t.Fatal("the run had no interval")
	}
	if _, err := os.Lstat(filepath.Join(dir, record.LockFile)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the lock file is left: %v", err)
	}
	if r, err := record.OpenRun(dir); err != nil || has(r.Validity, "altered") {
		t.Errorf("the record: %v", err)
	}
}
