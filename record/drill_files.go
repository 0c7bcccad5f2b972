package record

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/plimsoll-bench/plimsoll/spec"
)

// The names of what the record of a drill holds.
const (
	DrillFile = "drill.json"
	RoundsDir = "rounds"
)

// DrillWriter writes drill.json and, as long as the drill goes on, standing.json. Its methods are called by the process
// that holds the directory (see [Hold]), those that say nothing else from one goroutine. Each repetition is the record of
// a run below it.
type DrillWriter struct {
	dir string
	mu  sync.Mutex // of red
	red *studyRedactor
}

// CreateDrill begins the record of a drill in a directory that holds none. Everything is written without the
// credentials that are in the specification.
func CreateDrill(dir string, asked spec.Drill) (*DrillWriter, error) {
	if strings.TrimSpace(dir) == "" {
		return nil, errors.New("a drill needs a directory: give one (--out)")
	}
	if err := vacate(dir); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Join(dir, RoundsDir), 0o755); err != nil {
		return nil, explain(dir, err)
	}
	return &DrillWriter{dir: dir, red: newStudyRedactor(spec.Study{Run: asked.Run, Lab: asked.Lab})}, nil
}

// AddSecrets keeps the credentials of further addresses out of what is written.
func (w *DrillWriter) AddSecrets(uri string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.red.known.Learn(uri)
}

// Redacted returns a copy of the drill without credentials.
func (w *DrillWriter) Redacted(d *Drill) (*Drill, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	out, err := redactedCopy(w.red, *d)
	return &out, err
}

// Write replaces drill.json: whoever reads, and whatever ends this process or machine, sees the old or the new one whole.
func (w *DrillWriter) Write(d *Drill) error {
	clean, err := w.Redacted(d)
	if err != nil {
		return err
	}
	b, err := marshal(clean)
	if err != nil {
		return err
	}
	if err := replaceSealed(w.dir, DrillFile, b, d.Status); err != nil {
		return explain(w.dir, err)
	}
	return nil
}

func (d *Drill) complete(_ string, held bool) error {
	if d.Status == Running && !held {
		d.killed()
	}
	return nil
}

// killed says what is known of a drill whose process is gone.
func (d *Drill) killed() {
	d.Status = Killed
	why := "the drill was killed before it had audited what was written; the lab heals its faults by itself when their time is over"
	if d.Verdict != Violated {
		d.Verdict, d.Reasons = Unknown, append([]string{why}, d.Reasons...)
	}
	for i := range d.Rounds {
		if r := &d.Rounds[i]; r.Verdict == "" {
			r.Verdict, r.Reasons = Unknown, append(r.Reasons, why)
		}
	}
}
