package capacity

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
	"github.com/plimsoll-bench/plimsoll/workload"
	"github.com/plimsoll-bench/plimsoll/workload/capture"
	"github.com/plimsoll-bench/plimsoll/workload/own"
	"github.com/plimsoll-bench/plimsoll/workload/recorded"
)

// Mix is how many operations of each kind, as servers count them, one operation of a workload makes: documents for
// insert, statements for update and delete, commands for the others.
type Mix map[string]float64

// mixed is how many operations are made to learn a mix.
const mixed = 20_000

// MixOf learns the mix of the workload of a run. open opens a recording.
func MixOf(asked spec.Run, open func(name string) (io.ReadCloser, error)) (Mix, error) {
	if asked.Load.Replay != "" {
		once := func() (io.ReadCloser, error) { return open(asked.Load.Replay) }
		r, err := recorded.OpenReplay(once, workload.Spec{Seed: 1})
		if err != nil {
			return nil, err
		}
		return mixOf(r, min(mixed, r.Total())), nil
	}
	w, err := own.Open(workload.Spec{Text: asked.Workload.Text(), Name: asked.Workload.Name, Mode: asked.Workload.Mode,
		Records: int64(asked.Workload.Records), Seed: asked.Workload.Seed, Params: asked.Workload.Params, Open: open})
	if err != nil {
		return nil, err
	}
	return mixOf(w, mixed), nil
}

func mixOf(w workload.Workload, operations int64) Mix {
	worker := 0
	if listening, ok := w.(interface{ Readers() int }); ok {
		worker = listening.Readers() // behind the readers of change streams
	}
	mix, stream := Mix{}, w.Stream(worker, worker+1)
	var op workload.Op
	for n := range operations {
		if stream.Turn != nil {
			stream.Turn(n)
		}
		stream.Next(&op)
		for i := range op.Requests {
			switch r := &op.Requests[i]; r.Verb {
			case workload.Insert:
				mix["insert"] += float64(len(r.Docs))
			case workload.Update, workload.Delete:
				mix[r.Verb.String()] += float64(len(r.Updates))
			case workload.Find, workload.Aggregate, workload.FindAndModify, workload.Distinct:
				mix[r.Verb.String()]++
			case workload.Watch, workload.Commit, workload.Abort: // no operations on documents
			}
			if stream.Listens != nil && stream.Listens(&op, i) { // later requests are made of the answer
				stream.Answer(&op, i, nil)
			}
		}
		if stream.Done != nil {
			stream.Done(&op, true)
		}
	}
	for kind := range mix {
		mix[kind] /= float64(operations)
	}
	return mix
}

// sum is the number of operations, as servers count them, of one operation of the workload.
func (m Mix) sum() (sum float64) {
	for _, kind := range slices.Sorted(maps.Keys(m)) { // always the same sum
		sum += m[kind]
	}
	return sum
}

// rare is the share below which a kind of operations is no difference between workloads.
const rare = 0.01

// Place places a present load beside the safe line of a capacity, or its first line with a rate. A nil mix is unknown;
// then why says the reason. The cost of kinds is assumed to add up: a load in which each kind is at most half of that
// at the line is at most half of the line.
func Place(p *record.PresentLoad, c *record.Capacity, mix Mix, why error) {
	l := c.SafeLine()
	if l == nil || !l.Has() {
		if i := slices.IndexFunc(c.Lines, func(l record.LoadLine) bool { return l.Has() }); i >= 0 {
			l = &c.Lines[i]
		}
	}
	measured := mix.sum()
	switch {
	case l == nil || !l.Has():
		p.Problem = "the capacity has no line with a rate"
		return
	case why != nil:
		p.Problem = "the operations of the measured workload are unknown: " + why.Error()
	case measured <= 0:
		p.Problem = "the measured workload has no operations on documents"
	}
	p.Line, p.PerOperation = l.Name, 1
	if p.Problem == "" {
		p.PerOperation = measured
	}
	share := p.Rate / (l.Rate * p.PerOperation)
	p.Share = &share
	if p.Problem != "" || p.Rate <= 0 {
		return
	}
	compareMix(p, mix, l)
}

// compareMix compares the kinds of operations of a present load with those of the workload of a line, and finds the
// ends of its share of the line.
func compareMix(p *record.PresentLoad, mix Mix, l *record.LoadLine) {
	for kind := range mix {
		if !slices.ContainsFunc(p.ByOperation, func(o record.PresentOperation) bool { return o.Name == kind }) {
			p.ByOperation = append(p.ByOperation, record.PresentOperation{Name: kind})
		}
	}
	sortOperations(p)
	apart, least, most := 0.0, math.Inf(1), 0.0
	for i := range p.ByOperation {
		o := &p.ByOperation[i]
		share := mix[o.Name] / mix.sum()
		o.Measured = &share
		apart += math.Abs(o.Share-share) / 2
		if o.Share < rare && share < rare {
			continue
		}
		part := o.Rate / (l.Rate * mix[o.Name]) // +Inf if the workload has none
		least, most = min(least, part), max(most, part)
	}
	p.Apart = &apart
	if low := least * l.Rate; l.High != nil && *l.High > 0 {
		low /= *l.High
		p.Low = &low
	}
	if high := most * l.Rate; l.Low != nil && *l.Low > 0 && !math.IsInf(most, 0) {
		high /= *l.Low
		p.High = &high
	}
}

// sortOperations puts the most frequent kinds of operations first.
func sortOperations(p *record.PresentLoad) {
	slices.SortFunc(p.ByOperation, func(a, b record.PresentOperation) int {
		return cmp.Or(cmp.Compare(b.Rate, a.Rate), cmp.Compare(a.Name, b.Name))
	})
}

// Growth is the growth of a load: by a share in a period.
type Growth struct {
	Text   string
	share  float64
	period time.Duration
}

// day and year are those of the calendar on average.
const (
	day  = 24 * time.Hour
	year = time.Duration(365.25 * float64(day))
)

// longest is the time after which nothing is predicted.
const longest = 100 * year

// ParseGrowth reads a growth such as "4%/month".
func ParseGrowth(text string) (Growth, error) {
	percent, per, ok := strings.Cut(strings.ReplaceAll(text, " ", ""), "%/")
	period := map[string]time.Duration{"day": day, "week": 7 * day, "month": year / 12, "quarter": year / 4, "year": year}[per]
	x, err := strconv.ParseFloat(percent, 64)
	if !ok || period == 0 || err != nil || math.IsNaN(x) || math.IsInf(x, 0) || x <= -100 {
		return Growth{}, fmt.Errorf("%q is not a growth. Write a percentage and a period (day, week, month, quarter, year), such as 4%%/month", text)
	}
	return Growth{Text: text, share: x / 100, period: period}, nil
}

// Reach sets when a placed load reaches its line.
func (g Growth) Reach(p *record.PresentLoad) {
	p.Growth = g.Text
	p.ReachedAt, p.ReachedEarly = g.reached(p, p.Share), g.reached(p, p.High)
}

// reached is when a share of the line has grown to all of it, nil if that is not within the longest time.
func (g Growth) reached(p *record.PresentLoad, share *float64) *time.Time {
	if share == nil || *share <= 0 {
		return nil
	}
	periods := 0.0
	if *share < 1 {
		if periods = -math.Log(*share) / math.Log1p(g.share); !(g.share > 0) {
			return nil
		}
	}
	if periods > float64(longest)/float64(g.period) {
		return nil
	}
	at := p.From.Add(time.Duration(periods * float64(g.period)))
	return &at
}

// PresentOf is what the servers of a deployment did for clients, as it is recorded. The address has no credentials.
func PresentOf(read capture.Present, address string) *record.PresentLoad {
	p := &record.PresentLoad{From: read.Began, Duration: int64(read.Period), Source: record.PresentServer,
		Address: address, Servers: read.Servers, Unread: read.Unread, Restarted: read.Restarted, Routed: read.Routed,
		Busiest: read.Busiest, NotCounted: map[string]float64{}}
	setOperations(p, read.Kinds)
	for name, rate := range map[string]float64{
		"reads of the oplog by other members":                   read.Left.Replicating,
		"operations that members replicated":                    read.Left.Replicated,
		"reads that the primary mirrored to secondaries":        read.Left.Mirrored,
		"getMore of clients":                                    read.Left.Continuing,
		"heartbeats, handshakes, monitoring and other commands": read.Left.Commands,
	} {
		if rate > 0 {
			p.NotCounted[name] = rate
		}
	}
	for to, d := range map[**int64]time.Duration{&p.Reads: read.Reads, &p.Writes: read.Writes} {
		if ns := int64(d); ns > 0 {
			*to = &ns
		}
	}
	return p
}

// PresentRecording is the load of a recording, as it is recorded.
func PresentRecording(open func() (io.ReadCloser, error), name string) (*record.PresentLoad, error) {
	r, err := recorded.OpenReplay(open, workload.Spec{Seed: 1})
	if err != nil {
		return nil, err
	}
	p := &record.PresentLoad{From: r.Header().Began.UTC(), Duration: int64(r.Header().Length),
		Source: record.PresentRecording, Address: name}
	kinds := mixOf(r, min(mixed, r.Total()))
	for kind := range kinds {
		kinds[kind] *= r.Rate()
	}
	setOperations(p, kinds)
	return p, nil
}

// PresentDiagnosis is the load of the last hour of diagnostic data, as it is recorded. One member has no other's load.
func PresentDiagnosis(d *record.Diagnosis) (*record.PresentLoad, error) {
	if len(d.Kinds) == 0 {
		return nil, fmt.Errorf("the diagnostic data of %s have less than a minute of operations at their end", d.Server)
	}
	length := time.Duration(d.LastHour * float64(time.Second))
	p := &record.PresentLoad{From: d.To.Add(-length).UTC(), Duration: int64(length), Source: record.PresentDiagnosis,
		Address: d.Directory,
		Servers: []string{d.Server}, Busiest: d.PeakRate}
	setOperations(p, d.Kinds)
	return p, nil
}

// setOperations sets the rates of a present load, by kind.
func setOperations(p *record.PresentLoad, kinds map[string]float64) {
	p.Rate = Mix(kinds).sum()
	for kind, rate := range kinds {
		p.ByOperation = append(p.ByOperation, record.PresentOperation{Name: kind, Rate: rate, Share: rate / p.Rate})
	}
	sortOperations(p)
}
