package disk

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/plimsoll-bench/plimsoll/disk/files"
	"github.com/plimsoll-bench/plimsoll/disk/pattern"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// A growing log is as long as its records, the others are as long as their files from the beginning. An overwritten log
// keeps its two files.
func TestLogs(t *testing.T) {
	lengths := map[string]int64{spec.LogReserved: 1 << 20, spec.LogGrowing: 3072, spec.LogOverwritten: 1 << 20}
	for log, first := range lengths {
		set, _, err := files.Open(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { set.Remove() })
		p := &probe{spec: &record.ProbeSpec{Log: log, Segment: 1 << 20, Record: 1024}, out: &record.Probe{}, set: set,
			pool: pattern.NewPool(1, 4096)}
		l, err := p.openLog()
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := l.append(3); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(set.Path(files.JournalName(1)))
		if err != nil || info.Size() != first {
			t.Errorf("%s: the first file has %d B, want %d (%v)", log, info.Size(), first, err)
		}
		for range 80 { // more than two files
			if _, _, err := l.append(30); err != nil {
				t.Fatal(err)
			}
		}
		names, err := filepath.Glob(set.Path("*journal*"))
		if err != nil || len(names) == 0 || len(names) > 3 || log == spec.LogOverwritten && len(names) != 2 {
			t.Errorf("%s: files %v, %v", log, names, err)
		}
		l.close()
	}
}
