package conduct

import (
	"context"

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
	return resultIn(q.Dir, result), err
}

// resultIn is the result of a trial with its record.
func resultIn(dir string, r *record.Run) study.Result {
	return study.Result{Run: r, Seconds: func() ([]study.Second, error) { return Seconds(dir) },
		Intervals: func(f func(*measure.Interval) error) error {
			_, err := record.EachInterval(dir, f)
			return err
		}}
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
		list = append(list, second(d, iv))
		return nil
	})
	return list, err
}

// second summarizes an interval.
func second(d measure.Dims, iv *measure.Interval) study.Second {
	length := iv.End - iv.Start
	s := study.Second{Phase: iv.Phase, Start: iv.Start, Length: length}
	if length > 0 {
		s.Rate = float64(iv.Tally(d).Succeeded) / length.Seconds()
	}
	return s
}
