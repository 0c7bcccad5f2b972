package course

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"

	"github.com/plimsoll-bench/plimsoll/record"
)

// merger adds up the histograms of a log. Workers have totals of their own; bins are finished at the end, because
// the lines of one may be in two batches.
type merger struct {
	run   *record.Run
	lines []line

	mu     sync.Mutex
	parts  map[int][]sparse // by bin
	totals map[string]*Counts
	err    error
}

// sparse is the counts of a part of a bin.
type sparse struct {
	slot []int32
	n    []int64
}

// portion is the lines of the log that belong to consecutive intervals.
type portion struct {
	text  []byte
	first int // interval
	last  int // behind the last interval
}

// readLog fills in the bins and spectra of a course. whole is false if the log ends before the intervals do.
func readLog(dir string, r *record.Run, c *Course, lines []line) (whole bool, err error) {
	f, err := os.Open(filepath.Join(dir, record.LatencyFile))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer f.Close()
	m := &merger{run: r, lines: lines, parts: map[int][]sparse{}, totals: map[string]*Counts{}}
	work := make(chan portion, runtime.GOMAXPROCS(0))
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() { m.work(work) })
	}
	whole, err = m.cut(f, work)
	close(work)
	workers.Wait()
	m.finish(c)
	if err = errors.Join(err, m.err); err != nil {
		return false, damaged(record.LatencyFile, dir, err)
	}
	return whole, nil
}

// cut reads the log and hands out portions of whole intervals.
func (m *merger) cut(r io.Reader, work chan<- portion) (whole bool, err error) {
	fresh := func(at int) portion {
		return portion{first: at, last: at, text: make([]byte, 0, batchSize+batchSize/8)}
	}
	p := fresh(0)
	left := 0 // histograms of interval p.last that are still to come
	advance := func() {
		for left == 0 && p.last < len(m.lines) {
			if left = m.lines[p.last].logged; left == 0 {
				p.last++
			}
		}
	}
	advance()
	_, err = cutLines(r, func(text []byte) {
		for line := range bytes.Lines(text) {
			if line[0] == '#' || line[0] == '"' || line[0] == '\n' || left == 0 {
				continue
			}
			p.text = append(p.text, line...)
			if left--; left == 0 {
				p.last++
				if len(p.text) >= batchSize {
					work <- p
					p = fresh(p.last)
				}
				advance()
			}
		}
	})
	whole = left == 0 && p.last == len(m.lines)
	if len(p.text) > 0 {
		work <- p // also of the last interval, of which a part may be missing
	}
	return whole, err
}

// work merges portions until there are none.
func (m *merger) work(portions <-chan portion) {
	w := worker{m: m, bin: newCounts(), totals: map[string]*Counts{}, names: newReader(m.run), routes: map[string]route{}}
	for p := range portions {
		if err := w.merge(p); err != nil {
			m.mu.Lock()
			if m.err == nil {
				m.err = err
			}
			m.mu.Unlock()
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for tag, c := range w.totals {
		if m.totals[tag] == nil {
			m.totals[tag] = newCounts()
		}
		m.totals[tag].merge(c)
	}
}

type worker struct {
	m      *merger
	bin    *Counts
	totals map[string]*Counts // by class.kind, of the measured phase
	names  *reader
	routes map[string]route // by tag
	to     [2]*Counts
	decoder
}

func (w *worker) merge(p portion) error {
	at, left := p.first, 0
	bin := -1
	defer func() { w.flush(bin) }()
	for text := range bytes.Lines(p.text) {
		for left == 0 && at < len(w.m.lines) {
			if left = w.m.lines[at].logged; left == 0 {
				at++
			}
		}
		if at == len(w.m.lines) {
			return nil
		}
		if b := w.m.lines[at].bin; b != bin {
			w.flush(bin)
			bin = b
		}
		if err := w.line(text); err != nil {
			return fmt.Errorf("the interval at %v: %w", w.m.lines[at].start, err)
		}
		if left--; left == 0 {
			at++
		}
	}
	return nil
}

// route says to what the histograms of a tag are added, and whether to the bin as well.
type route struct {
	total *Counts
	bin   bool
}

// line merges one line: Tag=phase:class.kind,start,length,max,histogram.
func (w *worker) line(text []byte) error {
	tag, rest, _ := bytes.Cut(text, []byte(","))
	way, known := w.routes[string(tag)]
	if !known {
		var err error
		if way, err = w.route(string(tag)); err != nil {
			return err
		}
		w.routes[string(tag)] = way
	}
	comma := bytes.LastIndexByte(rest, ',')
	if comma < 0 {
		return fmt.Errorf("%.60q is not a tagged line of a histogram log", text)
	}
	to := w.to[:0]
	if way.bin {
		to = append(to, w.bin)
	}
	if way.total != nil {
		to = append(to, way.total)
	}
	if len(to) == 0 {
		return nil
	}
	return w.decode(bytes.TrimRight(rest[comma+1:], "\r\n"), to...)
}

// route finds where the lines of a tag go. Parts of operations and unknown classes are in no bin.
func (w *worker) route(tag string) (route, error) {
	name, tagged := strings.CutPrefix(tag, "Tag=")
	if !tagged {
		return route{}, fmt.Errorf("%.60q is not a tagged line of a histogram log", tag)
	}
	phase, class := "measure", name
	if before, after, ok := strings.Cut(name, ":"); ok {
		phase, class = before, after
	}
	dot := strings.LastIndexByte(class, '.')
	if dot < 0 {
		return route{}, fmt.Errorf("%.60q is not a tag of plimsoll", name)
	}
	kind := class[dot+1:]
	part, known := w.names.parts[class[:dot]]
	r := route{bin: known && !part && (kind == w.names.kind || kind == "service" && !w.m.run.Scheduled)}
	if phase == "measure" && known && (kind == "response" || kind == "service") {
		if w.totals[class] == nil {
			w.totals[class] = newCounts()
		}
		r.total = w.totals[class]
	}
	return r, nil
}

// flush keeps what was merged of a bin.
func (w *worker) flush(bin int) {
	if bin < 0 || w.bin.total == 0 {
		return
	}
	var s sparse
	for i := w.bin.low; i < w.bin.high; i++ {
		if n := w.bin.n[i]; n > 0 {
			s.slot, s.n = append(s.slot, int32(i)), append(s.n, n)
		}
	}
	w.bin.reset()
	w.m.mu.Lock()
	defer w.m.mu.Unlock()
	w.m.parts[bin] = append(w.m.parts[bin], s)
}

// finish puts the parts together.
func (m *merger) finish(c *Course) {
	whole := newCounts()
	for bin, parts := range m.parts {
		whole.reset()
		for _, s := range parts {
			for i, slot := range s.slot {
				whole.add(int(slot), s.n[i])
			}
		}
		c.Bins[bin].finish(whole)
	}
	for _, class := range m.run.Classes {
		s := Spectrum{Class: class.Name, Part: class.Part, Service: m.totals[class.Name+".service"]}
		if m.run.Scheduled {
			s.Response = m.totals[class.Name+".response"]
		}
		if s.Service.Total() > 0 || s.Response.Total() > 0 {
			c.Spectra = append(c.Spectra, s)
		}
	}
}
