package record

import (
	"encoding/json"
	"errors"
	"strings"

	"github.com/plimsoll-bench/plimsoll/internal/finite"
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

// marshal writes indented JSON without escapes of < and >, and with a newline at the end.
func marshal(v any) ([]byte, error) {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err := finite.Encode(e, v)
	return []byte(b.String()), err
}
