package action

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/plimsoll-bench/plimsoll/fault"
	"github.com/plimsoll-bench/plimsoll/lab/host"
)

var kill = Action{
	Apply: func(_ context.Context, j *Job) error {
		j.Site.EndOnPurpose([]string{j.Node.Name()}, "it was killed")
		if n, ok := j.Node.(interface{ KillServer() error }); ok { // not what manages it
			return n.KillServer()
		}
		return j.Node.Kill()
	},
	Undo:    restart,
	Witness: processesEnded,
}

var stop = Action{
	Apply: func(ctx context.Context, j *Job) error {
		j.Site.EndOnPurpose([]string{j.Node.Name()}, "it was stopped")
		return j.Node.Stop(ctx)
	},
	Undo:    restart,
	Witness: processesEnded,
}

func restart(_ context.Context, j *Job) error {
	if h := j.Node.Host(); h.State() == host.Off { // the present host: the member may have moved
		return fault.Refuse("its host %s has no power. Power it on first", h.Name())
	}
	return j.Site.Rejoin(j.Node.Name())
}

// processesEnded checks that all processes of the target have ended.
func processesEnded(_ context.Context, s *Scene) (string, error) {
	before := s.Before.processes(s.Target)
	if len(before) == 0 {
		if !canSeeProcesses() {
			return "", errors.New("this system has no /proc to read processes from")
		}
		return "", fmt.Errorf("%s had no processes before the fault", s.Target)
	}
	var pids []string
	for pid, born := range before {
		if p, ok := processOf(pid); ok && p.born == born {
			return "", nil
		}
		pids = append(pids, fmt.Sprint(pid))
	}
	if len(pids) > 3 {
		pids = append(pids[:3], "…")
	}
	return fmt.Sprintf("%s of %s ended (PID %s)", processes(len(before)), s.Target, strings.Join(pids, ", ")), nil
}
