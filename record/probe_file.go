package record

import (
	"encoding/json"
	"errors"
	"time"

	"github.com/plimsoll-bench/plimsoll/measure"
)

// The names of the files of the record of a probe.
const (
	ProbeFile    = "probe.json"
	TimelineFile = "timeline.ndjson"
)

// ProbeWriter writes the record of a probe while it runs: probe.json is replaced after each step, timeline.ndjson grows
// by a line a second. Its methods are called from one goroutine.
type ProbeWriter struct {
	// Probe is the record; the caller fills it.
	Probe    *Probe
	store    *Store[*Probe] // nil: nothing is written
	timeline *lineFile
	failed   error
}

// CreateProbe begins the record of a probe in a new or empty directory. Without a directory nothing is written, and
// the writer only carries the probe.
func CreateProbe(dir string, p *Probe) (w *ProbeWriter, err error) {
	p.SchemaVersion, p.Kind, p.Status = SchemaVersion, KindProbe, Running
	p.Steps, p.Validity = []ProbeStep{}, []measure.Finding{}
	p.Files = []File{
		{TimelineFile, "one JSON line per second of each step"},
		{SumsFile, "SHA-256 checksums, written when the probe ended properly"},
	}
	w = &ProbeWriter{Probe: p}
	if dir == "" {
		return w, nil
	}
	if w.store, err = Create[*Probe](dir, p.Specification); err != nil {
		return nil, err
	}
	if w.timeline, err = createLines(dir, TimelineFile); err != nil {
		return nil, explain(dir, err)
	}
	if err := w.Save(); err != nil {
		return nil, errors.Join(err, w.timeline.close())
	}
	return w, nil
}

// Save writes probe.json as it is now, durably. It is not called while something is measured.
func (w *ProbeWriter) Save() error {
	if w.store == nil || w.failed != nil {
		return w.failed
	}
	return w.check(w.store.Write(w.Probe))
}

// Second appends to the timeline. It does not wait for the disk.
func (w *ProbeWriter) Second(s ProbeSecond) error {
	if w.timeline == nil || w.failed != nil {
		return w.failed
	}
	b, err := json.Marshal(s)
	if err != nil {
		return w.check(err)
	}
	_, err = w.timeline.Write(append(b, '\n'))
	if err = errors.Join(err, w.timeline.Flush()); err != nil {
		err = explain(w.store.dir, err)
	}
	return w.check(err)
}

func (w *ProbeWriter) check(err error) error {
	if err != nil && w.failed == nil {
		w.failed = err
	}
	return w.failed
}

// Finish writes the record for the last time and closes it.
func (w *ProbeWriter) Finish(status Status, problem string, ended time.Time) error {
	at := ended.UTC()
	w.Probe.Status, w.Probe.Problem, w.Probe.Ended = status, problem, &at
	measure.SortFindings(w.Probe.Validity)
	if w.store == nil {
		return nil
	}
	if err := w.timeline.close(); err != nil {
		_ = w.check(explain(w.store.dir, err)) // which Save returns
	}
	return w.Save()
}

// WriteProbe writes a finished probe to a new or empty directory, without its timeline.
func WriteProbe(dir string, p *Probe) error {
	p.Files = []File{{SumsFile, "SHA-256 checksums"}}
	s, err := Create[*Probe](dir, p.Specification)
	if err != nil {
		return err
	}
	return s.Write(p)
}

func (p *Probe) complete(_ string, held bool) error {
	if p.Status == Running && !held {
		p.Status = Killed
		p.Validity = append(p.Validity, measure.Finding{ID: "incomplete", Severity: measure.Warning,
			Text: "the probe was killed. The result covers its finished steps. Run it again."})
	}
	return nil
}

// ProbeTimeline reads the seconds of a probe. A torn last line is left out.
func ProbeTimeline(dir string) ([]ProbeSecond, error) {
	return plainLines[ProbeSecond](dir, TimelineFile)
}
