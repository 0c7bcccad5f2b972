package drill

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// placement looks what the lab is made of and where its members stand when a round begins, and says if that is
// elsewhere than in the first one: high availability starts members elsewhere and does not bring them back, so that the
// same fault hits something else.
func (c *campaign) placement(ctx context.Context, round int) {
	name, ok := spec.LabOf(c.spec.Run.Target) // also of a lab that the drill brings up
	if !ok || c.o.Labs == nil {
		return
	}
	l, err := c.o.Labs.Find(ctx, name)
	if err != nil || l == nil {
		return // whoever needs it says so
	}
	c.result.Engine = l.EngineText()
	if c.placed == nil {
		c.placed = l.Members
		return
	}
	if moved := movedMembers(c.placed, l.Members); len(moved) > 0 {
		how := "bring the lab up anew before each"
		if c.spec.Lab != nil {
			how = "have the drill bring it up anew for each (fresh: true)"
		}
		c.find("placement", measure.Warning, "round %d began with %s: rounds are not alike, and the same fault may have hit something else; %s",
			round, strings.Join(moved, ", "), how)
	}
}

// movedMembers are those that stand on another host than before.
func movedMembers(before, now []record.LabMember) (moved []string) {
	for _, m := range now {
		i := slices.IndexFunc(before, func(b record.LabMember) bool { return b.Name == m.Name })
		if i >= 0 && before[i].Host != m.Host {
			moved = append(moved, fmt.Sprintf("%s on %s in the place of %s", m.Name, m.Host, before[i].Host))
		}
	}
	return moved
}
