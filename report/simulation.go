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
	d.refuse(s.Refused)
	d.Sections = appendFilled(nil, Section{Title: "refused", Lines: s.Refused}, simulatedLoad(s), simulatedFailures(s))
	if s.Document == nil {
		d.Sections = appendFilled(d.Sections, simulatedChecks("records that did not calibrate it", "measured", s.Checks))
	} else {
		d.Sections = appendFilled(d.Sections, simulatedChecks("stated figures that did not calibrate it", "stated", s.Checks),
			simulatedChecks("stated figures that calibrated it", "stated", s.Document.Calibrated),
			Section{Title: "calibration", Lines: []string{s.Document.Rule}, Facts: statedFacts(s.Document.Parameters)},
			Section{Title: "deployment of " + s.Document.Title, Facts: statedFacts(s.Document.Hardware)})
	}
	d.Sections = appendFilled(d.Sections, Section{Title: "left out", Lines: s.LeftOut})
	return d
}

// simulatedChecks is a table of figures beside their simulation.
func simulatedChecks(title, measured string, checks []record.SimulationCheck) Section {
	s := Section{Title: title, Table: &Table{Left: 2, Last: 1,
		Header: []string{"setup", "metric", "simulated", measured, "error", "limit", "reproduced"}}}
	for _, c := range checks {
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
		s.Table.row(c.Setup, strings.ReplaceAll(c.Metric, "_", " "), text(c.Simulated), text(c.Measured), signed(c.Error),
			figure.Percent(c.Limit), held)
	}
	return s
}

func statedFacts(list []record.SimulationFact) (facts []Fact) {
	for _, f := range list {
		facts = append(facts, Fact{Name: f.Says, Value: f.Value})
	}
	return facts
}

func simulationTitle(s *record.Simulation) string {
	n := s.Deployment.Shards
	text := figure.Plural(int(n*s.Deployment.Members), "node")
	if n > 1 {
		text += fmt.Sprintf(" (%d shards of %d)", n, s.Deployment.Members)
	}
	var say []string
	if s.Load != nil {
		say = append(say, figure.Rate(s.Load.Rate)+" ok/s")
		if s.Load.P99 > 0 {
			say = append(say, "p99 "+ns64(s.Load.P99))
		}
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
	write := "mean " + ns64(int64(l.Mean))
	if l.P99 > 0 {
		write += fmt.Sprintf(", p50 %s, p99 %s (%s to %s with the syncs of each step of the probe)", ns64(l.P50), ns64(l.P99),
			ns64(l.P99Low), ns64(l.P99High))
	}
	facts := []Fact{{Name: "throughput", Value: figure.Rate(l.Rate) + " ok/s"}, {Name: "durable write", Value: write},
		{Name: "busy", Value: fmt.Sprintf("journal %s, cores %s", figure.Percent(l.Journal), figure.Percent(l.CPU))}}
	if l.Misses > 0 {
		facts = append(facts, Fact{Name: "cache", Value: figure.Significant(l.Misses) + " pages read for each operation"})
	}
	if l.Checkpoints > 0 {
		facts = append(facts, Fact{Name: "checkpoints", Value: "run for " + figure.Percent(l.Checkpoints) + " of the time"})
	}
	if x := l.Slower; x != nil {
		facts = append(facts, slowerFacts(x)...)
	} else if l.Lag > 0 {
		facts = append(facts, Fact{Name: "replication lag", Value: "p99 " + ns64(l.Lag) + " of the slowest member"})
	}
	return Section{Title: "load", Facts: facts}
}

// slowerFacts says whether slower members keep up. A lag that grows by less than a hundredth is noise.
func slowerFacts(x *record.SimulationSlower) (facts []Fact) {
	lag := "the slower members keep up"
	if x.Grows > 0.01 {
		lag = "a slower member falls behind by " + figure.Duration(time.Duration(x.Grows*float64(time.Hour))) + " in an hour"
	}
	facts = append(facts, Fact{Name: "replication lag", Value: lag})
	if x.Target > 0 {
		limits := "does not limit writes"
		if x.Limited > 0 {
			limits = fmt.Sprintf("limits writes for %s of the time; the majority is %s behind on average",
				figure.Percent(x.Limited), ns64(x.Majority))
		}
		facts = append(facts, Fact{Name: "flow control", Value: limits + " (target " + ns64(x.Target) + ")"})
	}
	return facts
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
	if c := f.Cold; c != nil {
		effect := "fewer are done"
		if c.Waiting {
			effect = "wait for others"
		}
		facts = append(facts, Fact{Name: "caches", Value: fmt.Sprintf("after %s not full, slow for %s in all, the longest %s; %s operations %s",
			figure.Plural(c.Outages, "outage"), seconds(c.Seconds), seconds(c.Longest), figure.Count(int64(c.Operations)), effect)})
	}
	return Section{Title: "failures", Facts: facts}
}

func simulationKind() *kind { return kindOf("a simulation", figureless(simulationDocument)) }
