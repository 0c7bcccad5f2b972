package recordtest

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/plimsoll-bench/plimsoll/record"
)

// Repeat makes a long record out of a short one without a warm-up: its intervals and histograms follow each other
// so many times. The counts of run.json stay those of the short one. It is for measuring what long records cost.
func Repeat(from, to string, times int) error {
	r, err := record.Open(from)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(to, 0o755); err != nil {
		return err
	}
	p := r.Phase("measure")
	length := p.End
	if err := repeatIntervals(from, to, times, length); err != nil {
		return err
	}
	if err := repeatLog(from, to, times); err != nil {
		return err
	}
	p.End = length * int64(times)
	p.Seconds = time.Duration(p.End).Seconds()
	r.Course.WindowEnd = p.End
	if err := writeJSON(filepath.Join(to, record.RunFile), r); err != nil {
		return err
	}
	return record.Seal(to)
}

func repeatIntervals(from, to string, times int, length int64) error {
	var b bytes.Buffer
	z, err := zstd.NewWriter(&b)
	if err != nil {
		return err
	}
	lines := json.NewEncoder(z)
	for k := range times {
		if _, err := record.EachLine(from, func(l *record.IntervalLine) error {
			l.Start += int64(k) * length
			l.End += int64(k) * length
			return lines.Encode(l)
		}); err != nil {
			return err
		}
	}
	if err := z.Close(); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(to, record.IntervalsFile), b.Bytes(), 0o644)
}

func repeatLog(from, to string, times int) error {
	b, err := os.ReadFile(filepath.Join(from, record.LatencyFile))
	if err != nil {
		return err
	}
	body := bytes.Index(b, []byte("Tag="))
	f, err := os.Create(filepath.Join(to, record.LatencyFile))
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := f.Write(b[:body]); err != nil {
		return err
	}
	for range times {
		if _, err := f.Write(b[body:]); err != nil {
			return err
		}
	}
	return f.Close()
}
