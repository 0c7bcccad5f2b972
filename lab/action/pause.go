package action

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/plimsoll-bench/plimsoll/record"
)

// Pause is the name of the action that stops processes where they are.
const Pause = "pause"

var pause = &Action{
	Name: Pause, On: Host | Member,
	Help:  "all its processes stop where they are",
	Lasts: true, Fate: Stand, TakesDown: true, Manner: record.MannerBlackHole,
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
	Witness: stands,
}

// stands sees that processes do nothing any more: the kernel says so, or a connection hangs and they use no time.
func stands(ctx context.Context, s *Scene) (string, error) {
	before := s.Before.processes(s.Target)
	if len(before) == 0 {
		return "", fmt.Errorf("no process of %s can be seen", s.Target)
	}
	stopped := 0
	used := uint64(0)
	for pid, born := range before {
		p, ok := processOf(pid)
		if !ok || p.born != born {
			stopped++ // one that ended on the way
			continue
		}
		used += p.ticks
		if p.state == 'T' || p.state == 't' {
			stopped++
		}
	}
	if stopped == len(before) {
		return fmt.Sprintf("the kernel says that all %s of %s are stopped", processes(stopped), s.Target), nil
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
	return fmt.Sprintf("connections to %s hang, and its processes use no time", s.Target), nil
}

// allHang asks all members at once.
func allHang(ctx context.Context, members []record.LabMember) bool {
	var answers atomic.Int64
	var all sync.WaitGroup
	for _, m := range members {
		all.Go(func() {
			if probe(ctx, m) != hung {
				answers.Add(1)
			}
		})
	}
	all.Wait()
	return answers.Load() == 0
}
