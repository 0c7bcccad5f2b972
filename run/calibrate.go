package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/plimsoll-bench/plimsoll/load"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/store"
	"github.com/plimsoll-bench/plimsoll/workload"
)

// Calibration configures [Calibrate]. Zero values are the defaults.
type Calibration struct {
	Target   string // a responder that costs this process nothing, in a process of its own
	Workers  int    // 16 if zero
	Duration time.Duration
	Workload string // "a" if empty: half reads, half updates
}

// Calibrate measures the highest rate of one client of this machine by loading a responder that answers at once. It
// takes the duration (3 s if zero) and a warm-up of a third of it.
func Calibrate(ctx context.Context, client string, c Calibration) (ClientCeiling, error) {
	c.Workers, c.Duration, c.Workload = cmp.Or(c.Workers, 16), cmp.Or(c.Duration, 3*time.Second), cmp.Or(c.Workload, "a")
	w, err := workload.Open(workload.Spec{Name: c.Workload, Records: 100_000, Seed: 1})
	if err != nil {
		return ClientCeiling{}, err
	}
	target, err := ParseTarget(c.Target)
	if err != nil {
		return ClientCeiling{}, err
	}
	st, err := target.Open(ctx, client, store.Config{Database: "plimsoll", Sessions: c.Workers, Timeout: 10 * time.Second}, nil)
	if err != nil {
		return ClientCeiling{}, err
	}
	defer st.Close()
	cfg := load.Config{Workers: c.Workers, Warmup: c.Duration / 3, Duration: c.Duration, Timeout: 10 * time.Second}
	sink := &summarySink{summary: measure.NewSummary(load.Dims(w, false), load.PhaseMeasure)}
	report, err := load.Run(ctx, cfg, w, st, sink)
	if err != nil {
		return ClientCeiling{}, err
	}
	if report.Interrupted {
		return ClientCeiling{}, context.Canceled
	}
	ended := sink.summary.Ended()
	if ended.Succeeded == 0 || sink.summary.Client.CPU == 0 {
		return ClientCeiling{}, errors.New("no operation against the responder succeeded. Calibrate again on a less busy machine")
	}
	if bad := ended.Bad(); bad > 0 {
		return ClientCeiling{}, fmt.Errorf("%d operations against the responder failed, so there is no calibration: %v", bad, sink.summary.Failures)
	}
	perOperation := float64(sink.summary.Client.CPU.Nanoseconds()) / float64(ended.Succeeded)
	return ClientCeiling{
		PerOperation: perOperation,
		Reached:      sink.summary.Rate(ended.Succeeded),
		Rate:         record.NewEnvironment(nil).Cores * 1e9 / perOperation,
	}, nil
}

// summarySink keeps the summary of the measured phase only.
type summarySink struct{ summary *measure.Summary }

func (s *summarySink) Interval(iv *measure.Interval) error {
	if iv.Phase != load.PhaseMeasure {
		return nil
	}
	return s.summary.Add(iv)
}

func (s *summarySink) Event(measure.Event) error { return nil }
