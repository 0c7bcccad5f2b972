package record

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/spec"
)

func TestProbeRecord(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "probe")
	w, err := CreateProbe(dir, &Probe{Specification: ProbeSpec{Directory: "/data", Seed: 3}})
	if err != nil {
		t.Fatal(err)
	}
	w.Probe.Steps = append(w.Probe.Steps, ProbeStep{Profile: spec.ProbeJournal, Operation: "commit", Clients: 1})
	if err := errors.Join(w.Second(ProbeSecond{Step: 0, Operations: 7}), w.Save(),
		w.Second(ProbeSecond{Step: 1})); err != nil {
		t.Fatal(err)
	}
	// As a killed probe leaves it: what was finished counts, and it says so.
	timeline := filepath.Join(dir, TimelineFile)
	f, err := os.OpenFile(timeline, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString(`{"step":2,`); err != nil {
		t.Fatal(err)
	}
	f.Close()
	p, err := OpenProbe(dir)
	if err != nil || p.Status != Killed || len(p.ProfileSteps(spec.ProbeJournal)) != 1 ||
		measure.Worst(p.Validity) != measure.Warning {
		t.Errorf("%+v, %v", p, err)
	}
	seconds, err := ProbeTimeline(dir)
	if err != nil || len(seconds) != 2 || seconds[0].Operations != 7 {
		t.Errorf("%+v, %v", seconds, err)
	}
	if _, err := CreateProbe(dir, &Probe{}); err == nil {
		t.Error("a record was written over")
	}
	if err := w.Finish(Complete, "", time.Now()); err != nil {
		t.Fatal(err)
	}
	if p, err = OpenProbe(dir); err != nil || p.Status != Complete || p.Specification.Seed != 3 || len(p.Validity) != 0 {
		t.Errorf("%+v, %v", p, err)
	}
	if err := os.WriteFile(timeline, []byte("{}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if p, err = OpenProbe(dir); err != nil || measure.Worst(p.Validity) != measure.Invalid {
		t.Errorf("an altered probe is taken for good: %+v, %v", p, err)
	}
	if _, err := OpenProbe(t.TempDir()); err == nil {
		t.Error("an empty directory is a probe")
	}
	if err := os.WriteFile(filepath.Join(dir, ProbeFile), []byte(`{"kind":"run","schema_version":"1.0"}`), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenProbe(dir); err == nil {
		t.Error("a run is a probe")
	}
}
