package action

import (
	"context"
	"fmt"

	"github.com/plimsoll-bench/plimsoll/fault"
	"github.com/plimsoll-bench/plimsoll/record"
)

var stepDown = Action{
	Apply: func(ctx context.Context, j *Job) error {
		set := j.Site.SetOf(j.Node.Name())
		primary, err := j.Site.Cluster().Primary(ctx, set)
		if err != nil {
			return err
		}
		if primary != j.Node.Name() {
			return fault.Refuse("%s is not the primary: %s is", j.Node.Name(), primary)
		}
		return j.Site.Cluster().StepDown(ctx, set)
	},
	Witness: handedOver,
}

// handedOver checks that the set has a new primary, or the same one with a later term.
func handedOver(ctx context.Context, s *Scene) (string, error) {
	l, err := s.Lab.Observe(ctx)
	if err != nil {
		return "", err
	}
	var old record.LabMember
	for _, m := range s.Before.Lab.Members {
		if m.Name == s.Target {
			old = m
		}
	}
	for _, m := range l.Members {
		if m.Role == "primary" && m.Set == old.Set && (m.Name != old.Name || m.Term > old.Term) {
			return fmt.Sprintf("%s is the primary after %s (term %d after %d)", m.Name, old.Name, m.Term, old.Term), nil
		}
	}
	return "", nil
}
