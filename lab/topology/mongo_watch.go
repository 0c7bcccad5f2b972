package topology

import (
	"context"
	"strconv"
	"sync"
	"time"

	"github.com/plimsoll-bench/plimsoll/lab/engine"
)

// watchEvery is how often members are asked for their roles: often enough to put an election beside a second of the
// load, and for a dozen servers some hundredths of a percent of a core.
const watchEvery = 500 * time.Millisecond

// Watch tells events about roles until ctx ends. mongod elects by itself, so nothing else is done.
func (c *mongoCluster) Watch(ctx context.Context) {
	var wg sync.WaitGroup
	for _, set := range c.sets() {
		wg.Go(func() { c.watchSet(ctx, set) })
	}
	wg.Wait()
}

// watchSet asks each member of a set by itself, so that one that hangs does not keep what the others say, and looks at the
// roles whenever one has answered.
func (c *mongoCluster) watchSet(ctx context.Context, set string) {
	type news struct {
		member int
		answer answer
	}
	nodes := c.inSet(set)
	told := make(chan news)
	var wg sync.WaitGroup
	defer wg.Wait()
	for i, n := range nodes {
		wg.Go(func() {
			for {
				answers := helloAll(ctx, []*engine.MongoNode{n})
				select {
				case told <- news{i, answers[0]}:
				case <-ctx.Done():
					return
				}
				select {
				case <-time.After(watchEvery):
				case <-ctx.Done():
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
		case x := <-told:
			answers[x.member], known[x.member] = x.answer, true
		}
		if ctx.Err() != nil {
			return // what did not answer was not asked to the end
		}
		if len(known) == len(nodes) {
			c.compareRoles(ctx, set, nodes, answers)
		}
	}
}

// compareRoles compares the roles of a set with those that were seen last.
func (c *mongoCluster) compareRoles(ctx context.Context, set string, nodes []*engine.MongoNode, answers []answer) {
	primary := newestPrimary(nodes, answers)
	for i, n := range nodes {
		if answers[i].Secondary { // a rollback takes less than the time between two looks
			c.reportRollback(n)
		}
		role := answers[i].role()
		if role == "primary" && n != primary {
			role = "unknown" // it has not noticed yet that there was an election
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

// tell remembers the role of which an event tells, and returns the one before.
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

// tellElection tells of a new primary, with the term and when that began where they can be had: to the millisecond if the
// primary tells that, else to the second.
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
