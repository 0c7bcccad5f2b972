package record

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/plimsoll-bench/plimsoll/measure"
)

// Every reader of a file of a record has a target here: whatever the file holds, it returns, and does not panic. The
// seeds in testdata/broken are records that broke earlier versions.

// seed is a file of testdata/broken, nil if there is none of that name.
func seed(name string) []byte {
	b, _ := os.ReadFile(filepath.Join("testdata", "broken", name)) // most files have no broken example
	return b
}

// fuzzFile gives a reader a record whose file name has any content. The other files are those of testdata/broken.
func fuzzFile(f *testing.F, name string, others []string, read func(dir string) error, seeds ...string) {
	f.Helper()
	dir := f.TempDir()
	for _, other := range others {
		if err := os.WriteFile(filepath.Join(dir, other), seed(other), 0o644); err != nil {
			f.Fatal(err)
		}
	}
	if b := seed(name); b != nil {
		f.Add(b)
	}
	for _, s := range append(seeds, "", "{}", "[]", "null", "\x00", `{"schema_version":"1.0"`) {
		f.Add([]byte(s))
	}
	path := filepath.Join(dir, name)
	f.Fuzz(func(t *testing.T, content []byte) {
		if err := os.WriteFile(path, content, 0o644); err != nil {
			t.Fatal(err)
		}
		_ = read(dir) // an error is as good as a result
	})
}

// packed compresses what a fuzzer made, so that it reaches the reader of lines behind the decoder.
func packed(f *testing.F) func([]byte) []byte {
	z, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest),
		zstd.WithWindowSize(1<<12))
	if err != nil {
		f.Fatal(err)
	}
	return func(b []byte) []byte { return z.EncodeAll(b, nil) }
}

// unpacked are the lines of a compressed seed.
func unpacked(f *testing.F, name string) []byte {
	z, err := zstd.NewReader(nil)
	if err != nil {
		f.Fatal(err)
	}
	defer z.Close()
	b, _ := z.DecodeAll(seed(name), nil) // a damaged seed has what comes before the damage
	return b
}

func FuzzRun(f *testing.F) {
	fuzzFile(f, RunFile, nil, func(dir string) error { _, err := OpenRun(dir); return err })
}

// A run that was killed is put together from all of its files.
func FuzzKilledRun(f *testing.F) {
	fuzzFile(f, RunFile, []string{LatencyFile, IntervalsFile, SamplesFile, EventsFile},
		func(dir string) error { _, err := OpenRun(dir); return err },
		`{"schema_version":"1.0","kind":"run","status":"running","classes":[{"Name":"read"}],"outcomes":["ok"]}`)
}

func FuzzLatency(f *testing.F) {
	line := `{"phase":"measure","start_ns":0,"end_ns":1000000000,"classes":[{"class":"read","count":1}]}` + "\n"
	dir := f.TempDir()
	for name, b := range map[string][]byte{RunFile: []byte(`{"schema_version":"1.0","kind":"run","status":"running","classes":[{"Name":"read"}],"outcomes":["ok"]}`),
		IntervalsFile: packed(f)([]byte(line))} {
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o644); err != nil {
			f.Fatal(err)
		}
	}
	f.Add(seed(LatencyFile))
	f.Fuzz(func(t *testing.T, b []byte) {
		if err := os.WriteFile(filepath.Join(dir, LatencyFile), b, 0o644); err != nil {
			t.Fatal(err)
		}
		_, _ = EachInterval(dir, func(*measure.Interval) error { return nil }) // an error is as good as a result
		if line, err := parseLogLine(string(b)); err == nil {
			_, _ = measure.Decode(line.payload)
		}
	})
}

func FuzzHistogram(f *testing.F) {
	h := measure.NewHistogram()
	h.Record(1e6)
	text, err := h.Encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Fuzz(func(_ *testing.T, text string) {
		if h, err := measure.Decode(text); err == nil {
			_, _, _ = h.Count(), h.Max(), h.Quantile(0.99)
		}
	})
}

// fuzzPacked gives a reader a compressed file: what the fuzzer made as it is, and compressed.
func fuzzPacked(f *testing.F, name string, read func(dir string) error) {
	f.Helper()
	dir, pack := f.TempDir(), packed(f)
	f.Add(seed(name), false)
	f.Add(unpacked(f, name), true)
	f.Add([]byte("{}\n"), true)
	f.Fuzz(func(t *testing.T, b []byte, lines bool) {
		if lines {
			b = pack(b)
		}
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o644); err != nil {
			t.Fatal(err)
		}
		_ = read(dir) // an error is as good as a result
	})
}

func FuzzIntervals(f *testing.F) {
	d := measure.Dims{Classes: []measure.Class{{Name: "read"}, {Name: "update"}}, Outcomes: []measure.Outcome{{Name: "ok"}}}
	fuzzPacked(f, IntervalsFile, func(dir string) error {
		_, err := EachLine(dir, func(l *IntervalLine) error {
			_, err := l.interval(d, func(string) (*measure.Histogram, error) { return measure.NewHistogram(), nil })
			return err
		})
		return err
	})
}

func FuzzSamples(f *testing.F) {
	fuzzPacked(f, SamplesFile, func(dir string) error {
		var s seriesSums
		_, err := EachSample(dir, func(x Sample) error { s.add([]Sample{x}); s.settle(0, 1<<40); return nil })
		s.list(1)
		return err
	})
}

func FuzzEvents(f *testing.F) {
	fuzzFile(f, EventsFile, nil, func(dir string) error { _, err := Events(dir); return err })
}

func FuzzSums(f *testing.F) {
	fuzzFile(f, SumsFile, []string{RunFile}, func(dir string) error { _, err := altered(dir, RunFile); return err },
		"0000000000000000000000000000000000000000000000000000000000000000  run.json\n", "00  clients/00/SHA256SUMS\n", "00  logs/a.log.zst\n")
}

func FuzzStudy(f *testing.F) {
	fuzzFile(f, StudyFile, nil, func(dir string) error { _, err := OpenStudy(dir); return err },
		`{"schema_version":"1.0","kind":"study","status":"running","trials":[{"number":1,"attempt":1,"status":"running"}],`+
			`"specification":{"factors":[{"path":"load.workers","levels":[1,{"value":2,"set":{"a":[1.5]}}]}]},"configurations":[{"id":"a","set":{"b":3}}]}`)
}

func FuzzStudyJournal(f *testing.F) {
	dir := f.TempDir()
	if err := os.WriteFile(filepath.Join(dir, StudyFile), []byte(`{"schema_version":"1.0","kind":"study","trials":[{"number":1,"attempt":1}]}`), 0o644); err != nil {
		f.Fatal(err)
	}
	f.Add([]byte(`{"event":"begin","trial":{"number":1,"attempt":2,"status":"running"}}` + "\n" + `{"event":"session","session":{}}` + "\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if err := os.WriteFile(filepath.Join(dir, JournalFile), b, 0o644); err != nil {
			t.Fatal(err)
		}
		_, _ = OpenStudy(dir) // an error is as good as a result
	})
}

func FuzzDrill(f *testing.F) {
	fuzzFile(f, DrillFile, nil, func(dir string) error { _, err := OpenDrill(dir); return err },
		`{"schema_version":"1.0","kind":"drill","status":"running","rounds":[{"number":1,"verdict":"holds","effects":[{}],"ledger":{}}]}`)
}

func FuzzStatus(f *testing.F) {
	fuzzFile(f, StatusFile, nil, func(dir string) error {
		s, err := ReadStatus(dir)
		s.Stage()
		return err
	}, `{"round":1,"rounds":3,"stages":[{"stage":"load"}],"writes":{},"notes":[{"text":"x"}]}`)
}

func FuzzProbe(f *testing.F) {
	fuzzFile(f, ProbeFile, nil, func(dir string) error { _, err := OpenProbe(dir); return err })
}

func FuzzTimeline(f *testing.F) {
	fuzzFile(f, TimelineFile, nil, func(dir string) error { _, err := ProbeTimeline(dir); return err })
}

func FuzzComparison(f *testing.F) {
	fuzzFile(f, ComparisonFile, nil, func(dir string) error { _, err := OpenComparison(dir); return err })
}

func FuzzSuite(f *testing.F) {
	fuzzFile(f, SuiteFile, nil, func(dir string) error { _, err := OpenSuite(dir); return err },
		`{"schema_version":"1.0","kind":"suite","parts":[{"name":"a","kind":"study","record":"parts/a","set":{"x":1}}]}`)
}

func FuzzSuitePlan(f *testing.F) {
	fuzzFile(f, SuitePlan, nil, func(dir string) error { _, _, err := ReadSuitePlan(dir, nil); return err },
		`{"schema_version":"1.0","kind":"suite-plan","parts":[{"name":"a","study":{},"before":{"name":"a"}}]}`)
}

func FuzzSuiteJournal(f *testing.F) {
	fuzzFile(f, SuiteJournal, nil, func(dir string) error { _, _, err := ReadSuiteJournal(dir); return err },
		`{"event":"begin","part":{"name":"a","kind":"study","set":{"x":1}}}`+"\n")
}

func FuzzLock(f *testing.F) {
	fuzzFile(f, LockFile, nil, func(dir string) error { readHolding(dir); return nil }, `{"pid":1,"started":"2026-01-01T00:00:00Z","boot":"x","start_ticks":1}`)
}
