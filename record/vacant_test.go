package record

import (
	"bufio"
	"os"
	"path/filepath"
	"testing"

	"github.com/plimsoll-bench/plimsoll/internal/notrun"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// creators begin a record of each kind.
var creators = map[string]func(dir string) error{
	RunFile: func(dir string) error { _, err := CreateRun(dir, Tool{}, testSpec()); return err },
	StudyFile: func(dir string) error {
		w, err := Create[*Study](dir, spec.Study{})
		if err == nil {
			err = w.Close()
		}
		return err
	},
	DrillFile: func(dir string) error { _, err := CreateDrill(dir, spec.Drill{}); return err },
	ProbeFile: func(dir string) error { _, err := CreateProbe(dir, &Probe{}); return err },
	SuiteFile: func(dir string) error {
		w, err := Create[*Suite](dir, nil)
		if err == nil {
			err = w.Close()
		}
		return err
	},
	CapacityFile: func(dir string) error {
		w, err := Create[*Capacity](dir, spec.Capacity{})
		if err == nil {
			err = w.Close()
		}
		return err
	},
	ComparisonFile: func(dir string) error { return WriteComparison(dir, &ComparisonReport{}) },
}

// A full disk leaves empty files of a record that was not begun. They do not keep the next one from the directory; a
// record of any kind does, and so does a file with something in it.
func TestDirectoriesOfRecordsThatWereNotBegun(t *testing.T) {
	for kind, create := range creators {
		dir := t.TempDir()
		for _, name := range []string{IntervalsFile, LatencyFile, EventsFile, TimelineFile, JournalFile, SuiteJournal,
			CapacityJournal, SumsFile, ".run.json.123"} {
			if err := os.WriteFile(filepath.Join(dir, name), nil, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		for _, name := range []string{RoundsDir, TrialsDir, PartsDir, StepsDir} {
			if err := os.Mkdir(filepath.Join(dir, name), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		if err := create(dir); err != nil {
			t.Errorf("%s: cannot begin after a full disk: %v", kind, err)
		}
		for _, name := range append(MainFiles()[:len(MainFiles()):len(MainFiles())], EventsFile, "rounds/1/run.json") {
			dir := t.TempDir()
			path := filepath.Join(dir, filepath.FromSlash(name))
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte("precious"), 0o644); err != nil {
				t.Fatal(err)
			}
			if err := create(dir); err == nil {
				t.Errorf("%s was begun where %s is", kind, name)
			}
			if b, err := os.ReadFile(path); string(b) != "precious" {
				t.Errorf("%s left %q of %s, %v", kind, b, name, err)
			}
		}
	}
}

func TestResultThatCouldNotBeWrittenIsNotValid(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_RDWR, 0)
	if err != nil {
		notrun.Here(t, "this system has no /dev/full: %v", err)
		return
	}
	w := newTestWriter(t, filepath.Join(t.TempDir(), "r"))
	for _, iv := range testIntervals(t, 1) {
		if err := w.Interval(iv); err != nil {
			t.Fatal(err)
		}
	}
	_ = w.events.file.Close() // it is replaced
	w.events = &lineFile{bufio.NewWriter(full), full}
	if err := w.Event(measure.Event{Kind: "x"}); err != nil {
		t.Fatal(err)
	}
	r, err := w.Finish(Ending{Status: Complete, Ended: testStart})
	if err == nil || r == nil || r.Status != Failed || measure.Worst(r.Validity) != measure.Invalid {
		t.Errorf("opened an incomplete record: %v, %+v", err, r)
	}
}
