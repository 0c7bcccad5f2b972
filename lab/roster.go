package lab

import (
	"errors"
	"fmt"
	"sync"
)

// roster knows why members are down, and lets them join again.
type roster struct {
	*core
	inventory *inventory

	mu     sync.Mutex
	ended  map[string]string // why those are down that were ended on purpose
	causes map[string]string // why those ended that ended by themselves
}

func newRoster(c *core, v *inventory) *roster {
	return &roster{core: c, inventory: v, ended: map[string]string{}, causes: map[string]string{}}
}

// ends notes that members end on purpose, so that nobody calls it a problem.
func (r *roster) ends(members []string, why string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, m := range members {
		r.ended[m] = why
	}
}

// returned notes that a member runs again.
func (r *roster) returned(member string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.ended, member)
}

// whyDown says what a member was ended for; empty if it was not.
func (r *roster) whyDown(member string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.ended[member]
}

// setCause notes why a member ended by itself, empty when it runs again.
func (r *roster) setCause(member, why string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.causes[member] = why
}

// cause is why a member ended by itself; empty if that is not known.
func (r *roster) cause(member string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.causes[member]
}

// giveBack lets a member that does not run join again.
func (r *roster) giveBack(member string) error {
	cluster := r.inventory.running()
	if cluster == nil {
		return errors.New("the lab is not up")
	}
	if n, ok := cluster.Node(member); ok && n.Status().Running {
		r.returned(member)
		return nil
	}
	// The time for healing does not bound it: one that copies its data again takes as long as that takes, and a
	// cluster gives a member up that makes no progress.
	if err := cluster.Return(r.ctx, member); err != nil {
		return fmt.Errorf("%s did not come back: %w", member, err)
	}
	r.returned(member)
	return nil
}
