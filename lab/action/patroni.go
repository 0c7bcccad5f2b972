package action

import (
	"context"
	"fmt"

	"github.com/plimsoll-bench/plimsoll/fault"
	"github.com/plimsoll-bench/plimsoll/lab/engine"
)

var killPatroni = Action{
	Suits: func(j *Job) error {
		if p, ok := j.Node.(*engine.Postgres); !ok || !p.Managed() {
			return fault.Refuse("%s has no Patroni: %s needs a member of a set of documentdb", j.Name(), fault.KillPatroni)
		}
		return nil
	},
	Apply: func(_ context.Context, j *Job) error {
		if err := j.Node.(*engine.Postgres).KillPatroni(); err != nil {
			return fault.Refuse("%s: %v", fault.KillPatroni, err)
		}
		return nil
	},
	Undo: func(ctx context.Context, j *Job) error {
		if err := j.Node.(*engine.Postgres).StartPatroni(ctx); err != nil {
			return err
		}
		return j.Site.Cluster().Return(ctx, j.Name()) // it may have to leave a role that another member has
	},
	Witness: patroniEnded,
}

// patroniEnded checks that PostgreSQL runs without its Patroni.
func patroniEnded(_ context.Context, s *Scene) (string, error) {
	for _, m := range s.Before.Members(s.Target) {
		if len(m.PIDs) == 0 {
			return "", fmt.Errorf("%s had no processes before the fault", s.Target)
		}
		first := m.PIDs[0]
		p, ok := processOf(first)
		if ok && p.born == s.Before.born[first] && engine.PatroniBeside(first) == 0 {
			return fmt.Sprintf("PostgreSQL of %s (process %d) runs without Patroni", s.Target, first), nil
		}
	}
	return "", nil
}
