package record

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
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
func CreateDrill(dir string, spec DrillSpec) (*DrillWriter, error) {
	if strings.TrimSpace(dir) == "" {
		return nil, errors.New("a drill needs a directory: give one (--out)")
	}
	for _, name := range []string{DrillFile, RoundsDir, RunFile, StudyFile} {
		if _, err := os.Lstat(filepath.Join(dir, name)); err == nil {
			return nil, fmt.Errorf("%s already holds a record (%s is there): choose another directory (--out)", dir, name)
		}
	}
	if err := os.MkdirAll(filepath.Join(dir, RoundsDir), 0o755); err != nil {
		return nil, explain(dir, err)
	}
	return &DrillWriter{dir: dir, red: newStudyRedactor(StudySpec{Run: spec.Run, Lab: spec.Lab})}, nil
}

// AddSecrets keeps the credentials of further addresses out of what is written.
func (w *DrillWriter) AddSecrets(uri string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.red.learn(RunSpec{Target: uri})
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
	if err := replace(w.dir, DrillFile, b, true); err != nil {
		return explain(w.dir, err)
	}
	return nil
}

// OpenDrill reads the record of a drill. One that is being written has status running; one that was left so by a process
// that is gone has status killed, and its verdict is unknown unless a write was found lost before.
func OpenDrill(dir string) (*Drill, error) {
	path := filepath.Join(dir, DrillFile)
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s holds no drill: there is no %s in it", dir, DrillFile)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read the drill in %s: %w", dir, cause(err))
	}
	if err := checkHead(path, b, KindDrill); err != nil {
		return nil, err
	}
	var d Drill
	if err := json.Unmarshal(b, &d); err != nil {
		return nil, fmt.Errorf("%s is damaged: %w", path, err)
	}
	if d.Status != Running {
		return &d, nil
	}
	if _, held := Holder(dir); held {
		return &d, nil
	}
	d.killed()
	return &d, nil
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
