package topology

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/plimsoll-bench/plimsoll/lab/engine"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/server"
)

func (c *mongoCluster) noteRole(member, role string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.roles[member] = role
}

// lastRole returns the last known role of a member without a query.
func (c *mongoCluster) lastRole(n *engine.MongoNode) string {
	switch n.Role() {
	case engine.MongoRouter, engine.MongoArbiter, engine.MongoStandalone, engine.MongoConfig:
		return n.Role() // these do not change
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if role := c.roles[n.Name()]; role != "" {
		return role
	}
	return "unknown"
}

func (c *mongoCluster) Describe(ctx context.Context, depth Depth) []record.LabMember {
	members := make([]record.LabMember, len(c.nodes))
	for i, n := range c.nodes {
		members[i] = c.describeLocally(n)
	}
	if depth == Known {
		return members
	}
	ctx, cancel := context.WithTimeout(ctx, 2*commandTimeout)
	defer cancel()
	var wg sync.WaitGroup
	for i, n := range c.nodes {
		members[i].PIDs = n.Pids()
		if members[i].State != "running" || depth < Settings {
			continue
		}
		wg.Go(func() { // each writes to its own member only
			set, err := n.Settings(ctx)
			members[i].Settings = set
			if err != nil && members[i].Problem == "" {
				members[i].Problem = "cannot read its settings: " + firstLine(err)
			}
		})
	}
	wg.Wait()
	for _, set := range c.sets() {
		wg.Go(func() { c.describeSet(ctx, set, members) }) // each writes to the members of its set only
	}
	wg.Wait()
	return members
}

// describeLocally describes a member without a query.
func (c *mongoCluster) describeLocally(n *engine.MongoNode) record.LabMember {
	plan := c.plans[n.Name()]
	m := describeNode(context.Background(), n, plan, Known) // without a query
	if m.Role = c.lastRole(n); plan.Volume {
		m.Volume = plan.Name
	}
	if m.State == "dead" {
		m.Problem = n.Status().Processes[0].Exit
	}
	if m.State != "running" && (m.Role == "primary" || m.Role == "secondary") {
		m.Role = "unknown"
	}
	return m
}

// describeSet queries roles, terms and lags of a set from its primary, or without a primary from any member that
// answers.
func (c *mongoCluster) describeSet(ctx context.Context, set string, members []record.LabMember) {
	nodes := c.inSet(set)
	answers := helloAll(ctx, nodes)
	from, s, err := c.anyStatus(ctx, nodes, answers)
	for i := range members {
		m := &members[i]
		if m.Set != set || m.State != "running" {
			continue
		}
		if err != nil {
			m.Problem = "cannot read the state of the set: " + firstLine(err)
			continue
		}
		c.describeMember(m, s)
		if of := s.Member(m.Address); of != nil && of.State == server.Secondary {
			applyOwnOptime(of, answers[slices.IndexFunc(nodes, func(n *engine.MongoNode) bool { return n.Name() == m.Name })])
			c.describeLag(ctx, m, from, s, *of)
		}
	}
}

func (c *mongoCluster) describeMember(m *record.LabMember, s server.Set) {
	of := s.Member(m.Address)
	if of == nil {
		m.Problem = "it is not in the configuration of the replica set"
		return
	}
	m.Term = s.Term
	if m.Role != engine.MongoConfig {
		m.Role = roleOf(of.State)
		c.noteRole(m.Name, m.Role)
	}
	if !of.Healthy {
		m.Problem = strings.TrimSpace("other members cannot reach it: " + of.State + " " + of.Heartbeat)
	} else if m.Role == "unknown" {
		m.Problem = "its state is " + of.State
	}
}

// anyStatus returns the status of a set from its primary, or from another member with data, and that member.
func (c *mongoCluster) anyStatus(ctx context.Context, nodes []*engine.MongoNode, answers []answer) (*engine.MongoNode,
	server.Set, error) {
	var order []*engine.MongoNode
	if p := newestPrimary(nodes, answers); p != nil {
		order = append(order, p)
	}
	all := errors.New("none of its members answers")
	for i, n := range nodes {
		if answers[i].err == nil && answers[i].Secondary {
			order = append(order, n)
		}
	}
	for _, n := range order {
		one, cancel := context.WithTimeout(ctx, commandTimeout)
		s, err := status(one, n)
		cancel()
		if err == nil {
			return n, s, nil
		}
		all = err
	}
	return nil, server.Set{}, all
}

func (c *mongoCluster) Primary(ctx context.Context, set string) (string, error) {
	n, err := c.primary(ctx, set)
	if err != nil {
		return "", err
	}
	return n.Name(), nil
}

func (c *mongoCluster) primary(ctx context.Context, set string) (*engine.MongoNode, error) {
	set, err := c.oneSet(set)
	if err != nil {
		return nil, err
	}
	if set == "" {
		if n := c.nodes[0]; n.Status().Running {
			return n, nil
		}
		return nil, fmt.Errorf("%s does not run; see 'plimsoll lab status'", c.nodes[0].Name())
	}
	nodes := c.inSet(set)
	answers := helloAll(ctx, nodes)
	if p := newestPrimary(nodes, answers); p != nil {
		return p, nil
	}
	var words []string
	for i, a := range answers {
		words = append(words, nodes[i].Name()+" is "+a.words())
	}
	return nil, fmt.Errorf("%w in %s now: %s", ErrNoPrimary, set, strings.Join(words, ", "))
}

// oneSet checks the name of a set. For an empty name it returns the only set with user data, "" for a standalone.
func (c *mongoCluster) oneSet(set string) (string, error) {
	sets := c.sets()
	if set != "" {
		if len(c.inSet(set)) == 0 {
			return "", fmt.Errorf("there is no replica set %q; use one of %s", set, strings.Join(sets, ", "))
		}
		return set, nil
	}
	data := c.shards()
	switch len(data) {
	case 0:
		return "", nil
	case 1:
		return data[0], nil
	}
	return "", fmt.Errorf("the lab has several replica sets; name one of %s, such as %s/primary", strings.Join(data, ", "), data[0])
}

// firstLine cuts off the lines of a log at the end of an error.
func firstLine(err error) string {
	text, _, _ := strings.Cut(err.Error(), "\n")
	return text
}
