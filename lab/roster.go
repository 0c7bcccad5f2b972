package lab

import (
	"errors"
	"fmt"
	"sync"
)

// roster knows why members are down, and restarts them.
type roster struct {
	*core
	inventory *inventory

	mu     sync.Mutex
	ended  map[string]string // members that were ended on purpose, with the reason
	causes map[string]string // members that ended unexpectedly, with the cause
}

func newRoster(c *core, v *inventory) *roster {
	return &roster{core: c, inventory: v, ended: map[string]string{}, causes: map[string]string{}}
}

// endOnPurpose notes that members end on purpose, so that their end is not reported as a problem.
func (r *roster) endOnPurpose(members []string, why string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, m := range members {
		r.ended[m] = why
	}
}

func (r *roster) returned(member string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.ended, member)
}

// whyDown is the reason for which a member was ended on purpose; empty if it was not.
func (r *roster) whyDown(member string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.ended[member]
}

// setCause notes why a member ended unexpectedly; empty when it runs again.
func (r *roster) setCause(member, why string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.causes[member] = why
}

// cause is why a member ended unexpectedly; empty if that is not known.
func (r *roster) cause(member string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.causes[member]
}

// rejoin restarts a member that does not run, and returns when it has joined its cluster.
func (r *roster) rejoin(member string) error {
	cluster := r.inventory.running()
	if cluster == nil {
		return errors.New("the lab is not up")
	}
	if n, ok := cluster.Node(member); ok && n.Status().Running {
		r.returned(member)
		return nil
	}
	// healLimit does not bound this, because a member that copies all its data may take long. The cluster gives up a
	// member that makes no progress.
	if err := cluster.Return(r.ctx, member); err != nil {
		return fmt.Errorf("%s did not rejoin: %w", member, err)
	}
	r.returned(member)
	return nil
}
