package simulatedtest

import (
	"math"
	"math/rand/v2"
	"time"

	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// trial is one trial being made up.
type trial struct {
	target  Target
	load    spec.Load
	rng     *rand.Rand
	trouble Trouble
	started time.Time
	warmup  time.Duration

	base    float64 // operations per second of a closed loop, or the limit of an open one, as a whole
	service float64 // closed loop: seconds that an operation takes at least, as a whole
	tail    float64 // factor of all response times
	times   table   // closed loop: multiples of the mean; open loop: seconds
	second  float64 // log of the factor of this interval
	owed    float64 // part of an operation that the next interval does
	behind  float64 // operations of an open loop that wait
	counts  []int64

	end     time.Duration
	endedBy string
	unsent  int64
}

// next is the next value of an AR(1) process with a stationary standard deviation: φx + √(1−φ²)·σε.
func next(rng *rand.Rand, last, sigma, phi float64, first bool) float64 {
	if sigma == 0 {
		return 0
	}
	if first {
		return sigma * rng.NormFloat64()
	}
	return phi*last + math.Sqrt(1-phi*phi)*sigma*rng.NormFloat64()
}

func newTrial(r *Runner, asked spec.Run, rng *rand.Rand, trouble Trouble) *trial {
	t := &trial{target: r.target, load: asked.Load, rng: rng, trouble: trouble, started: r.clock.Now(),
		warmup: asked.Load.Warmup.Std()}
	if t.load.Workers == 0 {
		t.load.Workers = 1
	}
	factor := r.target.effect(asked) * math.Exp(r.noise)
	if r.target.Session > 0 {
		factor *= 1 + r.target.Drift*t.started.Sub(Epoch).Seconds()/r.target.Session.Seconds()
	}
	if trouble.Slow > 0 {
		factor /= trouble.Slow
	}
	t.tail = math.Exp(next(rng, 0, r.target.TailNoise, 0, true))
	t.second = next(rng, 0, r.target.SecondNoise, 0, true)
	if asked.Load.Open() {
		servers := min(r.target.Servers, int(t.load.Workers))
		service := r.target.Service.Seconds() / factor
		t.base = float64(servers) / service
		t.times = newQueue(servers, service, min(float64(t.load.Rate), 0.98*t.base)).table()
	} else {
		t.base = r.target.Throughput(int(t.load.Workers)) * factor
		t.service = r.target.Service.Seconds() / factor
		t.times = r.shape
	}
	return t
}

// mostIntervals ends trials that would never end by themselves.
const mostIntervals = 1_000_000

// intervals makes up the course of the trial.
func (t *trial) intervals() []*measure.Interval {
	var list []*measure.Interval
	for t.end < t.warmup {
		list = append(list, t.interval("warmup", min(t.target.Interval, t.warmup-t.end), math.MaxInt64))
	}
	until, left := t.warmup+t.load.Duration.Std(), int64(t.load.Operations)
	if left == 0 {
		left = math.MaxInt64
	}
	t.endedBy = "duration"
	for len(list) < mostIntervals && left > 0 {
		length := t.target.Interval
		if t.load.Duration > 0 {
			if length = min(length, until-t.end); length <= 0 {
				break
			}
		}
		iv := t.interval("measure", length, left)
		list = append(list, iv)
		if left != math.MaxInt64 {
			left -= attempted(iv)
			t.endedBy = "operations"
		} else if t.load.Duration == 0 {
			break
		}
	}
	t.unsent = int64(t.behind)
	return list
}

func attempted(iv *measure.Interval) int64 {
	var n int64
	for _, c := range iv.Classes {
		for _, x := range c.Counts {
			n += x
		}
	}
	return n
}

// interval makes up the next interval, of at most so many operations.
func (t *trial) interval(phase string, length time.Duration, most int64) *measure.Interval {
	iv := &measure.Interval{Phase: phase, Start: t.end, End: t.end + length, Workers: int(t.load.Workers), Samples: 1}
	factor := t.course(iv.Start, iv.End)
	if t.load.Open() {
		t.open(iv, factor)
	} else {
		t.closed(iv, factor, most)
	}
	t.end = iv.End
	served := 0.0
	for i := range iv.Classes {
		served += float64(iv.Classes[i].Service.Sum() + iv.Classes[i].Failed.Sum())
	}
	width := iv.End - iv.Start
	iv.InFlight = served / float64(width)
	iv.Client.CPU = time.Duration(t.trouble.ClientShare * cores * float64(width))
	return iv
}

// closed fills an interval of a closed loop. One that would do more than is left ends earlier.
func (t *trial) closed(iv *measure.Interval, factor float64, most int64) {
	rate := t.base * factor
	length := (iv.End - iv.Start).Seconds()
	done := rate*length + t.owed
	n := int64(done)
	t.owed = done - float64(n)
	if n >= most {
		n, t.owed = most, 0
		iv.End = iv.Start + max(1, time.Duration(float64(n)/rate*1e9))
	}
	response := max(float64(t.load.Workers)/rate-t.target.Think.Seconds(), t.service/factor)
	t.fill(iv, n, response*t.tail, 0)
}

// open fills an interval of an open loop: what falls due is served at once as long as the servers keep up, and waits
// otherwise (a fluid approximation of the backlog).
func (t *trial) open(iv *measure.Interval, factor float64) {
	length := (iv.End - iv.Start).Seconds()
	due := float64(t.load.Rate)*length + t.owed
	if t.load.Arrivals != "constant" {
		due += math.Sqrt(due) * t.rng.NormFloat64()
	}
	iv.Offered = max(0, int64(due))
	if t.load.Arrivals == "constant" {
		t.owed = due - float64(iv.Offered)
	}
	before, limit := t.behind, t.base*factor
	served := min(before+float64(iv.Offered), limit*length)
	t.behind = max(0, before+float64(iv.Offered)-served)
	delay := (before + t.behind) / 2 / limit
	if t.behind < 1 && before < 1 {
		delay = 0
	}
	t.fill(iv, int64(math.Round(served)), t.tail/factor, delay)
}

// fill counts n operations with the times of the table, as multiples of unit seconds, after a delay in seconds.
func (t *trial) fill(iv *measure.Interval, n int64, unit, delay float64) {
	iv.Classes = make([]measure.ClassInterval, len(t.target.Classes))
	left, share := n, 1.0
	for i, class := range t.target.Classes {
		mine := left
		if i < len(t.target.Classes)-1 {
			mine = int64(math.Round(float64(left) * class.Share / share))
		}
		left, share = left-mine, share-class.Share
		failed := int64(math.Round(t.trouble.Errors * float64(mine)))
		c := &iv.Classes[i]
		c.Counts = []int64{mine - failed, failed}
		c.Attempts = mine
		t.record(c, mine-failed, unit*class.Time, delay)
		if failed > 0 {
			c.Failed = measure.NewHistogram()
			c.Failed.RecordN(int64((unit*t.times.mean()+delay)*1e9), failed)
		}
	}
}

// record fills the histograms of a class.
func (t *trial) record(c *measure.ClassInterval, n int64, unit, delay float64) {
	c.Service = measure.NewHistogram()
	if t.load.Open() {
		c.Wait = measure.NewHistogram()
		c.Wait.RecordN(int64(delay*1e9), n+c.Counts[1])
	}
	if delay > 0 {
		c.Response = measure.NewHistogram()
	}
	t.counts = spread(n, t.counts)
	for i, count := range t.counts {
		if count == 0 {
			continue
		}
		ns := int64(t.times[i] * unit * 1e9)
		c.Service.RecordN(ns, count)
		if delay > 0 {
			c.Response.RecordN(ns+int64(delay*1e9), count)
		}
	}
	if t.load.Open() && c.Response == nil {
		c.Response = c.Service.Clone()
	}
}

// course is the factor of the throughput between two moments of the trial.
func (t *trial) course(from, to time.Duration) float64 {
	g := &t.target
	t.second = next(t.rng, t.second, g.SecondNoise, g.SecondAR, false)
	factor := math.Exp(t.second) * (1 + g.Trend*((from+to)/2).Hours())
	if g.Warmup > 0 && g.WarmupTime > 0 {
		tau := g.WarmupTime.Seconds()
		mean := tau / (to - from).Seconds() * (math.Exp(-from.Seconds()/tau) - math.Exp(-to.Seconds()/tau))
		factor *= 1 - g.Warmup*mean
	}
	if g.Checkpoint > 0 {
		begin := t.started.Sub(Epoch)
		factor *= 1 - g.Checkpoint*float64(g.dips(begin+to)-g.dips(begin+from))/float64(to-from)
	}
	return max(factor, 0.001)
}

// dips returns the share of the session so far that were checkpoints.
func (t *Target) dips(at time.Duration) time.Duration {
	return at/t.Cycle*t.DipLength + min(at%t.Cycle, t.DipLength)
}
