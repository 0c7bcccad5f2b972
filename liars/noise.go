package main

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
	"github.com/plimsoll-bench/plimsoll/study"
	"github.com/plimsoll-bench/plimsoll/study/simulatedtest"
)

// noise is what a machine does to the throughput of trials that follow each other, whatever is compared: a factor for
// each of n trials.
type noise struct {
	name, what string
	factors    func(r *rand.Rand, n int) []float64
}

// scatter is the standard deviation of the logarithms of trials, 2 %, if a noise has no other.
const scatter = 0.02

// machines are the noises of the campaign.
func machines() []noise {
	return []noise{
		{"scatter", "trials scatter by 2 %", func(r *rand.Rand, n int) []float64 { return correlated(r, n, scatter, 0) }},
		{"drift", "a drift of 10 % over all trials, which scatter by 2 %", func(r *rand.Rand, n int) []float64 {
			return with(correlated(r, n, scatter, 0), func(i int) float64 { return 1 - 0.1*float64(i)/float64(n) })
		}},
		{"strong-drift", "a drift of 50 % over all trials, which scatter by 0.2 %", func(r *rand.Rand, n int) []float64 {
			return with(correlated(r, n, scatter/10, 0), func(i int) float64 { return 1 - 0.5*float64(i)/float64(n) })
		}},
		{"autocorrelation", "neighbours correlate with 0.5", func(r *rand.Rand, n int) []float64 {
			return correlated(r, n, scatter, 0.5)
		}},
		{"long-autocorrelation", "neighbours correlate with 0.9", func(r *rand.Rand, n int) []float64 {
			return correlated(r, n, 2*scatter, 0.9)
		}},
		{"slow-modes", "the machine is 5 % slower for some trials, every now and then", func(r *rand.Rand, n int) []float64 {
			slow := r.IntN(2) == 0
			return with(correlated(r, n, scatter/2, 0), func(int) float64 {
				if r.IntN(8) == 0 {
					slow = !slow
				}
				if slow {
					return 0.95
				}
				return 1
			})
		}},
		{"bimodal", "one trial in four is 10 % slower", func(r *rand.Rand, n int) []float64 {
			return with(correlated(r, n, scatter/2, 0), func(int) float64 {
				if r.IntN(4) == 0 {
					return 0.9
				}
				return 1
			})
		}},
		{"outlier", "one trial is half as fast", func(r *rand.Rand, n int) []float64 {
			bad := r.IntN(n)
			return with(correlated(r, n, scatter, 0), func(i int) float64 {
				if i == bad {
					return 0.5
				}
				return 1
			})
		}},
		{"neighbour", "a neighbour takes 10 % from a random trial on", func(r *rand.Rand, n int) []float64 {
			from := r.IntN(n)
			return with(correlated(r, n, scatter/2, 0), func(i int) float64 {
				if i >= from {
					return 0.9
				}
				return 1
			})
		}},
	}
}

// correlated is autoregressive noise with the standard deviation sd of logarithms and the correlation phi of
// neighbours.
func correlated(r *rand.Rand, n int, sd, phi float64) []float64 {
	factors, x := make([]float64, n), r.NormFloat64()
	for i := range factors {
		factors[i] = math.Exp(sd * x)
		x = phi*x + math.Sqrt(1-phi*phi)*r.NormFloat64()
	}
	return factors
}

func with(factors []float64, more func(i int) float64) []float64 {
	for i := range factors {
		factors[i] *= more(i)
	}
	return factors
}

// drifting makes trials of one interval whose throughput has the factors, one trial after the other. p99 scatters by 3
// % beyond what follows from the throughput.
func drifting(factors []float64, effects ...simulatedtest.Effect) simulatedtest.Target {
	return simulatedtest.Target{Interval: time.Hour, TailNoise: 0.03, Effects: effects,
		Classes: []simulatedtest.Class{{Name: "read", Share: 1, Time: 1}},
		Trouble: func(n int, _ study.Request) simulatedtest.Trouble {
			return simulatedtest.Trouble{Slow: 1 / factors[n-1]}
		}}
}

// simulatedRun is the specification of all simulated runs.
func simulatedRun() spec.Run {
	return spec.Run{Target: "null:", Load: spec.Load{Workers: 8, Duration: spec.Duration(30 * time.Second)}}
}

// course makes one record after the other, some time apart. The last changed of them have the throughput times effect.
func course(seed uint64, factors []float64, apart time.Duration, changed int, effect float64) ([]*record.Run, error) {
	asked := simulatedRun()
	asked.Defaults()
	runner := simulatedtest.New(drifting(factors, simulatedtest.Effect{Factor: effect,
		When: func(s spec.Run) bool { return s.Labels["changed"] != "" }}), seed)
	var runs []*record.Run
	for i := range factors {
		one := asked
		if i >= len(factors)-changed {
			one.Labels = map[string]string{"changed": "yes"}
		}
		got, err := runner.Trial(context.Background(), study.Request{Spec: one})
		if err != nil {
			return nil, err
		}
		got.Run.Started = simulatedtest.Epoch.Add(time.Duration(i) * apart)
		runs = append(runs, got.Run)
	}
	return runs, nil
}

// sweep is a study of so many levels of a factor that changes nothing by itself: the timeout of operations.
func sweep(levels, trials int) spec.Study {
	asked := spec.Study{Run: simulatedRun(), Factors: []spec.Factor{{Path: "load.timeout"}}, Trials: spec.Count(trials), Canary: -1}
	for i := range levels {
		asked.Factors[0].Levels = append(asked.Factors[0].Levels, spec.Level{Value: fmt.Sprintf("%ds", 10+i)})
	}
	asked.Defaults()
	return asked
}

// level is true for runs at the i-th level of a sweep; 0 is the baseline.
func level(i int) func(spec.Run) bool {
	return func(s spec.Run) bool { return s.Load.Timeout == spec.Duration(10+i)*spec.Duration(time.Second) }
}
