package serve

import (
	"bytes"
	"context"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/plimsoll-bench/plimsoll/internal/contain"
	"github.com/plimsoll-bench/plimsoll/internal/safeopen"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/report"
)

// Bounds of what Prometheus gets: each run and each class is a series of its own.
const (
	maxMetered = 20
	maxClasses = 32
	// forgetAfter is after how long without a scrape a run is no longer read.
	forgetAfter = 5 * time.Minute
	// catchUp is the longest time that the first scrape of a run waits until its past is read.
	catchUp = 5 * time.Second
)

// bounds are the upper ends of the buckets of response times, in seconds.
var bounds = []float64{100e-6, 250e-6, 500e-6, 1e-3, 2.5e-3, 5e-3, 10e-3, 25e-3, 50e-3, 100e-3, 250e-3, 500e-3, 1, 2.5,
	5, 10}

var (
	operationsDesc = prometheus.NewDesc("plimsoll_operations_total", "Operations that ended, by what became of them.", []string{"run", "phase", "class", "outcome"}, nil)
	offeredDesc    = prometheus.NewDesc("plimsoll_offered_total", "Operations that were due.", []string{"run", "phase"}, nil)
	droppedDesc    = prometheus.NewDesc("plimsoll_dropped_total", "Operations that were dropped because they could not be sent in time.", []string{"run", "phase"}, nil)
	workersDesc    = prometheus.NewDesc("plimsoll_workers", "Workers of the load.", []string{"run"}, nil)
	inFlightDesc   = prometheus.NewDesc("plimsoll_in_flight", "Mean number of operations in flight in the last interval.", []string{"run"}, nil)
	responseDesc   = prometheus.NewDesc("plimsoll_response_seconds", "Time of successful operations of the measured phase from when they were due; without a schedule, from sending.", []string{"run", "class"}, nil)
)

// meters collects the metrics of running runs from their records. The counters include the time before the first
// scrape.
type meters struct {
	s        *Server
	registry *prometheus.Registry

	mu   sync.Mutex
	runs map[string]*meter // by id
}

func newMeters(s *Server) *meters {
	m := &meters{s: s, registry: prometheus.NewRegistry(), runs: map[string]*meter{}}
	m.registry.MustRegister(m)
	return m
}

func (m *meters) handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{MaxRequestsInFlight: 2})
}

func (m *meters) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{operationsDesc, offeredDesc, droppedDesc, workersDesc, inFlightDesc,
		responseDesc} {
		ch <- d
	}
}

func (m *meters) Collect(ch chan<- prometheus.Metric) {
	deadline := time.After(catchUp)
	for _, x := range m.current() {
		select {
		case <-x.ready:
		case <-deadline: // what is read by now is less than it was, but never wrong
		}
		x.collect(ch)
	}
}

func (m *meters) current() []*meter {
	m.mu.Lock()
	defer m.mu.Unlock()
	var list []*meter
	live := map[string]bool{}
	for _, e := range m.s.library.list() {
		if !e.Live || !report.Follows(e.Kind) || len(list) == maxMetered {
			continue
		}
		x := m.runs[e.ID]
		if x == nil || x.ctx.Err() != nil {
			_, dir, ok := m.s.library.find(e.ID)
			head, err := readMain[record.Run](dir, record.RunFile)
			if !ok || err != nil || len(head.Classes) == 0 { // it has not begun yet
				continue
			}
			x = newMeter(m.s.ctx, e.Path, dir, head)
			m.runs[e.ID] = x
		}
		x.touch()
		live[e.ID] = true
		list = append(list, x)
	}
	for id, x := range m.runs {
		if !live[id] {
			x.cancel()
			delete(m.runs, id)
		}
	}
	return list
}

// meter adds up one run.
type meter struct {
	name   string
	head   *record.Run
	ctx    context.Context
	cancel context.CancelFunc
	ready  chan struct{} // closed when the past has been read

	mu         sync.Mutex
	asked      time.Time
	operations map[[3]string]int64 // phase, class, outcome
	phases     map[string]*phaseSum
	workers    int
	inFlight   float64
	times      map[string]*measure.Histogram // by class
}

type phaseSum struct{ offered, dropped int64 }

func newMeter(ctx context.Context, name, dir string, head *record.Run) *meter {
	m := &meter{name: name, head: head, ready: make(chan struct{}), operations: map[[3]string]int64{},
		phases: map[string]*phaseSum{}, times: map[string]*measure.Histogram{}}
	m.ctx, m.cancel = context.WithCancel(ctx)
	var both sync.WaitGroup
	both.Add(2)
	go func() { both.Wait(); close(m.ready) }()
	// What a file that cannot be read would have said is missing; the report says why.
	go func() {
		defer m.cancel()
		once := sync.OnceFunc(both.Done)
		defer once()
		_ = contain.Panic("the metrics", func() error {
			return tailIntervals(m.ctx, dir, m.interval, func() { once(); m.rest() })
		})
	}()
	go func() {
		once := sync.OnceFunc(both.Done)
		defer once()
		_ = contain.Panic("the metrics", func() error { return tailLog(m.ctx, dir, m.histogram, once) })
	}()
	return m
}

func (m *meter) touch() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.asked = time.Now()
}

// rest ends the meter when it was not scraped for long.
func (m *meter) rest() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.asked.IsZero() && time.Since(m.asked) > forgetAfter {
		m.cancel()
	}
}

func (m *meter) interval(b []byte) {
	var l record.IntervalLine
	if safeopen.Unmarshal(b, &l) != nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.workers, m.inFlight = l.Workers, l.InFlight
	p := m.phases[l.Phase]
	if p == nil {
		p = &phaseSum{}
		m.phases[l.Phase] = p
	}
	p.offered += l.Offered
	p.dropped += l.Dropped
	for _, c := range l.Classes {
		if !m.counts(c.Class) {
			continue
		}
		for outcome, n := range c.Outcomes {
			m.operations[[3]string{l.Phase, c.Class, outcome}] += n
		}
	}
}

// counts says whether a class is one of operations, and among those that are shown.
func (m *meter) counts(class string) bool {
	i := slices.IndexFunc(m.head.Classes, func(c measure.Class) bool { return c.Name == class })
	return i >= 0 && i < maxClasses && !m.head.Classes[i].Part
}

// histogram adds a line of the histogram log: Tag=class.kind,start,length,max,payload. Those of other phases than
// the measured one have the phase in front, and are no class.
func (m *meter) histogram(b []byte) {
	rest, ok := bytes.CutPrefix(b, []byte("Tag="))
	if !ok {
		return
	}
	fields := strings.Split(strings.TrimSpace(string(rest)), ",")
	class, ok := strings.CutSuffix(fields[0], "."+report.TimeKind(m.head))
	if !ok || len(fields) != 5 || !m.counts(class) {
		return
	}
	h, err := measure.Decode(fields[4])
	if err != nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.times[class] == nil {
		m.times[class] = measure.NewHistogram()
	}
	_ = m.times[class].Merge(h) // both have the range of all histograms of this program
}

func (m *meter) collect(ch chan<- prometheus.Metric) {
	m.mu.Lock()
	defer m.mu.Unlock()
	number := func(d *prometheus.Desc, kind prometheus.ValueType, v float64, labels ...string) {
		for i := range labels {
			labels[i] = strings.ToValidUTF8(labels[i], "�")
		}
		if x, err := prometheus.NewConstMetric(d, kind, v, labels...); err == nil {
			ch <- x
		}
	}
	for k, n := range m.operations {
		number(operationsDesc, prometheus.CounterValue, float64(n), m.name, k[0], k[1], k[2])
	}
	for phase, p := range m.phases {
		number(offeredDesc, prometheus.CounterValue, float64(p.offered), m.name, phase)
		number(droppedDesc, prometheus.CounterValue, float64(p.dropped), m.name, phase)
	}
	number(workersDesc, prometheus.GaugeValue, float64(m.workers), m.name)
	number(inFlightDesc, prometheus.GaugeValue, m.inFlight, m.name)
	for class, h := range m.times {
		sum := time.Duration(h.Sum()).Seconds()
		if x, err := prometheus.NewConstHistogram(responseDesc, uint64(h.Count()), sum, cumulative(h), m.name,
			class); err == nil {
			ch <- x
		}
	}
}

// cumulative counts the values up to each bound. A value within a step of the histogram counts with the step's lower
// end, 0.1 % away from it at most.
func cumulative(h *measure.Histogram) map[float64]uint64 {
	out := make(map[float64]uint64, len(bounds))
	for _, b := range bounds {
		out[b] = uint64(h.Count() - h.CountAbove(int64(b*1e9)))
	}
	return out
}
