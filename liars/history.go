package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/study/judge"
)

// historyOf judges records of one night each.
func historyOf(t *trial, factors []float64, changed int, effect float64) (*record.HistoryReport, error) {
	runs, err := course(t.rand.Uint64(), factors, 24*time.Hour, changed, effect)
	if err != nil {
		return nil, err
	}
	var sources []judge.Source
	for i, r := range runs {
		sources = append(sources, judge.Source{Name: fmt.Sprint(i), Runs: []judge.Run{{Dir: fmt.Sprint(i), Run: r}}})
	}
	return judge.History(judge.HistorySides(sources, nil), judge.HistoryOptions{})
}

// historyFamily has the changes that a history names.
func historyFamily() family {
	f := family{name: "history", parallel: 2, verdict: "`plimsoll history`: a metric *changed*, for all metrics together",
		notFound: []string{
			"Whether the program or the machine changed. Run a known version again with the new one.",
			"A change in fewer than ten records, or with fewer than three before or after it.",
			"A slow drift: only steps are changes.",
			"Each night is a new look at the history: in a year of nights a false change is likely.",
		}}
	for _, m := range machines() {
		r := wrong(m, "", 400, func(_ context.Context, t *trial) (answer, error) {
			h, err := historyOf(t, m.factors(t.rand, nights(t.rand)), 0, 1)
			return changes(t, h), err
		})
		switch m.name {
		case "long-autocorrelation":
			r.goal, r.notFound = unclaimed, "moods of the machine that last for many records are named as changes"
		case "slow-modes":
			r.goal, r.notFound = unclaimed, "a state of the machine that lasts for several records is a change"
		case "neighbour":
			r.goal, r.notFound = unclaimed, "it is a change, of the machine: the records cannot say of what"
		}
		f.rows = append(f.rows, r)
	}
	for _, percent := range []int{-3, -5, -10} {
		r := found(percent, "the last 20 of 40 records, which scatter by 2 %", func(_ context.Context, t *trial,
			effect float64) ([]record.Comparison, error) {
			h, err := historyOf(t, machines()[0].factors(t.rand, 40), 20, effect)
			if err != nil {
				return nil, err
			}
			for _, s := range h.Groups[0].Series {
				for _, c := range s.Changes {
					if c.Index >= 17 && c.Index <= 23 {
						return []record.Comparison{{Metric: "throughput", Verdict: record.Worse}}, nil
					}
				}
			}
			return nil, nil
		})
		if percent == -10 {
			r.goal = atLeast(0.8) // the usual power of a test; the next records find the others
		}
		f.rows = append(f.rows, r)
	}
	return f
}

// nights is a length of a history.
func nights(r *rand.Rand) int { return []int{15, 30, 60, 100}[r.IntN(4)] }

func changes(t *trial, h *record.HistoryReport) answer {
	if h == nil {
		return undecided
	}
	for _, g := range h.Groups {
		for _, s := range g.Series {
			for _, c := range s.Changes {
				t.say("%s of %d records changed at %d: %.4g, p %.4g", s.Metric, s.N, c.Index, c.Ratio, c.P)
				return accused
			}
		}
	}
	return cleared
}

// ciFamily has the verdicts about one new record.
func ciFamily() family {
	f := family{name: "ci", parallel: 2, verdict: "`plimsoll ci`: the new record is *better*, *worse* or *equivalent*, for all metrics together",
		notFound: []string{
			"Whether the program or the machine changed: one new record ran at another time than those before it.",
			"Several pushes of the same change: each is another test.",
		}}
	for _, m := range machines() {
		r := wrong(m, "", 500, func(_ context.Context, t *trial) (answer, error) {
			g, err := gate(t, m.factors(t.rand, 4+t.rand.IntN(27)), 1)
			if err != nil {
				return 0, err
			}
			return map[record.Verdict]answer{record.Better: accused, record.Worse: accused, record.Equivalent: cleared,
				record.Inconclusive: undecided}[g.Verdict], nil
		})
		if m.name == "outlier" || m.name == "neighbour" {
			// The noise may be in the new record alone, where nothing distinguishes it from a change.
			r.goal, r.notFound = unclaimed, "a disturbance of the new record only looks like a change"
		}
		f.rows = append(f.rows, r)
	}
	f.rows = append(f.rows, row{name: "not-equivalent", lie: "the throughput differs by the margin, 3 %; 20 records that scatter by 1 %",
		goal: atLeast(0.95), small: 20, full: 500, notFound: "found: throughput is not called equivalent",
		try: func(_ context.Context, t *trial) (answer, error) {
			g, err := gate(t, correlated(t.rand, 21, scatter/2, 0), 1.03)
			if err != nil {
				return 0, err
			}
			for _, m := range g.Metrics {
				if m.Metric == "throughput" && m.Verdict == record.Equivalent {
					return cleared, nil
				}
			}
			return accused, nil
		}})
	for _, percent := range []int{-3, -5, -10} {
		f.rows = append(f.rows, found(percent, "20 records before it that scatter by 2 %", func(_ context.Context, t *trial,
			effect float64) ([]record.Comparison, error) {
			g, err := gate(t, correlated(t.rand, 21, scatter, 0), effect)
			if err != nil {
				return nil, err
			}
			var list []record.Comparison
			for _, m := range g.Metrics {
				list = append(list, record.Comparison{Metric: m.Metric, Verdict: m.Verdict})
			}
			return list, nil
		}))
	}
	return f
}

// gate judges the last of several records, which has an effect.
func gate(t *trial, factors []float64, effect float64) (*record.Gate, error) {
	h, err := historyOf(t, factors, 1, effect)
	if err != nil {
		return nil, err
	}
	return judge.Gate(h, fmt.Sprint(len(factors)-1), 0), nil
}
