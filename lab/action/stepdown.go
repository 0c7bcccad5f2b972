package action

import (
	"context"
	"fmt"

	"github.com/plimsoll-bench/plimsoll/record"
)

// StepDown is the name of the action that makes a primary hand its role over.
const StepDown = "step-down"

var stepDown = &Action{
	Name: StepDown, On: Member, Implied: "primary",
	Help:      "a planned hand-over from the primary",
	HandsOver: true, Manner: record.MannerPlanned,
	Apply: func(ctx context.Context, j *Job) error {
		set := j.Site.SetOf(j.Node.Name())
		primary, err := j.Site.Cluster().Primary(ctx, set)
		if err != nil {
			return err
		}
		if primary != j.Node.Name() { // naming another member is a mistake
			return Refuse("%s is not the primary, %s is", j.Node.Name(), primary)
		}
		return j.Site.Cluster().StepDown(ctx, set)
	},
	Witness: handedOver,
}

// handedOver sees that the role has moved on.
func handedOver(ctx context.Context, s *Scene) (string, error) {
	l, err := s.Lab.Look(ctx)
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
