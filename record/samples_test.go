package record

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// sampled makes one sample per half second of a run of sixteen seconds, of which the seconds 3 to 15 are measured.
func sampled() (list []Sample) {
	for i := range 32 {
		list = append(list, Sample{At: int64(i) * int64(500*time.Millisecond),
			Source: "host:h at mongodb://u:" + secret + "@x", Values: map[string]float64{
				"network.eth0.sent": float64(i), "memory.used": float64(100 - i), "broken": math.NaN(), "connections.current": 5,
			}})
	}
	return list
}

// writeSampled writes a record whose samples come as those of a run do: a few before each interval.
func writeSampled(t *testing.T, dir string) *RunWriter {
	t.Helper()
	w := newTestWriter(t, dir)
	list := sampled()
	for _, iv := range testIntervals(t, 1) {
		n := 0
		for n < len(list) && time.Duration(list[n].At) <= iv.End+700*time.Millisecond { // some are ahead
			n++
		}
		if err := w.Samples(list[:n:n]); err != nil {
			t.Fatal(err)
		}
		list = list[n:]
		if err := w.Interval(iv); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Samples(list); err != nil {
		t.Fatal(err)
	}
	return w
}

// wantSeries is what the samples after second 3 and up to second 15 say: numbers 7 to 30.
func wantSeries(rate float64) []Series {
	per := 18.5 / rate
	source := "host:h at mongodb://u:" + hidden + "@x"
	return []Series{
		{Source: source, Name: "connections.current", Mean: 5, Max: 5, Last: 5},
		{Source: source, Name: "memory.used", Unit: "B", Mean: 100 - 18.5, Max: 93, Last: 70},
		{Source: source, Name: "network.eth0.sent", Unit: "B/s", Mean: 18.5, Max: 30, Last: 30, PerOperation: &per},
	}
}

func checkSeries(t *testing.T, dir string) *Run {
	t.Helper()
	r, err := OpenRun(dir)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(wantSeries(r.Phase("measure").Rates.Achieved), r.Series); diff != "" {
		t.Errorf("series (-want +got):\n%s", diff)
	}
	n := 0
	complete, err := EachSample(dir, func(s Sample) error {
		if want := int64(n) * int64(500*time.Millisecond); s.At != want || strings.Contains(s.Source, secret) ||
			len(s.Values) != 3 {
			t.Errorf("sample %d is %+v", n, s)
		}
		n++
		return nil
	})
	if err != nil || n != 32 || !complete && r.Status == Complete {
		t.Errorf("%d samples, complete: %v, %v", n, complete, err)
	}
	return r
}

func TestSamples(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "record")
	finishTest(t, writeSampled(t, dir))
	r := checkSeries(t, dir)
	listed := false
	for _, f := range r.Files {
		listed = listed || f.Name == SamplesFile
	}
	if !listed || r.Status != Complete || len(r.Validity) > 0 && r.Validity[0].ID == "altered" {
		t.Errorf("status %s, files %v, validity %v", r.Status, r.Files, r.Validity)
	}
	if err := os.WriteFile(filepath.Join(dir, SamplesFile), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if r, err := OpenRun(dir); err != nil || r.Validity[0].ID != "altered" || !strings.Contains(r.Validity[0].Text, SamplesFile) {
		t.Errorf("the samples were changed, but the record has %v, %v", r.Validity, err)
	}
}

// A run that is killed keeps its samples, and what follows from them.
func TestSamplesOfAKilledRun(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "record")
	writeSampled(t, dir) // and never finished
	if r := checkSeries(t, dir); r.Status != Killed {
		t.Errorf("status %s", r.Status)
	}
	// The last write may be torn anywhere.
	name := filepath.Join(dir, SamplesFile)
	whole, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	for cut := 0; cut < len(whole); cut += 1 + len(whole)/40 {
		if err := os.WriteFile(name, whole[:cut], 0o644); err != nil {
			t.Fatal(err)
		}
		n := 0
		complete, err := EachSample(dir, func(Sample) error { n++; return nil })
		if err != nil || complete && n == 32 {
			t.Fatalf("%d of %d bytes: %d samples, complete: %v, %v", cut, len(whole), n, complete, err)
		}
	}
	if err := os.WriteFile(name, bytes.Repeat([]byte("x"), 1000), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := EachSample(dir, func(Sample) error { return nil }); err == nil {
		t.Error("a file of something else was read")
	}
}

// A record without samples has no file of them, and reads as none.
func TestNoSamples(t *testing.T) {
	dir, r := writeTestRecord(t)
	if r.Series != nil {
		t.Errorf("series %v", r.Series)
	}
	if _, err := os.Stat(filepath.Join(dir, SamplesFile)); !os.IsNotExist(err) {
		t.Errorf("got a file of samples, want none: %v", err)
	}
	if complete, err := EachSample(dir, func(Sample) error { return nil }); !complete || err != nil {
		t.Errorf("complete: %v, %v", complete, err)
	}
}

// Samples before a long load phase ends are not kept in memory.
func TestSamplesAreForgotten(t *testing.T) {
	w := newTestWriter(t, filepath.Join(t.TempDir(), "record"))
	for _, iv := range testIntervals(t, 1) {
		list := []Sample{{At: int64(iv.Start), Source: "client", Values: map[string]float64{"threads": 1}}}
		if err := w.Samples(list); err != nil {
			t.Fatal(err)
		}
		if err := w.Interval(iv); err != nil {
			t.Fatal(err)
		}
		if n := len(w.series.pending); n > 3 {
			t.Fatalf("%d samples are kept at %v", n, iv.End)
		}
	}
}

func TestUnitOf(t *testing.T) {
	for name, want := range map[string]string{
		"cpu.used": "cores", "disk.nvme0n1.read_bytes": "B/s", "disk.dm-0.write_await": "ns", "network.eth0.100.received": "B/s", "threads": "",
		"pressure.io.full": "share", "opcounters.getmore": "1/s", "cache.used": "B", "": "", "tickets.read.out": "",
	} {
		if got := UnitOf(name); got != want {
			t.Errorf("the unit of %q is %q, want %q", name, got, want)
		}
	}
}
