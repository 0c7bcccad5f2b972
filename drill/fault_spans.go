package drill

import (
	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
)

// span is the time of one fault until the next one, in nanoseconds of run time.
type span struct {
	from, over, until int64 // over is when it was reverted, or the event ended
	during, after     *measure.Due
}

// spansOf returns the times of the injected faults, which are in order.
func spansOf(r *record.DrillRound) (list []*span) {
	for _, f := range r.Faults {
		if f.Injected <= 0 {
			break
		}
		s := &span{from: f.Injected, over: r.WindowEnd, until: r.WindowEnd}
		if f.Event != nil {
			s.over = f.Done
		} else if f.Healed > 0 {
			s.over = f.Healed
		}
		if len(list) > 0 {
			list[len(list)-1].until = f.Injected
		}
		list = append(list, s)
	}
	for _, s := range list {
		s.over = min(s.over, s.until)
		s.during, s.after = &measure.Due{}, &measure.Due{}
	}
	return list
}

// notice sets what clients noticed of each fault: latencies from the intervals of the run's record, the others from the
// times at which operations ended.
func (o *operations) notice(out *record.DrillRound, shift int64) error {
	spans, before := spansOf(out), &measure.Due{}
	if len(spans) == 0 || o.byClass == nil {
		return nil
	}
	run, err := record.OpenRun(o.dir)
	if err != nil {
		return err
	}
	dims := run.Dims()
	_, err = record.EachInterval(o.dir, func(iv *measure.Interval) error {
		start, end := int64(iv.Start), int64(iv.End)
		if start < out.WindowStart || end > out.WindowEnd {
			return nil
		}
		into := []*measure.Due{}
		if end <= spans[0].from {
			into = append(into, before)
		}
		for _, s := range spans {
			if end > s.from && start < s.over {
				into = append(into, s.during)
			} else if start >= s.over && end <= s.until {
				into = append(into, s.after)
			}
		}
		for _, to := range into {
			if err := to.Add(dims, iv); err != nil {
				return err
			}
		}
		return nil
	})
	for i, s := range spans {
		n := &record.DrillNoticed{P99Before: p99(before), P99During: p99(s.during), P99After: p99(s.after), Outage: -1}
		w := window{from: out.WindowStart - shift, fault: s.from - shift, until: s.until - shift}
		if g := longestGap(o.byClass[0], w, rate(o.byClass[0], w.from, w.fault)); g.back {
			n.Outage = g.to - g.from
		}
		for _, one := range o.byClass[0].slices {
			if one.failed > 0 && one.failLast >= w.fault && one.failLast < w.until {
				n.Failed += one.failed
			}
		}
		out.Faults[i].Noticed = n
	}
	return err
}

func p99(d *measure.Due) int64 {
	ns, answered := d.Value(0.99)
	if !answered {
		return record.NoAnswer
	}
	return ns
}

// judgeEvents adds a finding for each planned event that the application noticed: maintenance that is done well is
// neither an outage nor an error.
func (r *round) judgeEvents() {
	timeout := r.spec.Run.Load.Timeout.Std()
	for _, f := range r.result.Faults {
		if n := f.Noticed; f.Event != nil && n != nil {
			what := f.Fault.String()
			if n.Outage > int64(timeout) {
				r.drill.find("event-outage-"+what, measure.Warning, "during %s, no operation succeeded for %s. A driver retries an "+
					"operation until its timeout (here %s), so applications see this outage as errors. Use a longer timeout, or shorten the "+
					"outage, for example with quicker elections", what, durationText(n.Outage), figure.Duration(timeout))
			}
			if n.Failed > 0 {
				r.drill.find("event-errors-"+what, measure.Warning, "%s failed during %s or after it. Retries did not hide the event from "+
					"the application. Make the application repeat them, or use retryable writes (client: driver)",
					figure.Plural(int(n.Failed), "operation"), what)
			}
		}
	}
}
