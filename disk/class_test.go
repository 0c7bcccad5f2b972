package disk

import (
	"strings"
	"testing"
	"time"

	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// Threads stop helping where no larger number does more, not where one step dips.
func TestThreadsStopHelpingWhereNoneIsBetter(t *testing.T) {
	for name, x := range map[string]struct {
		rates        []float64 // of 1, 2, 4 … threads
		threads      int
		rate, better float64
	}{
		"a dip at 8":             {[]float64{100, 200, 400, 380, 900}, 0, 900, 900},
		"a plateau":              {[]float64{100, 200, 400, 410, 405}, 4, 400, 410},
		"small gains that add":   {[]float64{100, 108, 116, 125, 126}, 4, 116, 126},
		"the first is the best":  {[]float64{100, 90, 80}, 1, 100, 100},
		"one number":             {[]float64{100}, 0, 100, 100},
		"more helped to the end": {[]float64{100, 150, 300}, 0, 300, 300},
	} {
		var steps []record.ProbeStep
		for i, rate := range x.rates {
			steps = append(steps, record.ProbeStep{Threads: 1 << i, Rate: rate})
		}
		if r := rampOf(Read, steps); r.Threads != x.threads || r.Rate != x.rate || r.Best != x.better {
			t.Errorf("%s: %+v", name, r)
		}
	}
}

// The class is not that of one odd step: the step with one client decides unless all others are of another class.
func TestOneOddStepDecidesNoClass(t *testing.T) {
	const ms = time.Millisecond
	for name, x := range map[string]struct {
		flushes []time.Duration // of 1, 2, 4 … clients
		class   string
		odd     bool
	}{
		"alike":             {[]time.Duration{ms, ms, ms, 2 * ms}, "SATA SSD with power", false},
		"one client stalls": {[]time.Duration{40 * ms, ms, ms, 2 * ms}, "SATA SSD with power", true},
		"one client is fast (a cache that fills)": {[]time.Duration{10 * time.Microsecond, 8 * ms, 8 * ms, 7 * ms}, "15k disk", true},
		"another step stalls":                     {[]time.Duration{ms, 40 * ms, ms, 2 * ms}, "SATA SSD with power", false},
		"at the border of two classes":            {[]time.Duration{1400 * time.Microsecond, 1600 * time.Microsecond, 2 * ms}, "SATA SSD with power", false},
		"two steps":                               {[]time.Duration{40 * ms, ms}, "slower than a single disk", false},
	} {
		p := &probe{out: &record.Probe{Verdict: record.Honest}}
		for i, flush := range x.flushes {
			at := int64(flush)
			p.out.Steps = append(p.out.Steps, record.ProbeStep{Profile: spec.ProbeJournal, Clients: 1 << i,
				Flush: &record.Latency{Count: 100, Mean: float64(at), P50: &at}})
		}
		j := &record.ProbeJournalResult{Flush: p.out.Steps[0].Flush}
		p.doubtOddFlush(j)
		class := classOf(j, p.out)
		if odd := len(p.out.Validity) == 1 && p.out.Validity[0].ID == "odd-step"; !strings.HasPrefix(class.Name, x.class) ||
			odd != x.odd || odd && (p.out.Validity[0].Severity != measure.Warning || !strings.Contains(class.Text, "with one client")) {
			t.Errorf("%s: %s (%s), findings %v", name, class.Name, class.Text, p.out.Validity)
		}
	}
}
