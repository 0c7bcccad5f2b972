package judge

import (
	"fmt"
	"slices"
	"strings"

	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// diskUses are what MongoDB uses a disk for, each with the figure of a probe that decides: the highest rate of durable
// commits, the p99 of commits during checkpoints, and the highest rate of random reads.
var diskUses = []Metric{
	{Name: "journal", Unit: measure.UnitRate, Higher: true},
	{Name: "checkpoint", Unit: measure.UnitTime},
	{Name: "random-reads", Unit: measure.UnitRate, Higher: true},
}

// probesAt returns the directories of the probes at or below a directory, nil if it has other records.
func probesAt(top string) []string {
	list, _ := record.Find(top, record.KindProbe, record.KindRun, record.KindStudy)
	if slices.ContainsFunc(list, func(dir string) bool { return record.KindIn(dir) != record.KindProbe }) {
		return nil
	}
	return list
}

// AreProbes reports whether all arguments of a comparison are probes, or directories with probes and no runs.
func AreProbes(names []string) bool {
	for _, name := range names {
		if len(probesAt(name)) == 0 {
			return false
		}
	}
	return len(names) > 0
}

// CompareProbes compares disks: each argument is a probe, or a directory with several of the same disk. There is a
// comparison for each use that the probes measured.
func CompareProbes(names []string, o CompareOptions) (*record.ComparisonReport, error) {
	var sides []Side
	for i, name := range names {
		side := Side{Name: name}
		if i < len(o.Names) {
			side.Name = o.Names[i]
		}
		for _, dir := range probesAt(name) {
			p, err := record.OpenProbe(dir)
			if err != nil {
				side.Trials = append(side.Trials, Trial{Record: dir, Why: "unreadable"})
				continue
			}
			side.Trials = append(side.Trials, probeTrial(dir, p))
		}
		if len(side.Trials) == 0 {
			return nil, fmt.Errorf("%s has no probe. Give the records of plimsoll disk", name)
		}
		sides = append(sides, side)
	}
	o.disks, o.Metrics = true, nil
	return Compare(sides, o)
}

func probeTrial(dir string, p *record.Probe) Trial {
	t := Trial{Record: dir, Started: p.Started, Values: probeValues(p), Facts: probeFacts(p)}
	t.Why, t.Doubts = reasonsOf(p.Validity)
	switch {
	case t.Why != "":
	case p.Status != record.Complete:
		t.Why = string(p.Status)
	case len(t.Values) == 0:
		t.Why = "nothing was measured"
	}
	return t
}

// probeValues are the figures of a probe by the uses of a disk.
func probeValues(p *record.Probe) map[string]float64 {
	values := map[string]float64{}
	if p.Journal != nil && p.Journal.Ceiling > 0 {
		values["journal"] = p.Journal.Ceiling
	}
	if c := p.Checkpoint; c != nil && c.Inside != nil && c.Inside.P99 != nil {
		values["checkpoint"] = float64(*c.Inside.P99)
	}
	for _, s := range p.ProfileSteps(spec.ProbeRandom) {
		if s.Operation == "read" && s.Rate > 0 {
			values["random-reads"] = max(values["random-reads"], s.Rate)
		}
	}
	return values
}

// probeFacts are what was asked of a disk, the disk, and the machine.
func probeFacts(p *record.Probe) Facts {
	f := Facts{}
	f.put("probe", p.Specification)
	f.put("storage", p.Storage)
	f.addEnvironment(p.Environment)
	for path := range f {
		if strings.HasPrefix(path, "environment.filesystem.") || path == "environment.gomaxprocs" {
			delete(f, path) // it is the disk
		}
	}
	f.put("tool", p.Tool)
	return f
}
