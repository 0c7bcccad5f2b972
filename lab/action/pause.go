package action

import (
	"context"
	"errors"
	"fmt"

	"github.com/plimsoll-bench/plimsoll/internal/wait"
	"github.com/plimsoll-bench/plimsoll/record"
)

var pause = Action{
	Apply: func(ctx context.Context, j *Job) error {
		if j.Node != nil {
			return j.Node.Pause()
		}
		return j.Host.Pause(ctx)
	},
	Undo: func(ctx context.Context, j *Job) error {
		if j.Node != nil {
			return j.Node.Resume()
		}
		return j.Host.Resume(ctx)
	},
	Witness: processesPaused,
}

// processesPaused checks that the kernel reports the processes as stopped, or that their connections hang while they
// use no processor time.
func processesPaused(ctx context.Context, s *Scene) (string, error) {
	before := s.Before.processes(s.Target)
	if len(before) == 0 {
		return "", fmt.Errorf("%s has no process that is visible to this process", s.Target)
	}
	stopped := 0
	used := uint64(0)
	for pid, born := range before {
		p, ok := processOf(pid)
		if !ok || p.born != born {
			stopped++ // it has ended
			continue
		}
		used += p.ticks
		if p.state == "T" || p.state == "t" {
			stopped++
		}
	}
	if stopped == len(before) {
		return fmt.Sprintf("the kernel reports all %s of %s as stopped", processes(stopped), s.Target), nil
	}
	if !allHang(ctx, s.Before.Members(s.Target)) {
		return "", nil
	}
	after := uint64(0)
	for pid, born := range before {
		if p, ok := processOf(pid); ok && p.born == born {
			after += p.ticks
		}
	}
	if after > used {
		return "", nil
	}
	return fmt.Sprintf("connections to %s hang, and its processes use no processor time", s.Target), nil
}

// allHang probes all members at the same time.
func allHang(ctx context.Context, members []record.LabMember) bool {
	return wait.Each(members, func(m record.LabMember) error {
		if probe(ctx, m) != hung {
			return errors.New(m.Name + " answers")
		}
		return nil
	}) == nil
}
