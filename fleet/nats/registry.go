package nats

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"time"

	client "github.com/nats-io/nats.go"

	"github.com/plimsoll-bench/plimsoll/fleet"
	"github.com/plimsoll-bench/plimsoll/internal/visible"
)

const (
	// beatBytes is the longest beat.
	beatBytes = 32 << 10
	// factBytes is the longest text of what an agent says of itself, and mostLabels how many labels it has.
	factBytes  = 200
	mostLabels = 50
	// mostWeight bounds what an agent says that it can send, in operations per second.
	mostWeight = 1e12
)

// onBeat takes the beat of an agent and answers it. A message that no agent of this token sent is dropped.
func (c *Coordinator) onBeat(m *client.Msg) {
	_, id, _ := cutLast(m.Subject, ".")
	if len(m.Data) < keyBytes || len(m.Data) > beatBytes || idOf(m.Data[:keyBytes]) != id {
		return
	}
	c.mu.Lock()
	a := c.agents[id]
	room := len(c.agents) < mostAgents
	c.mu.Unlock()
	known := a != nil
	if !known {
		var err error
		if a, err = c.meet(id, m.Data[:keyBytes]); err != nil || !room {
			return
		}
	}
	number, _, plain, err := a.in.open(m.Data[keyBytes:])
	var b beat
	if err != nil || json.Unmarshal(plain, &b) != nil || !tidyFacts(&b.Facts) {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if other := c.agents[id]; other != nil {
		a = other
	} else {
		a.Facts = b.Facts
		c.agents[id] = a
	}
	a.seen = time.Now()
	if a.expelled != "" {
		_ = c.send(a, request{Leave: a.expelled}) // the next beat tries again
		return
	}
	if b.Nonce == c.nonce && number > a.heard {
		a.heard = number
		c.beatOf(a, b)
	}
	if b.Left {
		return
	}
	_ = c.send(a, request{Hello: &hello{Version: c.self.Version, Commit: c.self.Commit, Protocol: c.self.Protocol,
		Nonce: c.nonce, Twice: c.twice(a)}}) // the next beat tries again
}

// meet makes what is needed to talk to an agent.
func (c *Coordinator) meet(id string, key []byte) (a *agent, err error) {
	a = &agent{agentID: id}
	a.Key = bytes.Clone(key)
	if a.in, err = newSealer(c.state.private, key, c.state.Secret, c.space.beat(id)); err != nil {
		return nil, err
	}
	a.out, err = newSealer(c.state.private, key, c.state.Secret, c.space.agent(id))
	return a, err
}

// send sends a request to an agent. The caller has the lock.
func (c *Coordinator) send(a *agent, r request) error {
	a.number++
	return c.nc.Publish(c.space.agent(a.agentID), a.out.seal(a.number, ordinary, encode(r)))
}

// tidyFacts makes what an agent says of itself fit to be shown and counted. It returns false for a name that no agent
// can have.
func tidyFacts(f *fleet.Facts) bool {
	if !validName(f.Name) || len(f.Name) > factBytes || len(f.Labels) > mostLabels {
		return false
	}
	for _, text := range []*string{&f.Version, &f.Commit, &f.Host, &f.Machine, &f.Zone} {
		*text = visible.Bounded(visible.Line(*text), factBytes)
	}
	labels := map[string]string{}
	for k, v := range f.Labels {
		labels[visible.Bounded(visible.Line(k), factBytes)] = visible.Bounded(visible.Line(v), factBytes)
	}
	if f.Labels = nil; len(labels) > 0 {
		f.Labels = labels
	}
	f.Local = false
	f.Cores, f.PID = min(max(f.Cores, 0), math.MaxInt16), min(max(f.PID, 0), math.MaxInt32)
	if f.Weight = min(f.Weight, mostWeight); !(f.Weight >= 0) {
		f.Weight = 0
	}
	return true
}

// twice reports whether an agent has the name of another one that was there before. The caller has the lock.
func (c *Coordinator) twice(a *agent) bool {
	owner := c.agents[c.names[a.Name]]
	if owner == nil || time.Since(owner.last) > aliveAtMost {
		c.names[a.Name], owner = a.agentID, a
	}
	return owner != a
}

// drop removes an agent. The caller has the lock.
func (c *Coordinator) drop(a *agent) {
	delete(c.agents, a.agentID)
	delete(c.foreign, a.agentID)
	if c.names[a.Name] == a.agentID {
		delete(c.names, a.Name)
	}
}

// beatOf notes what an agent says of itself. An agent that performs a part whose link is broken is told to end it. The
// caller has the lock.
func (c *Coordinator) beatOf(a *agent, b beat) {
	changed := a.beat.Busy != b.Busy || a.beat.Run != b.Run || time.Since(a.last) > aliveAtMost
	a.last, a.beat = time.Now(), b
	delete(c.foreign, a.agentID)
	if err := differs(a.Facts, c.self); err != nil {
		c.foreign[a.agentID] = err.Error()
	}
	r := c.runOf(b.Run)
	wanted := c.unresumed[b.Run]
	if r != nil {
		number, part := r.numbers[a.agentID]
		wanted = part && !r.links[number].isBroken()
		if wanted && (!b.Busy || b.Left) && !r.links[number].ended() {
			go c.left(r, number, fmt.Errorf("the agent %s ended its part of the run", a.Name))
		}
	}
	if b.Left {
		c.drop(a)
		changed = true
	} else if b.Busy && !wanted {
		_ = c.send(a, request{Break: b.Run}) // the next beat tries again
	}
	if changed {
		c.notify()
	}
}

// runOf returns the run with an id, nil for none. The caller has the lock.
func (c *Coordinator) runOf(id string) *run {
	for _, r := range c.runs {
		if r.id == id {
			return r
		}
	}
	return nil
}

// invite reports whether an agent has joined a run. It asks again if it is told to. An agent that only beats does not
// delay a run: it is ended.
func (c *Coordinator) invite(r *run, l *link, again bool, waited time.Duration) (joined bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	a := c.agents[l.agent.id()]
	switch {
	case a == nil || time.Since(a.last) > manyAtMost || a.expelled != "":
		return false, fmt.Errorf("the agent %s did not join the run: %w", l.agent.Name, errEnded)
	case a.beat.Run == r.id:
		return true, nil
	case a.beat.Refused != nil && a.beat.Refused.Run == r.id:
		return false, fmt.Errorf("the agent %s cannot join the run: %s", a.Name, visible.Bounded(visible.Line(a.beat.Refused.Why), 1000))
	}
	if waited > c.joinAtMost {
		a.expelled = fmt.Sprintf("this agent did not join a run within %v. Start it again", c.joinAtMost)
		_ = c.send(a, request{Leave: a.expelled}) // the answer to its next beat says it again
		return false, fmt.Errorf("the agent %s did not join the run within %v: %w", a.Name, c.joinAtMost, errEnded)
	}
	if again {
		err = c.send(a, request{Join: r.id})
	}
	return false, err
}
