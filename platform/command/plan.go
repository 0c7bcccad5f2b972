package command

import (
	"context"
	"fmt"

	"github.com/plimsoll-bench/plimsoll/spec"
)

// Plan is what a fault would do to one member, with its commands as a person would type them. Nothing was done.
type Plan struct {
	// Member is the member with its address and machine, and Role its role now. Member is empty if the fault names none.
	Member, Role string
	// Inject, Heal and Witness are empty if there is no such command.
	Inject, Heal, Witness string
	FailureMode           string
	Timeout               spec.Duration
}

// Plan queries the roles of the members, and returns what a fault would do. There is more than one plan if the target
// is random without a seed: one of them would be done.
func (p *Platform) Plan(ctx context.Context, f spec.Fault) ([]Plan, error) {
	c, err := p.commandsOf(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.Strike, err)
	}
	if f.Strike.Target == "" {
		return []Plan{p.plan(f, c, nil)}, nil
	}
	members, err := p.Members(ctx)
	if err != nil {
		return nil, err
	}
	list, err := p.candidates(f, members)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.Strike, err)
	}
	var plans []Plan
	for _, m := range list {
		plan := p.plan(f, c, m)
		for i, other := range p.members {
			if other == m {
				plan.Role = members[i].Role
			}
		}
		plans = append(plans, plan)
	}
	return plans, nil
}

func (p *Platform) plan(f spec.Fault, c spec.Commands, m *member) Plan {
	c = filled(c, values(f.Strike.Action, m))
	text := func(words []string) string { return p.hide(line(words)) }
	plan := Plan{Inject: text(c.Inject), Heal: text(c.Heal), Witness: text(c.Witness),
		FailureMode: c.FailureMode, Timeout: c.Timeout}
	if m != nil {
		plan.Member = fmt.Sprintf("%s (address %s, machine %s)", m.Name, m.Address, m.Machine)
	}
	return plan
}
