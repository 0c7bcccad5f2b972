package conduct

import (
	"context"
	"time"

	"github.com/plimsoll-bench/plimsoll/fleet"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/run"
	"github.com/plimsoll-bench/plimsoll/study"
)

// Runs performs trials as runs.
type Runs struct {
	// Options are those of every run; the request has Dir and Abort.
	Options run.Options
	// Places finds the places of the load clients; nil if there is only one client.
	Places fleet.Placers
}

var _ study.Runner = (*Runs)(nil)

// Trial runs a trial.
func (r *Runs) Trial(ctx context.Context, q study.Request) (study.Result, error) {
	o := r.Options
	o.Dir, o.Abort, o.Number = q.Dir, q.Abort, q.Number
	result, err := fleet.Execute(ctx, q.Spec, o, fleet.Options{Places: r.Places, Strict: true})
	return study.Result{Run: result, Seconds: func() ([]study.Second, error) { return Seconds(q.Dir) }}, err
}

// Seconds returns the course of a recorded run without its load phase: one entry per interval.
func Seconds(dir string) ([]study.Second, error) {
	r, err := record.OpenRun(dir)
	if err != nil {
		return nil, err
	}
	d := r.Dims()
	var list []study.Second
	_, err = record.EachInterval(dir, func(iv *measure.Interval) error {
		if iv.Phase == "load" {
			return nil
		}
		s, err := second(d, iv)
		list = append(list, s)
		return err
	})
	return list, err
}

// second summarizes an interval.
func second(d measure.Dims, iv *measure.Interval) (study.Second, error) {
	length := iv.End - iv.Start
	t := iv.Tally(d)
	s := study.Second{Phase: iv.Phase, Start: iv.Start, Length: length, Failed: t.Bad()}
	if length > 0 {
		s.Rate = float64(t.Succeeded) / length.Seconds()
	}
	all := measure.NewHistogram()
	for i := range iv.Classes {
		if h := iv.Classes[i].Answered(); !d.Classes[i].Part && h != nil {
			if err := all.Merge(h); err != nil {
				return s, err
			}
		}
	}
	s.P99 = time.Duration(all.Quantile(0.99))
	return s, nil
}
