package report

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/record"
)

// simulationDocument is what a simulation says about a deployment, after its gate.
func simulationDocument(s *record.Simulation) *Document {
	d := &Document{Title: simulationTitle(s), Grade: gradeOf(s.Validity, record.Complete),
		Findings: findingPoints(s.Validity)}
	d.Brief, d.Verdict = doubt(s.Validity)
	checks := Section{Title: "records that did not calibrate it", Table: &Table{Left: 2,
		Header: []string{"setup", "metric", "simulated", "measured", "error", "limit", "reproduced"}, Last: 1}}
	for _, c := range s.Checks {
		text := func(x float64) string {
			if c.Metric == record.CheckThroughput {
				return figure.Rate(x) + "/s"
			}
			return ns64(int64(x))
		}
		held := "yes"
		if !c.Holds {
			held = "no"
		}
		checks.Table.row(c.Setup, c.Metric, text(c.Simulated), text(c.Measured), signed(c.Error), figure.Percent(c.Limit),
			held)
	}
	d.Sections = appendFilled(nil, Section{Title: "refused", Lines: s.Refused}, simulatedLoad(s), simulatedFailures(s), checks,
		Section{Title: "left out", Lines: s.LeftOut})
	return d
}

func simulationTitle(s *record.Simulation) string {
	n := s.Deployment.Shards
	text := figure.Plural(int(n*s.Deployment.Members), "node")
	if n > 1 {
		text += fmt.Sprintf(" (%d shards of %d)", n, s.Deployment.Members)
	}
	var say []string
	if s.Load != nil {
		say = append(say, figure.Rate(s.Load.Rate)+" ok/s, p99 "+ns64(s.Load.P99))
	}
	if s.Failures != nil {
		say = append(say, "available "+available(s.Failures))
	}
	if len(s.Refused) > 0 {
		say = append(say, "refused: "+refusedParts(s))
	}
	return text + ": " + strings.Join(say, ", ")
}

// available has five digits after the point: one second of a day is 0.001 %.
func available(f *record.SimulationFailures) string {
	return strconv.FormatFloat(100*f.Available, 'f', 5, 64) + " %"
}

// refusedParts names the parts of the question that are not answered.
func refusedParts(s *record.Simulation) string {
	var parts []string
	for _, r := range s.Refused {
		part, _, _ := strings.Cut(r, ":")
		parts = append(parts, part)
	}
	return strings.Join(parts, " and ")
}

func simulatedLoad(s *record.Simulation) Section {
	l := s.Load
	if l == nil {
		return Section{}
	}
	facts := []Fact{{Name: "throughput", Value: figure.Rate(l.Rate) + " ok/s"},
		{Name: "durable write", Value: fmt.Sprintf("mean %s, p50 %s, p99 %s (%s to %s with the syncs of each step of the probe)",
			ns64(int64(l.Mean)), ns64(l.P50), ns64(l.P99), ns64(l.P99Low), ns64(l.P99High))},
		{Name: "busy", Value: fmt.Sprintf("journal %s, cores %s", figure.Percent(l.Journal), figure.Percent(l.CPU))}}
	if l.Misses > 0 {
		facts = append(facts, Fact{Name: "cache", Value: figure.Significant(l.Misses) + " pages read for each operation"})
	}
	if l.Lag > 0 {
		facts = append(facts, Fact{Name: "replication lag", Value: "p99 " + ns64(l.Lag) + " of the slowest member"})
	}
	return Section{Title: "load", Facts: facts}
}

func simulatedFailures(s *record.Simulation) Section {
	f := s.Failures
	if f == nil {
		return Section{}
	}
	seconds := func(x float64) string { return figure.Duration(time.Duration(x * float64(time.Second))) }
	facts := []Fact{{Name: "time", Value: seconds(f.Seconds) + ", " + figure.Plural(f.Failures, "failure")},
		{Name: "outages", Value: fmt.Sprintf("%d, of which %d without a majority; the longest %s", f.Outages, f.Majority, seconds(f.Longest))},
		{Name: "available", Value: available(f) + " of the time of a shard; " + seconds(f.Down) + " of outages in all shards"},
		{Name: "members away", Value: seconds(f.Away) + " in which a shard had a primary and not all members"}}
	if f.P99 != nil {
		facts = append(facts, Fact{Name: "durable write", Value: "p99 " + ns64(*f.P99) + " with the writes that wait for the end of an outage"})
	}
	return Section{Title: "failures", Facts: facts}
}
