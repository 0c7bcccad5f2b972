package course

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"runtime"
	"strings"
	"sync"

	"github.com/plimsoll-bench/plimsoll/internal/contain"
	"github.com/plimsoll-bench/plimsoll/internal/safeopen"
	"github.com/plimsoll-bench/plimsoll/record"
)

// merger adds up the histograms of a log. Workers have totals of their own. A bin whose lines are in several portions is
// finished at the end.
type merger struct {
	run   *record.Run
	lines []line
	bins  []Bin

	mu     sync.Mutex
	parts  map[int][]sparse // by bin
	totals map[string]*Counts
	err    error
	spare  spare
}

// sparse is the counts of a part of a bin.
type sparse struct {
	slot []int32
	n    []int64
}

// portionSize is that of portions in bytes. Of a long run it holds some bins as a whole.
const portionSize = 4 << 20

// portion is some whole lines of the log.
type portion struct {
	text []byte
	at   int // the interval that the first of them belongs to
	left int // how many histograms of it are still to come
}

// readLog fills in the bins and spectra of a course. whole is false if the log ends before the intervals do.
func readLog(dir string, r *record.Run, c *Course, lines []line) (whole bool, err error) {
	f, err := safeopen.Open(dir, record.LatencyFile)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer f.Close()
	m := &merger{run: r, lines: lines, bins: c.Bins, parts: map[int][]sparse{}, totals: map[string]*Counts{}, spare: make(spare, 4*runtime.GOMAXPROCS(0))}
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

// cut reads the log and hands it out in portions. Where the intervals are in it comes from counting lines.
func (m *merger) cut(r io.Reader, work chan<- portion) (whole bool, err error) {
	p := portion{}
	p.next(m.lines)
	_, err = cutLines(r, portionSize, m.spare, func(text []byte) {
		n := histograms(text) // now, because it is given away
		p.text = text
		work <- p
		p.pass(m.lines, n)
	})
	return p.left == 0 && p.at == len(m.lines), err
}

// next goes on to an interval that has histograms, where this one has no more.
func (p *portion) next(lines []line) {
	for p.left == 0 && p.at < len(lines) {
		if p.left = lines[p.at].logged; p.left == 0 {
			p.at++
		}
	}
}

// pass goes on by so many histograms. What comes after the last interval belongs to none.
func (p *portion) pass(lines []line, n int) {
	for n > 0 && p.left > 0 {
		k := min(n, p.left)
		n -= k
		if p.left -= k; p.left == 0 {
			p.at++
			p.next(lines)
		}
	}
}

// histograms counts the lines that are one. Others are at the beginning of a log, and rare elsewhere.
func histograms(text []byte) (n int) {
	if len(text) > 0 && isHistogram(text) && !bytes.Contains(text, []byte("\n#")) && !bytes.Contains(text, []byte("\n\"")) && !bytes.Contains(text, []byte("\n\n")) {
		return bytes.Count(text, []byte("\n"))
	}
	for line := range bytes.Lines(text) {
		if isHistogram(line) {
			n++
		}
	}
	return n
}

func isHistogram(line []byte) bool { return line[0] != '#' && line[0] != '"' && line[0] != '\n' }

// work merges portions until there are none.
func (m *merger) work(portions <-chan portion) {
	w := worker{m: m, bin: newCounts(), totals: map[string]*Counts{}, names: newReader(m.run), routes: map[string]*Counts{}}
	for p := range portions {
		err := contain.Panic("the sum of the histograms", func() error { return w.merge(p) })
		m.spare.put(p.text)
		if err != nil {
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
	routes map[string]*Counts // by tag; nil for histograms that are not shown
	shares []share
	decoder
}

// share is what one tag brought to the bin that is being merged, and the total it belongs to, nil if to none.
type share struct{ of, total *Counts }

func (w *worker) merge(p portion) (err error) {
	bin, whole := -1, false // what comes before the first bin of a portion may be in another one
	defer func() { err = errors.Join(err, w.flush(bin, false)) }()
	for text := range bytes.Lines(p.text) {
		if !isHistogram(text) {
			continue
		}
		if p.left == 0 {
			return nil
		}
		if b := w.m.lines[p.at].bin; b != bin {
			if err := w.flush(bin, whole); err != nil {
				return err
			}
			bin, whole = b, bin >= 0
		}
		if err := w.line(text); err != nil {
			return fmt.Errorf("the interval at %v: %w", w.m.lines[p.at].start, err)
		}
		p.pass(w.m.lines, 1)
	}
	return nil
}

// line merges one line: Tag=phase:class.kind,start,length,max,histogram.
func (w *worker) line(text []byte) error {
	end := bytes.IndexByte(text, ',')
	if end < 0 {
		return fmt.Errorf("%.60q is not a tagged line of a histogram log", text)
	}
	to, known := w.routes[string(text[:end])]
	if !known {
		var err error
		if to, err = w.route(string(text[:end])); err != nil {
			return err
		}
		w.routes[string(text[:end])] = to
	}
	if to == nil {
		return nil
	}
	for range 3 { // start, length and the longest time
		next := bytes.IndexByte(text[end+1:], ',')
		if next < 0 {
			return fmt.Errorf("%.60q is not a tagged line of a histogram log", text)
		}
		end += 1 + next
	}
	return w.decode(bytes.TrimRight(text[end+1:], "\r\n"), to)
}

// route finds where the lines of a tag go. Parts of operations and unknown classes are in no bin.
func (w *worker) route(tag string) (*Counts, error) {
	name, tagged := strings.CutPrefix(tag, "Tag=")
	if !tagged {
		return nil, fmt.Errorf("%.60q is not a tagged line of a histogram log", tag)
	}
	phase, class := "measure", name
	if before, after, ok := strings.Cut(name, ":"); ok {
		phase, class = before, after
	}
	dot := strings.LastIndexByte(class, '.')
	if dot < 0 {
		return nil, fmt.Errorf("%.60q is not a tag of plimsoll", name)
	}
	kind := class[dot+1:]
	part, known := w.names.parts[class[:dot]]
	var total *Counts
	if phase == "measure" && known && (kind == "response" || kind == "service") {
		if w.totals[class] == nil {
			w.totals[class] = newCounts()
		}
		total = w.totals[class]
	}
	if known && !part && (kind == w.names.kind || kind == "service" && !w.m.run.Scheduled) {
		of := newCounts()
		w.shares = append(w.shares, share{of: of, total: total})
		return of, nil
	}
	return total, nil
}

// flush adds what was merged of a bin to the totals, and keeps it, or finishes the bin if it is there as a whole.
func (w *worker) flush(bin int, whole bool) error {
	for _, x := range w.shares {
		if bin < 0 || x.of.total == 0 {
			continue
		}
		if !w.bin.merge(x.of) || x.total != nil && !x.total.merge(x.of) {
			return errEncoding
		}
		x.of.reset()
	}
	if bin < 0 || w.bin.total == 0 {
		return nil
	}
	defer w.bin.reset()
	if whole {
		w.m.bins[bin].finish(w.bin)
		return nil
	}
	var s sparse
	for i := w.bin.low; i < w.bin.high; i++ {
		if n := w.bin.n[i]; n > 0 {
			s.slot, s.n = append(s.slot, int32(i)), append(s.n, n)
		}
	}
	w.m.mu.Lock()
	defer w.m.mu.Unlock()
	w.m.parts[bin] = append(w.m.parts[bin], s)
	return nil
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
