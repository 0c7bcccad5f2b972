package fit

import (
	"cmp"
	"time"

	"github.com/plimsoll-bench/plimsoll/spec"
	"github.com/plimsoll-bench/plimsoll/study"
)

// What parts of a suite are assumed to take, measured with documentdb on two cores that had nothing else to do, and a
// little more: bringing a lab up and removing it, and loading its documents (16 MB/s on half a core, 32 on one). A
// machine that is slower is found out while the suite is under way.
const (
	fitLab      = 3.0      // seconds for one server
	fitSet      = 5.0      // for a set of three
	fitVolume   = 3.0      // for a volume without a server
	fitFill     = 12 << 20 // bytes of documents per second, on half a core
	fitFillCore = 20 << 20 // … on a core
	fitAudit    = 1.0      // seconds of a round of a drill to read back what was written
	fitRecovery = 2.0      // until what was broken is whole again
	fitFile     = 200e6    // bytes per second while the file of a probe is written
	fitPower    = 4.0      // seconds for a power cut, until the volume is mounted again and was read
	fitDocument = 1100     // bytes
)

// estimate fills in how long a part takes, and reports whether it could be planned.
func (p *Part) estimate() bool {
	switch {
	case p.Out:
		p.Estimate = 0
		return true
	case p.Under != nil:
		p.Estimate = p.Under.Takes(p.Under.Trials) // measured here already
		return true
	case p.Study != nil:
		if !p.estimateStudy() {
			return false
		}
	case p.Drill != nil:
		p.Estimate = drillSeconds(p.Drill)
	case p.Probe != nil:
		p.Estimate = probeSeconds(p.Probe)
	}
	if p.Pace > 0 {
		p.Estimate *= p.Pace
	}
	return true
}

func (p *Part) estimateStudy() bool {
	asked := *p.Study
	asked.Budget = 0
	o := study.PlanOptions{Check: func(spec.Run) error { return nil }, OnlyTime: true}
	if asked.Lab != nil {
		o.FillRate, o.RedeployOf = fillRate(asked.Lab), labSeconds
	}
	if asked.Validate() != nil { // a step made too little of it
		return false
	}
	plan, err := study.NewPlan(asked, o)
	if err != nil {
		return false
	}
	p.Estimate = plan.Estimate.Seconds
	if pr := asked.Procedures; pr != nil && pr.Steady != nil && pr.Steady.By == "duration" &&
		pr.Steady.To <= 2*study.CyclesToSettle {
		// A search as short as that mostly ends with its last step, and the trials are as long as that then.
		p.Estimate += float64(len(plan.Trials)) * max(0, float64(pr.Steady.To)-asked.Run.Load.Duration.Std().Seconds())
	}
	if len(plan.Configurations) > 0 {
		p.baseline = plan.Configurations[0].Levels
	}
	return true
}

// fillRate is the number of bytes of documents that a lab loads per second. A core loads more than half of one.
func fillRate(l *spec.Lab) float64 {
	if l.Hosts.Cores == 0 || l.Hosts.Cores >= 1 {
		return fitFillCore
	}
	return fitFill
}

// labSeconds is the time to bring a lab up and to remove it.
func labSeconds(l *spec.Lab) float64 {
	if severalServers(l) {
		return fitSet
	}
	return fitLab
}

func severalServers(l *spec.Lab) bool {
	return l != nil && l.Topology.Kind != spec.LabStandalone && l.Topology.Kind != ""
}

func drillSeconds(s *spec.Drill) float64 {
	d := *s
	up := labSeconds(d.Lab)
	if !d.Run.LoadPhase.Skip {
		up += float64(d.Run.Workload.Records) * fitDocument / fitFill
	}
	rounds := max(1, float64(d.Repeat))
	ups := 1.0
	if d.Fresh {
		ups = rounds
	}
	load := d.Run.Load.Warmup.Std() + d.Measured()
	return ups*up + d.Delay().Seconds() + rounds*(load.Seconds()+fitRecovery+fitAudit)
}

// The defaults of a probe: the steps of the profile random for each of its operations, and one for other profiles.
const (
	probeOperations = 3
	probeThreads    = 6
	probeDuration   = 10 * time.Second
)

func probeSeconds(s *spec.PartProbe) float64 {
	profiles := s.Profiles
	if len(profiles) == 0 {
		profiles = []string{spec.ProbeRandom} // what a probe does that names none
	}
	steps := 0
	for _, profile := range profiles {
		if profile != spec.ProbeRandom {
			steps++
			continue
		}
		steps += cmp.Or(len(s.Operations), probeOperations) * cmp.Or(len(s.Threads), probeThreads)
	}
	d := cmp.Or(s.Duration.Std(), probeDuration)
	seconds := fitVolume + float64(s.Size)/fitFile + float64(steps)*d.Seconds()
	if s.PowerCut {
		seconds += fitPower
	}
	return seconds
}
