package record

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/plimsoll-bench/plimsoll/measure"
)

// The names of the files of the record of a probe.
const (
	ProbeFile    = "probe.json"
	TimelineFile = "timeline.ndjson"
)

// ProbeWriter writes the record of a probe while it goes on: probe.json is replaced as a whole after each step,
// timeline.ndjson grows by a line a second. Its methods are called from one goroutine.
type ProbeWriter struct {
	// Probe is what is written; the caller fills it.
	Probe    *Probe
	dir      string
	timeline *lineFile
	failed   error
}

// CreateProbe begins the record of a probe in a new or empty directory. Without a directory nothing is written, and
// the writer only carries the probe.
func CreateProbe(dir string, p *Probe) (*ProbeWriter, error) {
	p.SchemaVersion, p.Kind, p.Status = SchemaVersion, KindProbe, Running
	p.Steps, p.Validity = []ProbeStep{}, []measure.Finding{}
	p.Files = []File{
		{TimelineFile, "one JSON line per second of each step"},
		{SumsFile, "SHA-256 checksums, written when the probe ended properly"},
	}
	w := &ProbeWriter{Probe: p, dir: dir}
	if dir == "" {
		return w, nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, explain(dir, err)
	}
	for _, name := range []string{ProbeFile, TimelineFile, RunFile, StudyFile, ComparisonFile} {
		if _, err := os.Lstat(filepath.Join(dir, name)); err == nil {
			return nil, fmt.Errorf("%s already holds a record (%s is there): choose another directory (--out)", dir, name)
		}
	}
	var err error
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
	if w.dir == "" || w.failed != nil {
		return w.failed
	}
	b, err := marshal(w.Probe)
	if err == nil {
		err = replace(w.dir, ProbeFile, b, true)
	}
	return w.check(err)
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
	return w.check(errors.Join(err, w.timeline.Flush()))
}

func (w *ProbeWriter) check(err error) error {
	if err != nil && w.failed == nil {
		w.failed = explain(w.dir, err)
	}
	return w.failed
}

// Finish writes the record for the last time and closes it.
func (w *ProbeWriter) Finish(status Status, problem string, ended time.Time) error {
	at := ended.UTC()
	w.Probe.Status, w.Probe.Problem, w.Probe.Ended = status, problem, &at
	measure.SortFindings(w.Probe.Validity)
	if w.dir == "" {
		return nil
	}
	_ = w.check(w.timeline.close()) // check remembers the first error, which is returned below
	if w.Save() == nil {
		_ = w.check(writeProbeSums(w.dir))
	}
	return w.failed
}

// writeProbeSums writes the checksums of the files of a probe.
func writeProbeSums(dir string) error {
	var b strings.Builder
	for _, name := range []string{ProbeFile, TimelineFile} {
		sum, err := checksum(filepath.Join(dir, name))
		if err != nil {
			return err
		}
		fmt.Fprintf(&b, "%s  %s\n", sum, name)
	}
	return replace(dir, SumsFile, []byte(b.String()), true)
}

// OpenProbe reads the record of a probe. One that goes on (see [Hold]) has status running; one that did not end properly
// has what was measured before.
func OpenProbe(dir string) (*Probe, error) {
	path := filepath.Join(dir, ProbeFile)
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s holds no probe: there is no %s in it", dir, ProbeFile)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read the probe in %s: %w", dir, cause(err))
	}
	if err := checkHead(path, b, KindProbe); err != nil {
		return nil, err
	}
	var p Probe
	if err := json.Unmarshal(b, &p); err != nil {
		return nil, fmt.Errorf("%s is damaged: %w", path, err)
	}
	if _, held := Holder(dir); p.Status == Running && !held {
		p.Status = Killed
		p.Validity = append(p.Validity, measure.Finding{ID: "incomplete", Severity: measure.Warning,
			Text: "the probe did not end properly, so this is what its finished steps measured; run it again"})
	}
	changed, err := altered(dir)
	if err != nil {
		return nil, fmt.Errorf("checking the probe %s: %w", dir, err)
	}
	if len(changed) > 0 {
		p.Validity = append(p.Validity, measure.Finding{ID: "altered", Severity: measure.Invalid,
			Text: strings.Join(changed, ", ") + " changed after the probe ended, so this is no longer what was measured; run it again"})
	}
	measure.SortFindings(p.Validity)
	return &p, nil
}

// ProbeTimeline reads the seconds of a probe. A torn last line is left out.
func ProbeTimeline(dir string) ([]ProbeSecond, error) {
	f, err := os.Open(filepath.Join(dir, TimelineFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read the probe in %s: %w", dir, cause(err))
	}
	defer f.Close()
	var list []ProbeSecond
	lines := bufio.NewReaderSize(f, 1<<16)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return list, nil // the end, or a line that was cut off
		}
		var s ProbeSecond
		if err := json.Unmarshal(line, &s); err != nil {
			return list, fmt.Errorf("%s is damaged: %w", f.Name(), err)
		}
		list = append(list, s)
	}
}
