package record

import (
	"bytes"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/safeopen"
	"github.com/plimsoll-bench/plimsoll/measure"
)

// IntervalLine is one line of intervals.ndjson.zst: what happened between Start and End.
type IntervalLine struct {
	Phase string `json:"phase"`
	// Start and End are nanoseconds since the start of the run.
	Start    int64                  `json:"start_ns"`
	End      int64                  `json:"end_ns"`
	Classes  []IntervalClass        `json:"classes,omitempty"`
	Failures []measure.FailureCount `json:"failures,omitempty"`
	Offered  int64                  `json:"offered,omitempty"`
	Dropped  int64                  `json:"dropped,omitempty"`
	Workers  int                    `json:"workers"`
	InFlight float64                `json:"in_flight"`
	// Samples is how often InFlight was sampled.
	Samples  int              `json:"in_flight_samples"`
	Lateness *IntervalLatency `json:"lateness,omitempty"`
	// Noticed and Bare are service times until the worker continued, and without the delays of the client.
	Noticed *IntervalLatency  `json:"noticed,omitempty"`
	Bare    *IntervalLatency  `json:"bare,omitempty"`
	Client  measure.ClientUse `json:"client"`
}

// IntervalClass is an operation class in an interval. Classes of which nothing ended are left out.
type IntervalClass struct {
	Class    string           `json:"class"`
	Outcomes map[string]int64 `json:"outcomes"`
	Docs     int64            `json:"documents,omitempty"`
	Bytes    int64            `json:"bytes,omitempty"`
	Attempts int64            `json:"attempts,omitempty"`
	Retries  int64            `json:"retries,omitempty"`
	// Times are the latencies by kind: service, response, wait, failed, pool-wait.
	Times map[string]IntervalLatency `json:"times,omitempty"`
}

// IntervalLatency sums up the latencies of an interval. The whole distribution is in latency.hlog. Percentiles of
// response and service are of all operations of the class that ended in the interval, -1 if more did not succeed than
// lie above it ([NoAnswer]).
type IntervalLatency struct {
	Count int64 `json:"count"`
	measure.Exact
	P50  int64 `json:"p50_ns"`
	P99  int64 `json:"p99_ns"`
	P999 int64 `json:"p99_9_ns"`
}

func newIntervalLatency(d measure.Due) *IntervalLatency {
	h := d.Answered
	if h.Count() == 0 {
		return nil
	}
	quantile := func(q float64) int64 {
		if ns, answered := d.Value(q); answered {
			return ns
		}
		return NoAnswer
	}
	return &IntervalLatency{
		Count: h.Count(), Exact: h.Exact(), P50: quantile(0.5), P99: quantile(0.99), P999: quantile(0.999),
	}
}

func newIntervalLine(d measure.Dims, iv *measure.Interval) IntervalLine {
	line := IntervalLine{
		Phase: iv.Phase, Start: int64(iv.Start), End: int64(iv.End), Failures: iv.Failures, Offered: iv.Offered,
		Dropped: iv.Dropped, Workers: iv.Workers, InFlight: iv.InFlight, Samples: iv.Samples,
		Client: iv.Client,
	}
	for _, h := range ofClient(iv, &line) {
		*h.line = newIntervalLatency(measure.Due{Answered: *h.at})
	}
	for i := range iv.Classes {
		if c := newIntervalClass(d, i, &iv.Classes[i]); len(c.Outcomes) > 0 {
			line.Classes = append(line.Classes, c)
		}
	}
	return line
}

func newIntervalClass(d measure.Dims, i int, ci *measure.ClassInterval) IntervalClass {
	c := IntervalClass{
		Class: d.Classes[i].Name, Outcomes: map[string]int64{}, Docs: ci.Docs, Bytes: ci.Bytes, Attempts: ci.Attempts,
		Retries: ci.Retries,
		Times:   map[string]IntervalLatency{},
	}
	for o, n := range ci.Counts {
		if n > 0 {
			c.Outcomes[d.Outcomes[o].Name] = n
		}
	}
	for _, kind := range measure.Kinds() {
		due := measure.Due{Answered: *ci.Histogram(kind)}
		if kind == "response" || kind == "service" {
			due.Lost = d.Tally(ci.Counts).Bad()
		}
		if l := newIntervalLatency(due); l != nil {
			c.Times[kind] = *l
		}
	}
	return c
}

// ofClient lists the histograms of the client, which are logged like a class of their own, with their lines.
func ofClient(iv *measure.Interval, l *IntervalLine) []clientHistogram {
	return []clientHistogram{
		{"client.lateness", &iv.Lateness, &l.Lateness}, {"client.noticed", &iv.Noticed, &l.Noticed},
		{"client.bare", &iv.Bare, &l.Bare},
	}
}

type clientHistogram struct {
	name string
	at   **measure.Histogram
	line **IntervalLatency
}

// tag names a histogram of an interval in the log: class.kind, with the phase in front unless it is the
// measured one, so that tools which merge by tag get the measured result.
func tag(phase, name string) string {
	if phase = whole(phase); phase == phaseMeasure {
		return name
	}
	return phase + ":" + name
}

// tagged is a histogram of an interval and its tag.
type tagged struct {
	tag string
	at  **measure.Histogram
}

// histograms lists the histograms of an interval in the order of the log. want selects those of classes with values, by
// class index and kind, and ofUse those of the client.
func histograms(d measure.Dims, iv *measure.Interval, l *IntervalLine, want func(class int, kind string) bool,
	ofUse func(h clientHistogram) bool) []tagged {
	var list []tagged
	for i := range iv.Classes {
		for _, kind := range measure.Kinds() {
			if want(i, kind) {
				list = append(list, tagged{tag(iv.Phase, d.Classes[i].Name+"."+kind), iv.Classes[i].Histogram(kind)})
			}
		}
	}
	for _, h := range ofClient(iv, l) {
		if ofUse(h) {
			list = append(list, tagged{tag(iv.Phase, h.name), h.at})
		}
	}
	return list
}

// used lists the histograms of an interval that have values.
func used(d measure.Dims, iv *measure.Interval) []tagged {
	return histograms(d, iv, &IntervalLine{}, func(class int, kind string) bool {
		return (*iv.Classes[class].Histogram(kind)).Count() > 0
	}, func(h clientHistogram) bool { return (*h.at).Count() > 0 })
}

// interval turns a line back into an interval; histogram returns the histogram that follows in the log.
func (l *IntervalLine) interval(d measure.Dims,
	histogram func(tag string) (*measure.Histogram, error)) (*measure.Interval, error) {
	iv := &measure.Interval{
		Phase: l.Phase, Start: time.Duration(l.Start), End: time.Duration(l.End), Failures: l.Failures, Offered: l.Offered,
		Dropped: l.Dropped, Workers: l.Workers, InFlight: l.InFlight, Samples: l.Samples, Client: l.Client,
		Classes: measure.NewSummary(d, l.Phase).Classes,
	}
	lines, err := l.byClass(d)
	if err != nil {
		return nil, err
	}
	for i, c := range lines {
		if err := c.counts(d, &iv.Classes[i]); err != nil {
			return nil, err
		}
	}
	all := histograms(d, iv, l, func(class int, kind string) bool {
		_, ok := lines[class].Times[kind]
		return ok
	}, func(h clientHistogram) bool { return *h.line != nil })
	for _, t := range all {
		h, err := histogram(t.tag)
		if err != nil {
			return nil, err
		}
		if err := l.restore(t.tag, h); err != nil {
			return nil, fmt.Errorf("latency.hlog does not fit the intervals at %v: %w", iv.Start, err)
		}
		*t.at = h
	}
	return iv, nil
}

// PackedInterval is an interval as it travels between processes: the line that a record has of it, and the histograms
// that a record has in its log, in the same order.
type PackedInterval struct {
	IntervalLine
	Histograms [][]byte `json:"histograms,omitempty"`
}

// Pack makes an interval ready to travel.
func Pack(d measure.Dims, iv *measure.Interval) *PackedInterval {
	p := &PackedInterval{IntervalLine: newIntervalLine(d, iv)}
	for _, t := range used(d, iv) {
		p.Histograms = append(p.Histograms, (*t.at).AppendBuckets(nil))
	}
	return p
}

// Unpack makes it an interval again. What does not fit together, or not the dimensions, is an error.
func (p *PackedInterval) Unpack(d measure.Dims) (*measure.Interval, error) {
	rest := p.Histograms
	iv, err := p.interval(d, func(tag string) (*measure.Histogram, error) {
		if len(rest) == 0 {
			return nil, fmt.Errorf("the interval at %v has no histogram %s", time.Duration(p.Start), tag)
		}
		buckets := rest[0]
		rest = rest[1:]
		return measure.DecodeBuckets(buckets)
	})
	if err == nil && len(rest) > 0 {
		err = fmt.Errorf("the interval at %v has %d histograms too many", time.Duration(p.Start), len(rest))
	}
	return iv, err
}

// byClass returns the lines of the classes indexed like the dimensions.
func (l *IntervalLine) byClass(d measure.Dims) ([]IntervalClass, error) {
	lines := make([]IntervalClass, len(d.Classes))
next:
	for _, c := range l.Classes {
		for i := range d.Classes {
			if d.Classes[i].Name == c.Class {
				lines[i] = c
				continue next
			}
		}
		return nil, fmt.Errorf("the interval at %v has an operation class %q that run.json does not know", time.Duration(l.Start), c.Class)
	}
	return lines, nil
}

func (c *IntervalClass) counts(d measure.Dims, to *measure.ClassInterval) error {
	to.Docs, to.Bytes, to.Attempts, to.Retries = c.Docs, c.Bytes, c.Attempts, c.Retries
	known := 0
	for i, o := range d.Outcomes {
		if n, ok := c.Outcomes[o.Name]; ok {
			to.Counts[i] = n
			known++
		}
	}
	if known != len(c.Outcomes) {
		return fmt.Errorf("class %s has an outcome that run.json does not know", c.Class)
	}
	return nil
}

// restore gives a histogram of the log its exact figures, and checks that it is the right one.
func (l *IntervalLine) restore(name string, h *measure.Histogram) error {
	exact, ok := l.exact(strings.TrimPrefix(name, tag(l.Phase, "")))
	if !ok {
		return fmt.Errorf("tag %s is not expected", name)
	}
	if h.Count() != exact.Count {
		return fmt.Errorf("tag %s has %d values, not %d", name, h.Count(), exact.Count)
	}
	return h.Restore(exact.Exact)
}

func (l *IntervalLine) exact(name string) (IntervalLatency, bool) {
	for _, h := range ofClient(&measure.Interval{}, l) {
		if name == h.name && *h.line != nil {
			return **h.line, true
		}
	}
	for _, c := range l.Classes {
		if kind, ok := strings.CutPrefix(name, c.Class+"."); ok {
			if t, ok := c.Times[kind]; ok {
				return t, true
			}
		}
	}
	return IntervalLatency{}, false
}

// logLine is one line of an HdrHistogram log.
type logLine struct {
	tag     string
	payload string
}

// nextLogLine reads the next histogram of a log; io.EOF at its end, [safeopen.ErrTorn] if the last line is not
// whole.
func nextLogLine(r *safeopen.Lines) (logLine, error) {
	for {
		b, err := r.Next()
		if err != nil {
			return logLine{}, err
		}
		b = bytes.TrimRight(b, "\r\n")
		if len(b) == 0 || b[0] == '#' || b[0] == '"' {
			continue
		}
		return parseLogLine(string(b))
	}
}

func parseLogLine(s string) (logLine, error) {
	fields := strings.Split(s, ",")
	if len(fields) != 5 || !strings.HasPrefix(fields[0], "Tag=") {
		return logLine{}, fmt.Errorf("%.60q is not a tagged line of a histogram log", s)
	}
	for _, f := range fields[1:4] {
		if x, err := strconv.ParseFloat(f, 64); err != nil || math.IsNaN(x) {
			return logLine{}, fmt.Errorf("%.20q is not a number in a histogram log", f)
		}
	}
	return logLine{tag: strings.TrimPrefix(fields[0], "Tag="), payload: fields[4]}, nil
}
