package topology

import (
	"context"
	"strconv"
	"sync"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/wait"
	"github.com/plimsoll-bench/plimsoll/lab/engine"
)

// watchEvery is the interval of queries for roles: short enough to assign an election to a second of the load. A dozen
// servers need some hundredths of a percent of a core.
const watchEvery = 500 * time.Millisecond

// Watch records events about roles until ctx ends. mongod holds its own elections.
func (c *mongoCluster) Watch(ctx context.Context) {
	var wg sync.WaitGroup
	for _, set := range c.sets() {
		wg.Go(func() { c.watchSet(ctx, set) })
	}
	wg.Wait()
}

// watchSet queries each member of a set in its own goroutine, so that a hanging member does not delay the others. It
// compares the roles after each answer.
func (c *mongoCluster) watchSet(ctx context.Context, set string) {
	type update struct {
		member int
		answer answer
	}
	nodes := c.inSet(set)
	updates := make(chan update)
	var wg sync.WaitGroup
	defer wg.Wait()
	for i, n := range nodes {
		wg.Go(func() {
			for {
				answers := helloAll(ctx, []*engine.MongoNode{n})
				select {
				case updates <- update{i, answers[0]}:
				case <-ctx.Done():
					return
				}
				if wait.Sleep(ctx, watchEvery) != nil {
					return
				}
			}
		})
	}
	answers, known := make([]answer, len(nodes)), map[int]bool{}
	for {
		select {
		case <-ctx.Done():
			return
		case u := <-updates:
			answers[u.member], known[u.member] = u.answer, true
		}
		if ctx.Err() != nil {
			return // the last query may have been cut short
		}
		if len(known) == len(nodes) {
			c.compareRoles(ctx, set, nodes, answers)
		}
	}
}

// compareRoles compares the roles of a set with the last ones.
func (c *mongoCluster) compareRoles(ctx context.Context, set string, nodes []*engine.MongoNode, answers []answer) {
	primary := newestPrimary(nodes, answers)
	for i, n := range nodes {
		if answers[i].Secondary { // a rollback may take less than watchEvery
			c.reportRollback(n)
		}
		role := answers[i].role()
		if role == "primary" && n != primary { // it has not noticed the election yet: what it is comes with its next answer
			c.noteRole(n.Name(), "unknown")
			continue
		}
		before, known := c.reportRole(n.Name(), role)
		if before == role || !known && role != "primary" {
			continue
		}
		switch {
		case role == "primary":
			c.reportElection(ctx, set, n)
		case n.Role() != engine.MongoArbiter:
			c.event("member", map[string]string{"member": n.Name(), "set": set, "role": role, "from": before},
				"%s is %s", n.Name(), roleWords(role, answers[i]))
		}
	}
}

// reportRole records the reported role of a member, and returns the one before.
func (c *mongoCluster) reportRole(member, role string) (before string, known bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	before, known = c.reported[member]
	c.reported[member], c.roles[member] = role, role
	return before, known
}

func roleWords(role string, a answer) string {
	if role == "unknown" {
		return a.words()
	}
	return role
}

// reportElection records an event for a new primary, with the term and its start if the primary returns them: to the
// millisecond in newer releases, to the second in older ones.
func (c *mongoCluster) reportElection(ctx context.Context, set string, n *engine.MongoNode) {
	data := map[string]string{"set": set, "primary": n.Name()}
	text := ""
	one, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	if s, err := status(one, n); err == nil {
		data["term"] = strconv.FormatInt(s.Term, 10)
		text = " in term " + data["term"]
		for _, m := range s.Members {
			if m.Name == n.Address() && !m.Elected.IsZero() {
				data["elected"] = m.Elected.UTC().Format(time.RFC3339)
			}
		}
		if at := s.Elected; !at.IsZero() {
			data["elected"] = at.UTC().Format(time.RFC3339Nano)
		}
	}
	c.event("election", data, "%s is primary of %s%s", n.Name(), set, text)
}
