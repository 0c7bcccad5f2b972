package loadline

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"github.com/plimsoll-bench/plimsoll/measure/limit"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
	"github.com/plimsoll-bench/plimsoll/study/procedure"
)

// findLimit decides what limits a line, from the runs of its steps, and confirms it by a change of that capacity if one
// is allowed.
func (c *session) findLimit(ctx context.Context, l *record.LoadLine) {
	l.LimitedBy = nil
	steps := procedure.LimitSteps(l, func(path string) *record.Run {
		r, _ := record.OpenRun(c.path(path)) // a step without a record shows nothing
		return r
	})
	if len(steps) < 2 {
		return // one load does not show what would happen at another one
	}
	found := limit.Decide(steps)
	if c.o.Change != nil && found.Throughput.Strength == limit.Supported && found.Throughput.Label != limit.None {
		if err := c.confirm(ctx, &found); err != nil {
			found.NotChecked = append(found.NotChecked, "the limit was not confirmed: "+err.Error())
		}
	}
	procedure.State(&found)
	l.LimitedBy = &found
}

// Change reduces the capacity that a label names to a share, and returns what it was and how to restore it. An error
// says why that cannot be done.
type Change func(ctx context.Context, label limit.Label, where string, share float64) (what string,
	restore func() error, err error)

// The confirmation: closed loops with all of the capacity and with less of it, in the order ABBA, so that a drift does
// not count.
const (
	confirmFor     = 10 * time.Second
	confirmWorkers = 64
	confirmTakes   = 4 * (confirmFor + 2*time.Second) // with their warm-up
)

// confirm reduces the capacity that limits and measures by how much the throughput changes.
func (c *session) confirm(ctx context.Context, found *limit.Limit) error {
	a := found.Throughput
	what := ""
	var less, all []float64
	for i, reduced := range []bool{false, true, true, false} {
		restore := func() error { return nil }
		if reduced {
			var err error
			if what, restore, err = c.o.Change(ctx, a.Label, a.Where, limit.Reduced); err != nil {
				return err
			}
			c.o.Progress.Note(fmt.Sprintf("confirming the limit: 25 %% less %s", what))
		}
		asked := c.base()
		asked.Load.Rate, asked.Load.Arrivals, asked.Load.Late = 0, "", ""
		asked.Load.Workers, asked.Load.Duration = max(asked.Load.Workers, confirmWorkers), spec.Duration(confirmFor)
		o := c.o.Run
		o.Dir = filepath.Join(c.Dir, record.StepsDir, fmt.Sprintf("confirm-%d", i+1))
		r, err := c.o.Execute(ctx, asked, o)
		if undone := restore(); err == nil {
			err = undone
		}
		if err != nil {
			return err
		}
		if p := r.Phase("measure"); p != nil && reduced {
			less = append(less, p.Rates.Achieved)
		} else if p != nil {
			all = append(all, p.Rates.Achieved)
		}
	}
	var pairs [][2]float64
	for i := range min(len(less), len(all)) {
		pairs = append(pairs, [2]float64{less[i], all[i]})
	}
	e, ok := limit.Elasticity(pairs, limit.Reduced)
	if !ok {
		return fmt.Errorf("no operation succeeded")
	}
	found.Confirm(what, e)
	return nil
}
