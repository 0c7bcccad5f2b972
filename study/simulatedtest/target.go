// Package simulatedtest is a target with known properties: how its throughput depends on the workers and its response
// time on the rate, what each configuration changes, how it drifts, warms up, takes checkpoints and scatters. Its
// [Runner] computes trials in virtual time, in microseconds each, so that the results of a thousand studies can be
// compared with what they should find.
//
// It sends no operation and reads no clock. Plans, procedures and verdicts are the real ones.
package simulatedtest

import (
	"math"
	"time"

	"github.com/plimsoll-bench/plimsoll/spec"
	"github.com/plimsoll-bench/plimsoll/study"
)

// Target is the programmed truth. The zero value of a field leaves that out, unless it says something else.
type Target struct {
	// Servers is the number of operations that it serves at once (8 if zero), each in Service on average (1 ms if
	// zero).
	Servers int
	Service time.Duration
	// Think is the time between an answer and the next operation of a worker of a closed loop: network and client.
	Think time.Duration
	// Thrash is the share of throughput that each worker beyond the servers costs.
	Thrash float64
	// Spread is the standard deviation of the logarithm of response times in a closed loop (0.5 if zero). In an open
	// loop service times are exponential.
	Spread float64
	// Classes are the operation classes, reads and updates half and half if empty.
	Classes []Class
	// Effects are what configurations change. They multiply.
	Effects []Effect

	// Warmup: each trial begins with this share of the throughput missing, which shrinks to 1/e in WarmupTime.
	Warmup     float64
	WarmupTime time.Duration
	// Checkpoint: every Cycle of the session, for DipLength (a tenth of the cycle if zero), this share of the throughput
	// is missing.
	Checkpoint       float64
	Cycle, DipLength time.Duration
	// Trend is the change of throughput in an hour of a trial, as a share: a target that never settles.
	Trend float64

	// Noise is the standard deviation of the logarithm of the throughput from trial to trial, with the correlation
	// NoiseAR between neighbours. TailNoise is that of response times beyond what follows from the throughput.
	Noise, NoiseAR, TailNoise float64
	// SecondNoise is the same from second to second within a trial.
	SecondNoise, SecondAR float64
	// Drift is the change of throughput over a Session of virtual time, as a share.
	Drift   float64
	Session time.Duration

	// Interval is the length of the intervals, a second if zero. One as long as the trial makes it fastest.
	Interval time.Duration
	// Overhead is the time of a trial besides its load: opening, loading data, closing.
	Overhead time.Duration
	// Trouble decides what goes wrong in the n-th trial of the runner, counted from 1.
	Trouble func(n int, r study.Request) Trouble
}

// Class is an operation class: its share of the operations, and its time as a multiple of the mean.
type Class struct {
	Name        string
	Share, Time float64
}

// Effect multiplies the throughput of the runs for which When is true.
type Effect struct {
	When   func(spec.Run) bool
	Factor float64
}

// Trouble is what goes wrong in a trial. The zero value is nothing.
type Trouble struct {
	// Err ends the trial without a result.
	Err error
	// Hang makes the trial last until its context ends.
	Hang bool
	// Errors is the share of operations that fail.
	Errors float64
	// Slow divides the throughput, as an outage of the machine would; 0 and 1 are none.
	Slow float64
	// ClientShare is the share of its cores that the client used. Above 0.7 it may be the limit.
	ClientShare float64
}

// withDefaults sets the defaults.
func (t Target) withDefaults() Target {
	if t.Servers == 0 {
		t.Servers = 8
	}
	if t.Service == 0 {
		t.Service = time.Millisecond
	}
	if t.Spread == 0 {
		t.Spread = 0.5
	}
	if len(t.Classes) == 0 {
		t.Classes = []Class{{"read", 0.5, 0.8}, {"update", 0.5, 1.2}}
	}
	if t.Cycle == 0 {
		t.Cycle = time.Minute
	}
	if t.DipLength == 0 {
		t.DipLength = t.Cycle / 10
	}
	if t.Interval == 0 {
		t.Interval = time.Second
	}
	return t
}

// Throughput is the true throughput in operations per second of a closed loop with so many workers, without noise
// and effects: the machine repairman model. Of N workers, k are being served or wait for it; each of the others
// comes after Think on average, each of the c = Servers serves after Service:
//
//	p(k+1) / p(k) = (N−k)/Think · Service/min(k+1, c),  X = Σ p(k) · min(k, c)/Service
//
// Without Think it is min(N, c)/Service.
func (t Target) Throughput(workers int) float64 {
	t = t.withDefaults()
	c, s, z := float64(t.Servers), t.Service.Seconds(), t.Think.Seconds()
	x := min(float64(workers), c) / s
	if z > 0 {
		p, sum, busy := 1.0, 1.0, 0.0
		for k := range workers {
			p *= float64(workers-k) / z * s / min(float64(k+1), c)
			sum += p
			busy += p * min(float64(k+1), c)
			if sum > 1e250 { // the ratio is what counts
				p, sum, busy = p/sum, 1, busy/sum
			}
		}
		x = busy / sum / s
	}
	return x / (1 + t.Thrash*max(0, float64(workers)-c))
}

// Limit is the rate in operations per second that no load exceeds, without noise and effects.
func (t Target) Limit() float64 {
	t = t.withDefaults()
	return float64(t.Servers) / t.Service.Seconds()
}

// Response is the true percentile q (0…1) of response times at an offered rate, without noise and effects and with
// enough workers: that of an M/M/c queue, infinite from the limit on.
func (t Target) Response(rate, q float64) time.Duration {
	t = t.withDefaults()
	if rate >= t.Limit() {
		return math.MaxInt64
	}
	return time.Duration(newQueue(t.Servers, t.Service.Seconds(), rate).quantile(q) * 1e9)
}

// Capacity is the highest offered rate at which the true percentile q stays within a limit.
func (t Target) Capacity(q float64, limit time.Duration) float64 {
	low, high := 0.0, t.Limit()
	for range 60 {
		if mid := (low + high) / 2; t.Response(mid, q) <= limit {
			low = mid
		} else {
			high = mid
		}
	}
	return low
}

// effect is the factor by which the configuration of a run changes throughput.
func (t Target) effect(asked spec.Run) float64 {
	x := 1.0
	for _, e := range t.Effects {
		if e.When == nil || e.When(asked) {
			x *= e.Factor
		}
	}
	return x
}

// Param is true for runs whose workload has a parameter of that value.
func Param(name, value string) func(spec.Run) bool {
	return func(s spec.Run) bool { return s.Workload.Params[name] == value }
}

// Durability is true for runs at a durability level.
func Durability(name string) func(spec.Run) bool {
	return func(s spec.Run) bool { return s.Durability.Name == name }
}
