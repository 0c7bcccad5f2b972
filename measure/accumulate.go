package measure

import (
	"cmp"
	"errors"
	"slices"
	"strings"
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"
)

// dense is a histogram for fast recording: 264 KiB of counters, so there are only a few, which are reused. Closed
// intervals have a compact [Histogram].
type dense struct {
	counts *hdr.Histogram // nil until the first value
	exact  Exact
	n      int64
}

func (d *dense) record(ns int64) {
	if d.counts == nil {
		d.counts = hdr.New(LowestValue, HighestValue, SignificantDigits)
	}
	v, outside := clamp(ns)
	if outside {
		d.exact.Outside++
	}
	if d.counts.RecordValue(v) != nil {
		return // unreachable after clamp, short of 2⁶³ values
	}
	if d.n == 0 || v < d.exact.Min {
		d.exact.Min = v
	}
	if v > d.exact.Max {
		d.exact.Max = v
	}
	d.exact.Sum = saturatingAdd(d.exact.Sum, v)
	d.n++
}

// drainInto adds the values to h, which is made if needed, and clears d.
func (d *dense) drainInto(h **Histogram) error {
	if d.n == 0 {
		return nil
	}
	if *h == nil {
		*h = NewHistogram()
	}
	before := (*h).Count()
	dropped := (*h).packed.MergeFrom(d.counts)
	err := (*h).account(before, d.n, dropped, d.exact)
	d.counts.Reset()
	d.exact, d.n = Exact{}, 0
	return err
}

// classBin accumulates one operation class in one interval.
type classBin struct {
	counts                         []int64
	docs, bytes, attempts, retries int64

	service, response, wait, failed, poolWait dense
}

// bin accumulates one interval in one shard.
type bin struct {
	start            int64 // of the interval, which identifies the bin
	classes          []classBin
	offered, dropped int64
	lateness         dense
	noticed, bare    dense
	noticeSum        int64
	lateOver         int64
	failures         map[Failure]*FailureCount
}

func newBin(d Dims) *bin {
	b := &bin{classes: make([]classBin, len(d.Classes)), failures: map[Failure]*FailureCount{}}
	for i := range b.classes {
		b.classes[i].counts = make([]int64, len(d.Outcomes))
	}
	return b
}

// add counts one sample, whose class and outcome must exist.
func (b *bin) add(s *Sample, d *Dims) {
	success, scheduled := d.Outcomes[s.Outcome].Success, d.Scheduled
	c := &b.classes[s.Class]
	if s.Late >= 0 && !d.Classes[s.Class].Part {
		b.noticeSum += s.Late
		if success {
			b.noticed.record(s.Service + s.Late)
			b.bare.record(s.Service - s.Inside)
		}
	}
	c.counts[s.Outcome]++
	c.docs += int64(s.Docs)
	c.bytes += int64(s.Bytes)
	c.attempts += int64(s.Attempts)
	c.retries += int64(s.Retries)
	if success {
		c.service.record(s.Service)
		if scheduled {
			c.response.record(s.Response)
		}
	} else if scheduled {
		c.failed.record(s.Response)
	} else {
		c.failed.record(s.Service)
	}
	if scheduled {
		c.wait.record(s.Response - s.Service)
	}
	if s.PoolWait > 0 {
		c.poolWait.record(s.PoolWait)
	}
}

// maxFailureKeys is the largest number of different failures in an interval and in a summary.
const maxFailureKeys = 200

// Other is the class and reason of the failures beyond [maxFailureKeys].
const Other = "other"

func (f Failure) other() bool { return f.Class == Other && f.Reason == Other }

// tooManyKeys reports whether another kind of failure is too many. Those of [Other], one per outcome, do not count.
func tooManyKeys(all map[Failure]*FailureCount) bool {
	if len(all) < maxFailureKeys {
		return false
	}
	n := 0
	for f := range all {
		if !f.other() {
			n++
		}
	}
	return n >= maxFailureKeys
}

// countFailure adds to the failures with the same key, or to [Other] if there are too many keys.
func countFailure(all map[Failure]*FailureCount, add FailureCount) {
	have := all[add.Failure]
	if have == nil && !add.other() && tooManyKeys(all) {
		add.Failure = Failure{Class: Other, Outcome: add.Outcome, Reason: Other}
		have = all[add.Failure]
	}
	if have == nil {
		kept := add // only a new key costs an allocation
		all[add.Failure] = &kept
		return
	}
	have.Count += add.Count
	have.Last = max(have.Last, add.Last)
	if add.First < have.First {
		have.First, have.Example = add.First, add.Example
	}
}

// drainInto moves all counts into the interval and clears b.
func (b *bin) drainInto(iv *Interval, failures map[Failure]*FailureCount) error {
	for i := range b.classes {
		if err := b.classes[i].drainInto(&iv.Classes[i]); err != nil {
			return err
		}
	}
	if err := errors.Join(b.lateness.drainInto(&iv.Lateness), b.noticed.drainInto(&iv.Noticed),
		b.bare.drainInto(&iv.Bare)); err != nil {
		return err
	}
	iv.Offered += b.offered
	iv.Dropped += b.dropped
	iv.Client.LatenessOver += b.lateOver
	iv.Client.NoticeSum += time.Duration(b.noticeSum)
	for _, f := range b.failures {
		countFailure(failures, *f)
	}
	clear(b.failures)
	b.offered, b.dropped, b.lateOver, b.noticeSum = 0, 0, 0, 0
	return nil
}

func (c *classBin) drainInto(to *ClassInterval) error {
	for i, n := range c.counts {
		to.Counts[i] += n
	}
	to.Docs += c.docs
	to.Bytes += c.bytes
	to.Attempts += c.attempts
	to.Retries += c.retries
	clear(c.counts)
	c.docs, c.bytes, c.attempts, c.retries = 0, 0, 0, 0
	return errors.Join(c.service.drainInto(&to.Service), c.response.drainInto(&to.Response), c.wait.drainInto(&to.Wait),
		c.failed.drainInto(&to.Failed), c.poolWait.drainInto(&to.PoolWait))
}

// sortedFailures lists failures by descending count, then by every part of the key.
func sortedFailures(all map[Failure]*FailureCount) []FailureCount {
	var list []FailureCount
	for _, f := range all {
		list = append(list, *f)
	}
	slices.SortFunc(list, func(a, b FailureCount) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), strings.Compare(a.Class, b.Class), strings.Compare(a.Outcome, b.Outcome),
			strings.Compare(a.Reason, b.Reason), cmp.Compare(a.Code, b.Code), strings.Compare(a.CodeName, b.CodeName),
			strings.Compare(a.Labels, b.Labels))
	})
	return list
}
