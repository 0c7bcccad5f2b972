package ycsbtext

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

// IntendedPrefix is the prefix of series that count from the intended start, if both kinds are measured.
const IntendedPrefix = "Intended-"

// Measurements are all series of one run. A series begins with its first value or status. Measurements are safe for
// concurrent use, but too slow for the hot path.
type Measurements struct {
	opts Options

	mu       sync.Mutex
	op       table
	intended table
	err      error // the first failure to open or write a histogram log
}

// table has series by the name of their operation.
type table struct {
	names   []string // by their first values
	entries map[string]*entry
}

type entry struct {
	name     string // as printed
	series   series
	statuses []statusCount
}

// New makes measurements without series. Options that are not set have YCSB's defaults.
func New(opts Options) *Measurements {
	opts.EnsureDefaults()
	return &Measurements{
		opts:     opts,
		op:       table{entries: map[string]*entry{}},
		intended: table{entries: map[string]*entry{}},
	}
}

// Record adds n latencies of us microseconds, counted from the actual send. at is their end since the start of the run.
// With measurement.interval=intended they are dropped, like in YCSB.
func (m *Measurements) Record(op string, at time.Duration, us, n int64) {
	if m.opts.Interval == Intended {
		return
	}
	m.record(&m.op, op, op, at, us, n)
}

// RecordIntended adds n latencies of us microseconds, counted from the intended send. With measurement.interval=op they
// are dropped.
func (m *Measurements) RecordIntended(op string, at time.Duration, us, n int64) {
	switch m.opts.Interval {
	case Intended:
		m.record(&m.intended, op, op, at, us, n)
	case Both:
		m.record(&m.intended, op, IntendedPrefix+op, at, us, n)
	case Op:
	}
}

func (m *Measurements) record(t *table, op, shown string, at time.Duration, us, n int64) {
	if n < 1 {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if e := m.entry(t, op, shown); e != nil {
		e.series.record(at, us, n)
	}
}

// Status counts n returns of a status by an operation. They are printed with the series of the operation, even if it
// has no values.
func (m *Measurements) Status(op, status string, n int64) {
	if n < 1 {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	t := &m.op
	if m.opts.Interval == Intended {
		t = &m.intended
	}
	e := m.entry(t, op, op)
	if e == nil {
		return
	}
	for i := range e.statuses {
		if e.statuses[i].name == status {
			e.statuses[i].n += n
			return
		}
	}
	e.statuses = append(e.statuses, statusCount{status, n})
	sortStatuses(e.statuses)
}

// entry finds or makes a series. If it returns nil, m.err has the reason.
func (m *Measurements) entry(t *table, op, shown string) *entry {
	if e := t.entries[op]; e != nil {
		return e
	}
	s, err := m.newSeries(shown)
	if err != nil {
		m.fail(err)
		return nil
	}
	e := &entry{name: shown, series: s}
	t.entries[op] = e
	t.names = append(t.names, op)
	return e
}

func (m *Measurements) fail(err error) {
	if m.err == nil && err != nil {
		m.err = err
	}
}

func (m *Measurements) newSeries(name string) (series, error) {
	switch m.opts.Type {
	case HDR:
		return newHDRSeries(name, &m.opts)
	case Buckets:
		return newBucketSeries(name, &m.opts), nil
	case HDRAndBuckets:
		return m.newPair(name, "Bucket", newBucketSeries("Bucket"+name, &m.opts))
	case HDRAndRaw:
		return m.newPair(name, "Raw", &rawSeries{name: "Raw" + name, opts: &m.opts})
	case TimeSeries:
		return newTimeSeries(name, &m.opts), nil
	case Raw:
		return &rawSeries{name: name, opts: &m.opts}, nil
	case firstTypeBeyond:
	}
	return nil, fmt.Errorf("unknown measurement type %d", m.opts.Type)
}

// pair records values in two series. Statuses are printed with the first one only.
type pair struct {
	base, prefix string // name of the operation, and the prefix of the second series
	first        *hdrSeries
	second       series
}

func (m *Measurements) newPair(name, prefix string, second series) (series, error) {
	first, err := newHDRSeries("Hdr"+name, &m.opts)
	if err != nil {
		return nil, err
	}
	return &pair{base: name, prefix: prefix, first: first, second: second}, nil
}

func (p *pair) record(at time.Duration, us, n int64) {
	p.first.record(at, us, n)
	p.second.record(at, us, n)
}

func (p *pair) summary(at time.Duration) (string, error) {
	a, err := p.first.summary(at)
	if err != nil {
		return a, err
	}
	b, err := p.second.summary(at)
	return a + "\n" + b, err
}

func (p *pair) close(at time.Duration) error { return p.first.close(at) }

func (p *pair) export(l *lines, returns []statusCount) {
	l.name = "Hdr" + p.base
	p.first.export(l, returns)
	l.name = p.prefix + p.base
	p.second.export(l, nil)
}

// all visits the series in the order in which YCSB prints them.
func (m *Measurements) all(visit func(*entry)) {
	for _, t := range []*table{&m.op, &m.intended} {
		names := slices.Clone(t.names)
		hashOrder(names)
		for _, name := range names {
			visit(t.entries[name])
		}
	}
}

// Summary returns the text of a status line about the time since the last call: the summary of each series, followed by
// a space. at is the time since the start of the run.
func (m *Measurements) Summary(at time.Duration) (string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var b strings.Builder
	m.all(func(e *entry) {
		s, err := e.series.summary(at)
		m.fail(err)
		b.WriteString(s)
		b.WriteByte(' ')
	})
	return b.String(), m.err
}

// Export ends all series at a time since the start and writes their lines. Call it once.
func (m *Measurements) Export(to Exporter, at time.Duration) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.all(func(e *entry) {
		if c, ok := e.series.(interface{ close(time.Duration) error }); ok {
			m.fail(c.close(at))
		}
		l := lines{to: to, name: e.name}
		e.series.export(&l, e.statuses)
		m.fail(l.err)
	})
	return m.err
}
