package serve

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/plimsoll-bench/plimsoll/internal/safeopen"
	"github.com/plimsoll-bench/plimsoll/internal/wait"
	"github.com/plimsoll-bench/plimsoll/record"
)

// lookEvery is how often a growing file is polled.
const lookEvery = 250 * time.Millisecond

// growing reads a file that another process appends to: at its end it waits for more until ctx ends. It reads only
// what is new.
type growing struct {
	ctx  context.Context
	file *os.File
	// idle is called after everything was read.
	idle func()
}

func (g *growing) Read(p []byte) (int, error) {
	for {
		n, err := g.file.Read(p)
		if n > 0 || err != nil && !errors.Is(err, io.EOF) {
			return n, err
		}
		g.idle()
		if wait.Sleep(g.ctx, lookEvery) != nil {
			return 0, io.ErrUnexpectedEOF
		}
	}
}

// awaitFile opens a file as soon as it is there.
func awaitFile(ctx context.Context, name string, idle func()) (*os.File, error) {
	for {
		f, err := safeopen.Open(filepath.Dir(name), filepath.Base(name))
		if err == nil || !errors.Is(err, os.ErrNotExist) {
			return f, err
		}
		idle()
		if wait.Sleep(ctx, lookEvery) != nil {
			return nil, ctx.Err()
		}
	}
}

// tailIntervals calls f with each line of the intervals of a record that is being written, and idle when there is no
// more at the moment, until ctx ends or the file cannot be read.
func tailIntervals(ctx context.Context, dir string, f func([]byte), idle func()) error {
	file, err := awaitFile(ctx, filepath.Join(dir, record.IntervalsFile), idle)
	if err != nil {
		return err
	}
	defer file.Close()
	// Without concurrency the decoder returns what it has before it reads more.
	var expansion safeopen.Expansion
	z, err := zstd.NewReader(expansion.Packed(&growing{ctx, file, idle}), zstd.WithDecoderConcurrency(1),
		zstd.WithDecoderMaxMemory(64<<20))
	if err != nil {
		return err
	}
	defer z.Close()
	return eachLine(expansion.Unpacked(z), f)
}

// tailLog does the same with the lines of the histogram log.
func tailLog(ctx context.Context, dir string, f func([]byte), idle func()) error {
	file, err := awaitFile(ctx, filepath.Join(dir, record.LatencyFile), idle)
	if err != nil {
		return err
	}
	defer file.Close()
	return eachLine(&growing{ctx, file, idle}, f)
}

func eachLine(r io.Reader, f func([]byte)) error {
	for lines := safeopen.NewLines(r); ; {
		b, err := lines.Next()
		if err != nil {
			return err
		}
		f(slices.Clone(b)) // followers keep the last line
	}
}

// newest keeps the last interval of a running run.
type newest struct {
	mu    sync.Mutex
	line  []byte
	known bool // what there was at the beginning has been read
}

// follow reads until ctx ends, and calls ready when the past has been read. Only lines are kept, the past is not even
// parsed.
func (n *newest) follow(ctx context.Context, dir string, ready func()) {
	var last []byte
	_ = tailIntervals(ctx, dir, func(b []byte) { last = b }, func() { // a file that cannot be read has no newest line
		n.mu.Lock()
		first := !n.known
		n.line, n.known = last, true
		n.mu.Unlock()
		if first {
			ready()
		}
	})
}

// interval is the last one, nil if there is none; known is false while the past is being read.
func (n *newest) interval() (line *record.IntervalLine, known bool) {
	n.mu.Lock()
	b, known := n.line, n.known
	n.mu.Unlock()
	var l record.IntervalLine
	if len(b) == 0 || safeopen.Unmarshal(b, &l) != nil {
		return nil, known
	}
	return &l, known
}

// readMain reads the main file of a record as it is, without its journal, its checksums and its other files.
func readMain[T any](dir, file string) (*T, error) {
	b, err := safeopen.ReadFile(dir, file, safeopen.MaxDocument)
	if err != nil {
		return nil, err
	}
	r := new(T)
	return r, safeopen.Unmarshal(b, r)
}
