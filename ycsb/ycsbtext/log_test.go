package ycsbtext

import (
	"bytes"
	"testing"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// logFile is a file in memory that knows whether it was closed.
type logFile struct {
	bytes.Buffer
	closed bool
}

func (f *logFile) Close() error {
	f.closed = true
	return nil
}

// readLog returns count and maximum of every histogram in a log.
func readLog(t *testing.T, b *bytes.Buffer) (counts, maxima []int64) {
	t.Helper()
	r := hdrhistogram.NewHistogramLogReader(b)
	for {
		h, err := r.NextIntervalHistogram()
		if err != nil {
			t.Fatal(err)
		}
		if h == nil {
			return counts, maxima
		}
		counts = append(counts, h.TotalCount())
		maxima = append(maxima, h.Max())
	}
}
