package course

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/plimsoll-bench/plimsoll/internal/contain"
	"github.com/plimsoll-bench/plimsoll/internal/safeopen"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
)

// line is what is kept of a line of the intervals.
type line struct {
	start, end       time.Duration
	phase            string
	tally            measure.Tally
	offered, dropped int64
	workers, samples int
	inFlight         float64
	max              int64 // the longest time of a successful operation
	logged           int   // how many histograms it has in the log
	bin              int
}

// raw is the part of [record.IntervalLine] that is needed.
type raw struct {
	Phase    string     `json:"phase"`
	Start    int64      `json:"start_ns"`
	End      int64      `json:"end_ns"`
	Classes  []rawClass `json:"classes"`
	Offered  int64      `json:"offered"`
	Dropped  int64      `json:"dropped"`
	Workers  int        `json:"workers"`
	InFlight float64    `json:"in_flight"`
	Samples  int        `json:"in_flight_samples"`
	Lateness *struct{}  `json:"lateness"`
}

type rawClass struct {
	Class    string           `json:"class"`
	Outcomes map[string]int64 `json:"outcomes"`
	Times    map[string]struct {
		Max int64 `json:"max_ns"`
	} `json:"times"`
}

// reader knows the names of a run.
type reader struct {
	dims  measure.Dims
	index map[string]int // of outcomes
	parts map[string]bool
	kind  string // of the times that are shown: "response" or "service"
}

func newReader(r *record.Run) *reader {
	d := reader{dims: r.Dims(), index: map[string]int{}, parts: map[string]bool{}, kind: "service"}
	if r.Scheduled {
		d.kind = "response"
	}
	for i, o := range d.dims.Outcomes {
		d.index[o.Name] = i
	}
	for _, c := range d.dims.Classes {
		d.parts[c.Name] = c.Part
	}
	return &d
}

func (d *reader) line(text []byte) (line, error) {
	if l, ok := d.scan(text); ok {
		return l, nil
	}
	return d.decode(text)
}

// decode reads a line in any form.
func (d *reader) decode(text []byte) (line, error) {
	var r raw
	if err := safeopen.Unmarshal(text, &r); err != nil {
		return line{}, err
	}
	l := line{
		start: time.Duration(r.Start), end: time.Duration(r.End), phase: r.Phase, offered: r.Offered, dropped: r.Dropped,
		workers: r.Workers, samples: r.Samples, inFlight: r.InFlight,
	}
	if r.Lateness != nil {
		l.logged++
	}
	counts := make([]int64, len(d.dims.Outcomes))
	for i := range r.Classes {
		c := &r.Classes[i]
		l.logged += len(c.Times)
		if d.parts[c.Class] {
			continue
		}
		clear(counts)
		for name, n := range c.Outcomes {
			if o, ok := d.index[name]; ok {
				counts[o] += n
			}
		}
		l.tally = l.tally.Add(d.dims.Tally(counts))
		l.max = max(l.max, c.Times[d.kind].Max)
		if _, ok := c.Times[d.kind]; !ok {
			l.max = max(l.max, c.Times["service"].Max)
		}
	}
	return l, nil
}

// batch is a number of whole lines, and what became of them.
type batch struct {
	text  []byte
	lines []line
	err   error
	done  chan struct{}
}

const batchSize = 1 << 18 // bytes; a line is kept in 150 bytes, and may be one of three

// readLines reads the lines of the intervals, on all processors. complete is false if the file ends early.
func readLines(dir string, r *record.Run) (lines []line, complete bool, err error) {
	f, err := safeopen.Open(dir, record.IntervalsFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	defer f.Close()
	var expansion safeopen.Expansion
	z, err := zstd.NewReader(expansion.Packed(f), zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(64<<20))
	if err != nil {
		return nil, false, damaged(record.IntervalsFile, dir, err)
	}
	defer z.Close()
	work := make(chan *batch, 2*runtime.GOMAXPROCS(0))
	order := make(chan *batch, 2*runtime.GOMAXPROCS(0))
	var workers sync.WaitGroup
	names := newReader(r)
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for b := range work {
				b.parse(names)
			}
		})
	}
	go func() {
		defer close(order)
		defer close(work)
		err = contain.Panic("the course of the run", func() (err error) {
			complete, err = cutLines(expansion.Unpacked(z), batchSize, nil, func(text []byte) {
				b := &batch{text: text, done: make(chan struct{})}
				order <- b
				work <- b
			})
			return err
		})
	}()
	var failed error
	var parts [][]line // put together once, because a list that grows takes more than twice the memory
	n := 0
	for b := range order {
		<-b.done
		if n += len(b.lines); failed == nil && n > safeopen.MaxLines {
			failed = &safeopen.LimitError{What: "the file", Most: safeopen.MaxLines, Unit: "lines"}
		}
		if failed == nil {
			parts = append(parts, b.lines)
			failed = b.err
		}
	}
	workers.Wait()
	lines = slices.Concat(parts...)
	if failed = errors.Join(failed, err); failed != nil {
		return lines, false, damaged(record.IntervalsFile, dir, failed)
	}
	return lines, complete, nil
}

func (b *batch) parse(names *reader) {
	defer close(b.done)
	b.err = contain.Panic("the course of the run", func() error {
		b.lines = make([]line, 0, bytes.Count(b.text, []byte("}\n")))
		for text := range bytes.Lines(b.text) {
			l, err := names.line(text)
			if err != nil {
				return err
			}
			b.lines = append(b.lines, l)
		}
		b.text = nil // the list outlives it
		return nil
	})
}

// spare is memory that is not needed any longer.
type spare chan []byte

// put gives memory back.
func (s spare) put(b []byte) {
	select {
	case s <- b:
	default:
	}
}

// get returns memory for a batch of a size and so much that is left of the one before.
func (s spare) get(size, rest int) []byte {
	select {
	case b := <-s:
		if cap(b) > rest+size/2 {
			return b[:0]
		}
	default:
	}
	return make([]byte, 0, size+rest)
}

// cutLines reads to the end and gives f whole lines, about so many bytes at a time, in memory that f may keep, or give
// back to the spare memory. It is not complete if the last line is not.
func cutLines(r io.Reader, size int, from spare, f func([]byte)) (complete bool, err error) {
	text := make([]byte, 0, size)
	for {
		if len(text) == cap(text) { // one line is longer
			if len(text) > safeopen.MaxLine {
				return false, &safeopen.LimitError{What: "a line", Most: safeopen.MaxLine, Unit: "bytes"}
			}
			text = append(text, 0)[:len(text)]
		}
		n, err := r.Read(text[len(text):cap(text)])
		text = text[:len(text)+n]
		if err == nil && len(text) < cap(text) {
			continue
		}
		if whole := bytes.LastIndexByte(text, '\n') + 1; whole > 0 {
			done, rest := text[:whole], text[whole:]
			text = append(from.get(size, len(rest)), rest...)
			f(done)
		}
		switch {
		case err == nil:
		case errors.Is(err, io.EOF):
			return len(text) == 0, nil
		case errors.Is(err, io.ErrUnexpectedEOF):
			return false, nil
		default:
			return false, err
		}
	}
}
