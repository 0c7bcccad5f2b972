package suite

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/plimsoll-bench/plimsoll/disk"
	"github.com/plimsoll-bench/plimsoll/internal/expression"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// Defaults of probes in a suite: small enough to be one part of many.
const (
	probeSize     = 64 << 20
	probeDuration = 3 * time.Second
)

// probeSpec is the specification of the probe of a part, in a directory.
func probeSpec(dir string, p spec.PartProbe) (record.ProbeSpec, error) {
	s := disk.Defaults(dir)
	s.Profiles, s.Size, s.Duration, s.Fallback = []string{spec.ProbeRandom}, probeSize, int64(probeDuration), true
	if len(p.Profiles) > 0 {
		s.Profiles = p.Profiles
	}
	if len(p.Operations) > 0 {
		s.Operations = p.Operations
	}
	s.Mode, s.Size = cmp.Or(p.Mode, s.Mode), cmp.Or(int64(p.Size), s.Size)
	s.Block, s.Duration = cmp.Or(int64(p.Block), s.Block), cmp.Or(int64(p.Duration), s.Duration)
	if len(p.Threads) > 0 {
		s.Ramp, s.Clients = nil, nil
		for _, n := range p.Threads {
			s.Ramp, s.Clients = append(s.Ramp, int(n)), append(s.Clients, int(n))
		}
	}
	s.Segment, s.Dirty = min(s.Segment, max(s.Size/2, 4<<20)), min(s.Dirty, max(s.Size/2, 1<<20))
	s.Period = max(min(s.Period, s.Duration/4), int64(50*time.Millisecond)) // several checkpoints within a short step
	return s, disk.Check(&s)
}

var notInLabs = expression.New(`[^a-z0-9-]+`)

// probeLab is the lab of a probe: one volume and nothing else.
func probeLab(part string, p spec.PartProbe) (spec.Lab, error) {
	l := spec.Lab{Name: probeLabName(part), Storage: p.Storage, Engine: spec.Engine{Name: spec.LabNone}}
	l.Storage.Faults = l.Storage.Faults || p.PowerCut
	err := l.Complete()
	return l, err
}

func probeLabName(part string) string {
	const longest = 26 // of the 32 of a name
	name := strings.Trim(notInLabs().ReplaceAllString(strings.ToLower(part), "-"), "-")
	return "probe-" + name[:min(len(name), longest)]
}

// powerCut cuts the power of the volume of a probe with a power cut; nil for other probes. end releases it.
func (p *Parts) powerCut(ctx context.Context, plan record.PartPlan) (cutter disk.PowerCutter, end func(), err error) {
	if !plan.Probe.PowerCut {
		return nil, func() {}, nil
	}
	cutter, end, err = p.Volumes.Cutter(ctx, probeLabName(plan.Name))
	if err != nil {
		return nil, nil, fmt.Errorf("cannot cut the power of the volume: %w", err)
	}
	return cutter, end, nil
}
