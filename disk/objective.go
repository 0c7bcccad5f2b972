package disk

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
)

// LostWrites reports whether storage lost acknowledged writes in a power cut of the probe (grade C).
func LostWrites(p *record.Probe) bool {
	return slices.ContainsFunc(p.Durability, func(d record.ProbeDurability) bool { return d.Grade == "C" && d.Missing > 0 })
}

// Prefixes of objectives besides the operations; the default is the flush of the journal.
const (
	ofFlush  = "flush"
	ofCommit = "commit"
)

// ParseObjectives reads objectives of a probe, such as "flush.p99<10ms,read.rate>5000": flush, read, write, mixed or
// commit, then what measure.ParseObjectives knows.
func ParseObjectives(text string) ([]measure.Objective, error) {
	list, err := measure.ParseObjectives(text)
	if err != nil {
		return nil, err
	}
	for i := range list {
		o := &list[i]
		switch o.Class {
		case "":
			o.Class = ofFlush
		case ofFlush, ofCommit, Read, Write, Mixed:
		default:
			return nil, fmt.Errorf("%s: a probe does not measure %q; use flush, commit, read, write or mixed", o.Text, o.Class)
		}
		if o.Unit == measure.UnitShare {
			return nil, fmt.Errorf("%s: use a time or a rate, such as flush.p99<10ms or read.rate>5000", o.Text)
		}
	}
	return list, nil
}

// judge compares the objectives with the results.
func judge(p *record.Probe) {
	p.Objectives = nil
	list, err := ParseObjectives(strings.Join(p.Specification.Objectives, ","))
	if err != nil || len(p.Specification.Objectives) == 0 {
		return
	}
	for _, o := range list {
		r := measure.ObjectiveResult{Objective: o.Text, Limit: o.Limit, Unit: o.Unit}
		x, why := measured(p, o)
		if o.Class != Read || measure.Worst(p.Validity) == measure.Invalid {
			why = cmp.Or(unfit(p), why)
		}
		if why != "" {
			r.Unknown, r.Why = true, why
		} else {
			r.Measured, r.Met = &x, o.MetBy(x)
		}
		p.Objectives = append(p.Objectives, r)
	}
}

// measured returns the result for an objective: for flush that with one client, else that of the step with the highest
// rate.
func measured(p *record.Probe, o measure.Objective) (x float64, why string) {
	var best *record.ProbeStep
	for i := range p.Steps {
		s := &p.Steps[i]
		fits := s.Operation == o.Class || o.Class == ofFlush && s.Operation == Commit && s.Clients == 1
		if fits && (best == nil || s.Rate > best.Rate) {
			best = s
		}
	}
	if best == nil {
		return 0, "it was not measured"
	}
	if o.Metric == "rate" {
		return best.Rate, ""
	}
	l := best.Latency
	if o.Class == ofFlush {
		l = best.Flush
	}
	return latencyOf(l, o.Metric)
}

func latencyOf(l *record.Latency, metric string) (x float64, why string) {
	if l == nil {
		return 0, "it was not measured"
	}
	known := map[string]*int64{"p50": l.P50, "p90": l.P90, "p95": l.P95, "p99": l.P99, "p99.9": l.P999, "p99.99": l.P9999, "max": &l.Max}
	if metric == "mean" {
		return l.Mean, ""
	}
	v, ok := known[metric]
	switch {
	case !ok:
		return 0, "a probe does not record " + metric + ": use p50, p90, p95, p99, p99.9, p99.99, mean or max"
	case v == nil:
		return 0, "too few operations"
	}
	return float64(*v), ""
}
