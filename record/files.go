package record

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// Files of the record of a run.
const (
	RunFile       = "run.json"
	IntervalsFile = "intervals.ndjson.zst"
	LatencyFile   = "latency.hlog"
	EventsFile    = "events.ndjson"
	SumsFile      = "SHA256SUMS"
)

// runFiles are the files of a run besides run.json.
func runFiles() []string {
	names := []string{EventsFile, SamplesFile}
	for _, r := range resolutions {
		names = append(names, r.intervals, r.latency)
	}
	return names
}

func files() []File {
	return []File{
		{IntervalsFile, "one JSON line per interval, compressed with zstd"},
		{LatencyFile, "HdrHistogram V2 log of all latencies in nanoseconds, tagged class.kind"},
		{EventsFile, "one JSON line per event"},
		{SumsFile, "SHA-256 checksums, written when the run ended properly"},
	}
}

// writeError has one line, also if the errors in it have several.
type writeError struct {
	text string
	err  error
}

func (e *writeError) Error() string { return e.text }
func (e *writeError) Unwrap() error { return e.err }

var errNoDir = errors.New("a record needs a directory. Set one with --out")

// replace replaces a file atomically: readers see the old or the new one, also if the process is killed. If durable is
// true, this holds for a crash of the machine too, and the new file is on the disk when replace returns.
func replace(dir, name string, content []byte, durable bool) (err error) {
	f, err := os.CreateTemp(dir, "."+name+".*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			f.Close()
			os.Remove(f.Name())
		}
	}()
	if _, err := f.Write(content); err != nil {
		return err
	}
	if err := f.Chmod(0o644); err != nil {
		return err
	}
	if durable {
		if err := f.Sync(); err != nil {
			return err
		}
	}
	if err := f.Close(); err != nil {
		return err
	}
	if err := os.Rename(f.Name(), filepath.Join(dir, name)); err != nil || !durable {
		return err
	}
	return syncDir(dir)
}

// syncDir makes a rename survive a crash of the machine, if the file system supports it.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	if err := d.Sync(); err != nil && !errors.Is(err, syscall.EINVAL) {
		return err
	}
	return nil
}

// marshal writes indented JSON without escapes of < and >, and with a newline at the end.
func marshal(v any) ([]byte, error) {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err := e.Encode(v)
	return []byte(b.String()), err
}
