package measure

import (
	"fmt"
	"math"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/measure/stats"
)

// Limits of the checks that find a client that measured itself instead of the target.
const (
	maxClientShare  = 0.70 // of its cores, and of its calibrated ceiling
	tooMuchClient   = 0.90
	maxLateShare    = 0.10 // of the measured times that include it
	maxPoolShare    = 0.05 // of the service time
	maxLittleError  = 0.05
	tooMuchLittle   = 0.25
	maxBusyShare    = 0.05  // of the intervals in which the scheduler was slow
	maxPauseShare   = 0.001 // of the time: beyond it p99.9 includes pauses
	smallestConcern = float64(time.Millisecond)

	maxDelayShare  = 0.10 // of p50 or p99 until the worker continued
	tooMuchDelay   = 0.50
	smallestDelay  = 100 * time.Microsecond // waking a thread takes a tenth of it on an idle machine
	maxLoopBusy    = 0.80                   // of the time of an event loop
	maxThrottled   = 0.01                   // of the time: beyond it p99 includes it
	tooMuchStopped = 0.50
)

func checkClientCPU(s *Summary, c Circumstances) []Finding {
	if c.Cores <= 0 || s.Duration() <= 0 || c.InProcess {
		return nil
	}
	return ClientCPU("the load generator", s.Client.CPU.Seconds()/s.Duration().Seconds(), c.Cores)
}

// ClientCPU judges the mean number of cores that a client used. who is the subject of the sentence.
func ClientCPU(who string, used, cores float64) []Finding {
	share := used / cores
	if share <= maxClientShare {
		return nil
	}
	return finding("client-cpu", graded(share, tooMuchClient), share, maxClientShare, UnitShare,
		"%s used %s of its %s cores. The client may limit the result, not the target. Give the client more "+
			"cores or a separate machine, or lower the load.", who, percent(share), figure.Significant(cores))
}

func checkCeiling(s *Summary, c Circumstances) []Finding {
	return ClientCeiling("the load generator", s.Rate(s.Ended().Attempted), c.Ceiling)
}

// ClientCeiling judges the rate of a client against its calibrated ceiling, which is 0 if it is unknown. who is the
// subject of the sentence.
func ClientCeiling(who string, rate, ceiling float64) []Finding {
	if ceiling <= 0 || rate/ceiling <= maxClientShare {
		return nil
	}
	share := rate / ceiling
	return finding("client-limited", graded(share, tooMuchClient), share, maxClientShare, UnitShare,
		"%s sent %s of the rate that it reaches without a real target (%s/s). The client may limit the result, not the "+
			"target. Use more cores or several clients.", who, percent(share), figure.Rate(ceiling))
}

// concern is the limit for rare delays of the client: a tenth of the p99 that includes them, at least a millisecond.
func concern(h *Histogram) float64 {
	return max(smallestConcern, maxLateShare*float64(h.Quantile(0.99)))
}

// OfProcess lists the findings about delays that a process of the load generator sees only itself.
func OfProcess() []string {
	return []string{"client-scheduler", "client-gc", "client-delay", "client-loop", "client-throttled", "client-run-queue"}
}

// ofClient is the severity of a delay in the client's process. If the target runs in the same process, its own work
// causes delays.
func (c Circumstances) ofClient() Severity {
	if c.InProcess {
		return Note
	}
	return Warning
}

// arrives reports whether the kernel stamped the arrival of answers. Service times end there, so they do not include
// delays of the client, and [checkNoticing] measures what these do to the load.
func (s *Summary) arrives() bool { return s.Bare.Count() > 0 }

// checkScheduler compares the p99 of wake-ups with the p99 of answers, which includes it.
func checkScheduler(s *Summary, c Circumstances) []Finding {
	if s.arrives() {
		return nil
	}
	limit, slow, worst := concern(s.service()), 0, 0.0
	for _, p := range s.Points {
		if d := float64(p.Client.SchedP99); d > limit {
			slow++
			worst = max(worst, d)
		}
	}
	if len(s.Points) == 0 || float64(slow) <= maxBusyShare*float64(len(s.Points)) {
		return nil
	}
	meaning := "This is included in the measured latency and exceeds 10 % of its p99."
	if p99 := float64(s.service().Quantile(0.99)); p99 < limit {
		meaning = fmt.Sprintf("Latencies below %s do not describe the target.", figure.Duration(ns(limit)))
	}
	return finding("client-scheduler", c.ofClient(), worst, limit, UnitTime,
		"the load generator's p99 wake-up latency exceeded %s in %s of %s intervals (worst %s). %s Use fewer workers or more cores.",
		ns(limit), slow, len(s.Points), ns(worst), meaning)
}

// checkPauses checks the time in which garbage collection stops the client. The share of the time is about the share of
// the operations, so it shows which percentiles include pauses.
func checkPauses(s *Summary, c Circumstances) []Finding {
	limit, longest := concern(s.service()), float64(s.Client.GCPauseMax)
	if longest <= limit || s.Duration() <= 0 || s.arrives() {
		return nil
	}
	stood := float64(s.Client.GCPauseSum) / float64(s.Duration())
	if stood <= maxPauseShare {
		return finding("client-gc", Note, longest, limit, UnitTime,
			"garbage collection stopped the load generator for up to %s, and for %s of the time in all. The maximum may include "+
				"this; percentiles up to p99.9 do not. Use fewer workers if you need the maximum.", ns(longest), percent(stood))
	}
	return finding("client-gc", c.ofClient(), stood, maxPauseShare, UnitShare,
		"garbage collection stopped the load generator for %s of the time (up to %s at once). This is included in the measured "+
			"latency. Give the client more memory or use fewer workers.", percent(stood), ns(longest))
}

func checkPool(s *Summary, _ Circumstances) []Finding {
	var waited, served float64
	for _, p := range s.Points {
		if p.Tally.Succeeded == 0 {
			continue
		}
		waited += float64(p.PoolWaitSum)
		served += float64(p.ServiceSum)
	}
	if served == 0 || waited/served <= maxPoolShare {
		return nil
	}
	return finding("pool-wait", Warning, waited/served, maxPoolShare, UnitShare,
		"operations waited for a free or a new connection for %s of the service time. This is included in the measured latency. "+
			"Raise maxPoolSize to the number of workers, and look for lost connections in the events.", percent(waited/served))
}

// checkLateness compares the lateness of the pacer with the service time. It is only a note if it is small relative to
// the p99 of the response times that include it, as timers of an operating system are.
func checkLateness(s *Summary, _ Circumstances) []Finding {
	late, p50 := float64(s.Lateness.Quantile(0.99)), float64(s.service().Quantile(0.5))
	if !s.Lateness.Enough(0.99) || p50 == 0 || late <= maxLateShare*p50 {
		return nil
	}
	sev := Note
	if late > concern(s.answered()) {
		sev = Warning
	}
	return finding("schedule-lateness", sev, late, maxLateShare*p50, UnitTime,
		"1 %% of the operations were sent more than %s late although a worker was free (median service time %s). This is "+
			"included in the response times. Use a less busy machine or more cores.", ns(late), ns(p50))
}

// checkLittle compares the mean number of operations in flight, from the marks of their begins and ends, with rate ×
// service time, from the counted samples. So it finds operations that were lost or counted twice on the way from a
// worker to the counts, and service times that are not those of the operations. It does not find a wrong clock, because
// both use the same one. The limit of the difference is its error, from the scatter between intervals (operations
// belong to the one in which they end), and the operations in flight at the end of the phase.
func checkLittle(s *Summary, _ Circumstances) []Finding {
	var diffs []float64
	var counted, predicted float64
	for _, p := range s.Points {
		if width := float64(p.End - p.Start); p.InFlightSamples > 0 && width > 0 {
			x := float64(p.held()) / width
			diffs = append(diffs, p.InFlight-x)
			counted += p.InFlight
			predicted += x
		}
	}
	n := float64(len(diffs))
	if n < 5 || counted == 0 {
		return nil // too few to distinguish lost operations from chance
	}
	off := math.Abs(counted-predicted) / counted
	// Three standard deviations. The error is estimated from few intervals, so Student's t replaces the normal
	// distribution.
	const below = 0.9986501019683699
	standardError := math.Sqrt(squaredError(diffs) * n / (n - 1))
	limit := max(maxLittleError, stats.TQuantile(below, n-1)*standardError*n/counted)
	if ended := s.Ended().Attempted; ended > 0 && s.Duration() > 0 { // those in flight at the end have no service time
		limit += s.LittleInFlight() / float64(ended)
	}
	if off <= limit {
		return nil
	}
	return finding("littles-law", graded(off, max(limit, tooMuchLittle)), off, limit, UnitShare,
		"the mean number of operations in flight is %s by their begins and ends, and %s by rate × service time (Little's law). Operations or "+
			"time are missing in the counts. Use a less busy client. If the finding stays, report it as a bug.",
		figure.Significant(counted/n), figure.Significant(predicted/n))
}

func checkCounting(s *Summary, c Circumstances) []Finding {
	var found []Finding
	if c.Rejected > 0 {
		found = append(found, finding("not-counted", Invalid, float64(c.Rejected), 0, "operations",
			"%s operations had an unknown class or outcome and were not counted. The rates are too low. This is a bug in "+
				"plimsoll; please report it.", c.Rejected)...)
	}
	if c.Displaced > 0 {
		found = append(found, finding("displaced", Note, float64(c.Displaced), 0, "operations",
			"%s operations were counted in a later second than the one they ended in, because the client was too busy. Totals "+
				"are exact; the rates of single seconds are not. Use a less busy client if you need them.", c.Displaced)...)
	}
	if c.EventsLost > 0 {
		found = append(found, finding("events-lost", Note, float64(c.EventsLost), 0, "events",
			"%s events were discarded because they came too fast. The list of events has gaps; counts of operations are exact. "+
				"Use the counts.", c.EventsLost)...)
	}
	return found
}

// checkNoticing compares the times until workers continued after the answers with those without the delays of the
// client, at the median and at p99.
func checkNoticing(s *Summary, _ Circumstances) []Finding {
	worst, at := 0.0, 0.0
	for _, q := range []float64{0.5, 0.99} {
		noticed, bare := s.Noticed.Quantile(q), s.Bare.Quantile(q)
		if !s.Bare.Enough(q) || noticed-bare < int64(smallestDelay) {
			continue
		}
		if delay := float64(noticed-bare) / float64(noticed); delay > worst {
			worst, at = delay, q
		}
	}
	if worst <= maxDelayShare {
		return nil
	}
	name := map[float64]string{0.5: "p50", 0.99: "p99"}[at]
	return finding("client-delay", graded(worst, tooMuchDelay), worst, maxDelayShare, UnitShare,
		"the %s of the service time is %s until the answer arrives and %s until the load generator continues: it was busy or "+
			"had no processor time. The client limits the load, not the target. Use fewer workers, smaller documents, more "+
			"cores or several clients.",
		name, ns(float64(s.Bare.Quantile(at))), ns(float64(s.Noticed.Quantile(at))))
}

// checkLoops compares the busiest event loop with its one core. The processor time of all cores does not show it.
func checkLoops(s *Summary, c Circumstances) []Finding {
	busy := s.Client.LoopBusy
	if busy <= maxLoopBusy || c.InProcess {
		return nil
	}
	return finding("client-loop", Warning, busy, maxLoopBusy, UnitShare,
		"the busiest of %s of the load generator was busy or waited for a core for %s of the time. A connection waited up to %s for it (p99). "+
			"The client may limit the throughput, not the target. Use more cores, several clients or a separate machine.",
		figure.Plural(s.Client.Loops, "event loop"), percent(busy), s.Client.TurnP99)
}

// checkQuota checks the time in which the quota of a control group stopped the client. The share of the time is about
// the share of the operations.
func checkQuota(s *Summary, c Circumstances) []Finding {
	if s.Client.Throttled <= 0 || s.Duration() <= 0 || c.InProcess {
		return nil
	}
	stood := min(1, float64(s.Client.Throttled)/float64(s.Duration()))
	if stood <= maxThrottled {
		return nil
	}
	return finding("client-throttled", graded(stood, tooMuchStopped), stood, maxThrottled, UnitShare,
		"the quota of a control group (cpu.max) stopped the load generator for %s of the time (%s times). The latencies may "+
			"include this. Raise the quota.", percent(stood), s.Client.ThrottledTimes)
}

// checkRunDelay compares the time in which the client's threads waited for a core with the service time, where the
// arrival of answers is unknown.
func checkRunDelay(s *Summary, c Circumstances) []Finding {
	served, n := int64(0), s.Ended().Attempted
	for _, p := range s.Points {
		served += p.ServiceSum
	}
	if s.arrives() || c.InProcess || n == 0 || served <= 0 || s.Client.RunDelay/time.Duration(n) < smallestDelay {
		return nil
	}
	share := min(1, float64(s.Client.RunDelay)/float64(served))
	if share <= maxDelayShare {
		return nil
	}
	return finding("client-run-queue", graded(share, tooMuchDelay), share, maxDelayShare, UnitShare,
		"threads of the load generator waited for a core for %s per operation, %s of the mean service time. The latencies "+
			"include this. Stop other programs, or use more cores.", s.Client.RunDelay/time.Duration(n), percent(share))
}
