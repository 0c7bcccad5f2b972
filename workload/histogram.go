package workload

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
)

// Histogram is a distribution of field lengths: bucket i stands for the length (i+1)·BlockSize.
type Histogram struct {
	BlockSize int64
	Buckets   []int64
	area      int64
}

// parseHistogram reads the file format of YCSB's fieldlengthhistogram: a first line
// "BlockSize<tab>bytes", then lines "bucket<tab>count".
func parseHistogram(r io.Reader) (*Histogram, error) {
	h := &Histogram{}
	in := bufio.NewScanner(r)
	for line := 1; in.Scan(); line++ {
		if err := h.add(line, in.Text()); err != nil {
			return nil, fmt.Errorf("field length histogram, line %d: %w", line, err)
		}
	}
	if err := in.Err(); err != nil {
		return nil, fmt.Errorf("field length histogram: %w", err)
	}
	return h, h.check()
}

// add adds a line. A specification of somebody else may name any file, so errors do not repeat its content.
func (h *Histogram) add(line int, text string) error {
	first, second, ok := strings.Cut(text, "\t")
	if !ok {
		return errors.New("it is not two columns separated by a tab")
	}
	second, _, _ = strings.Cut(second, "\t")
	value, err := strconv.ParseInt(second, 10, 32)
	if err != nil || value < 0 {
		return errors.New("the second column is not a whole number of at least 0")
	}
	if line == 1 {
		if first != "BlockSize" {
			return errors.New("it must be BlockSize and a number")
		}
		h.BlockSize = value
		return nil
	}
	at, err := strconv.ParseInt(first, 10, 32)
	if err != nil || at < 0 || at > int64(len(h.Buckets)) {
		return errors.New("buckets must be numbered 0, 1, 2, … in order")
	}
	// As in YCSB, a bucket given again moves the later ones on.
	h.Buckets = append(h.Buckets, 0)
	copy(h.Buckets[at+1:], h.Buckets[at:])
	h.Buckets[at] = value
	return nil
}

func (h *Histogram) check() error {
	h.area = 0
	for _, b := range h.Buckets {
		h.area += b
	}
	switch {
	case h.area < 1:
		return fmt.Errorf("field length histogram: no bucket has a count above 0")
	case h.area > math.MaxInt32:
		return fmt.Errorf("field length histogram: the counts add up to %d, more than %d", h.area, math.MaxInt32)
	}
	return nil
}

// longest returns the greatest length that can be drawn.
func (h *Histogram) longest() int64 { return int64(len(h.Buckets)) * h.BlockSize }

// next draws a length. Like YCSB it lets a draw on the border between two buckets fall into the lower
// one, and gives the last bucket the length of the one before it.
func (h *Histogram) next(r *random) int64 {
	number := r.below(h.area)
	last := len(h.Buckets) - 1
	for i := range last {
		number -= h.Buckets[i]
		if number <= 0 {
			return int64(i+1) * h.BlockSize
		}
	}
	return int64(last) * h.BlockSize
}
