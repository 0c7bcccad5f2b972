package ycsb

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/plimsoll-bench/plimsoll/load"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/ycsb/ycsbtext"
)

// sink makes YCSB's measurements and status lines from the closed intervals of a run.
type sink struct {
	settings  *settings
	dims      measure.Dims
	m         *ycsbtext.Measurements
	collector *ycsbtext.Collector
	probes    *probes
	status    *ycsbtext.Status
	lines     []io.Writer // for status lines
	notes     func(string, ...any)
	record    *recorder // nil for none
	start     time.Time
	nextLine  time.Duration

	total    measure.Tally
	failures map[measure.Failure]*measure.FailureCount
}

func newSink(s *settings, dims measure.Dims, m *ycsbtext.Measurements, probes *probes, start time.Time) *sink {
	k := &sink{
		settings: s, dims: dims, m: m, probes: probes, start: start, nextLine: s.statusEvery,
		collector: ycsbtext.NewCollector(m, dims, s.tracked),
		status:    ycsbtext.NewStatus(s.label, s.operations),
		failures:  map[measure.Failure]*measure.FailureCount{},
	}
	k.collector.FailuresApart()
	if s.text.Type.NeedsPoints() {
		k.collector.LatenciesApart()
	}
	return k
}

func (k *sink) Interval(iv *measure.Interval) error {
	if err := k.record.Interval(iv); err != nil {
		return err
	}
	k.collector.Interval(iv)
	k.probes.drain(k.m, iv.End)
	k.tally(iv)
	if k.settings.status && iv.End >= k.nextLine {
		k.nextLine = iv.End - iv.End%k.settings.statusEvery + k.settings.statusEvery
		return k.line(iv.End)
	}
	return nil
}

// Event prints the events that matter during the run.
func (k *sink) Event(e measure.Event) error {
	switch e.Kind {
	case load.EventFailing, load.EventRecovered, load.EventBackoff, load.EventBackoffEnd, load.EventAbandoned:
		k.notes("%.1f sec: %s: %s", e.At.Seconds(), e.Kind, e.Text)
	}
	return k.record.Event(e)
}

func (k *sink) tally(iv *measure.Interval) {
	k.total = k.total.Add(iv.Tally(k.dims))
	for _, f := range iv.Failures {
		if had := k.failures[f.Failure]; had != nil {
			had.Count += f.Count
			had.Last = max(had.Last, f.Last)
			continue
		}
		k.failures[f.Failure] = &f
	}
}

// line prints one status line.
func (k *sink) line(at time.Duration) error {
	summary, err := k.m.Summary(at)
	if err != nil {
		return err
	}
	text := k.status.Line(k.start.Add(at), at, k.collector.Operations(), summary)
	for _, w := range k.lines {
		if _, err := fmt.Fprintln(w, text); err != nil {
			return err
		}
	}
	return nil
}

// mostFailures is the number of kinds of failures that are listed.
const mostFailures = 5

// explainFailures lists the failures, the most frequent first.
func (k *sink) explainFailures() {
	all := slices.SortedFunc(maps.Values(k.failures), func(a, b *measure.FailureCount) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.First, b.First))
	})
	for i, f := range all {
		if i == mostFailures {
			k.notes("… and %d more kinds of failures", len(all)-i)
			return
		}
		name := f.Reason
		if f.CodeName != "" {
			name += fmt.Sprintf(" %s (%d)", f.CodeName, f.Code)
		}
		k.notes("%d × %s %s: %s, from %.1f to %.1f sec; for example: %s", f.Count, ycsbtext.OpName(f.Class), f.Outcome,
			name, f.First.Seconds(), f.Last.Seconds(), f.Example)
	}
}
