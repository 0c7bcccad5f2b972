package topology

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/plimsoll-bench/plimsoll/lab/engine"
)

// Who may be promoted.
//
// A write of a majority was acknowledged when a majority of members had it in the log on their disks. If it is known of
// a majority of members how far their logs go, then at least one of them has that write, because two majorities have a
// member in common; logs of one history are beginnings of each other, so the one that goes furthest has all such
// writes. Hence the rule: the log's end must be known of a majority, and who is promoted must have no less than any of
// them.
//
// Knowing where a member's log ends, and being able to promote it, are two things. A standby that was killed, or rewound,
// reads its own log again when it starts. Until it has applied so much that its data are consistent it answers nobody,
// and one that was rewound gets there only with log that its primary still had to send. Such a member cannot be
// promoted, but its log lies on its disk, where it can be read: it counts as a voter and not as a candidate. Two things
// follow. It does not block: the others are promoted if they have at least what it has. And it cannot be passed over: if
// it has more than all candidates nothing is promoted, as what it has may have been acknowledged with it alone.
//
// Nobody votes who does not run (the dead have no vote, although a lab could read their disks), who cannot be reached
// by the others, who went another way than the last primary, or whose data are being replaced.

// voter is a member whose log's end is known.
type voter struct {
	m  *pgMember
	at engine.Position
}

// The rounds in which standbys are asked until they stand still: what was on its way is in this machine's buffers.
const (
	restRounds = 40
	restPause  = 25 * time.Millisecond
	readRounds = 20 // that a candidate has to finish reading its own log, before that is read for it
)

// best finds the standby to promote, and the others that answer.
func (c *documentDB) chooseStandby(ctx context.Context) (best *pgMember, others []*pgMember, err error) {
	var before []engine.Position
	var silent []voter
	var last error
	for round := range restRounds {
		candidates, reading, err := c.candidates(ctx)
		if err == nil && len(reading) > 0 && round < readRounds {
			err = fmt.Errorf("%s still reads its own write-ahead log", reading[0].plan.Name)
		}
		if err == nil && silent == nil { // the primary has ended: their logs do not grow by anything that was acknowledged
			silent = c.silentVoters(ctx, append(reading, c.silent()...))
		}
		now := make([]engine.Position, len(candidates))
		for i, v := range candidates {
			now[i] = v.at
		}
		resting := err == nil && slices.EqualFunc(before, now, func(a, b engine.Position) bool { return a.LSN == b.LSN && a.Timeline == b.Timeline })
		if resting {
			if err = checkElection(candidates, silent, c.majority(), len(c.members)); err == nil {
				return pick(candidates)
			}
		}
		last = err
		if before = now; err != nil {
			before = nil
		}
		if err := sleep(ctx, restPause); err != nil {
			return nil, nil, errors.Join(last, err)
		}
	}
	return nil, nil, errors.Join(errors.New("nobody can be promoted yet"), last)
}

// pick takes the candidate with the most data.
func pick(candidates []voter) (best *pgMember, others []*pgMember, err error) {
	all := make([]engine.Position, len(candidates))
	for i, v := range candidates {
		all[i] = v.at
		others = append(others, v.m)
	}
	i := furthest(all)
	return candidates[i].m, slices.Delete(others, i, i+1), nil
}

// elect says why nobody may be promoted, nil if the furthest candidate may.
func checkElection(candidates, silent []voter, majority, members int) error {
	if n := voters(candidates, silent); n < majority {
		return fmt.Errorf("it is known of only %d of %d members how much they have, which is no majority", n, members)
	}
	if len(candidates) == 0 {
		return errors.New("no standby has read enough of its log to be consistent")
	}
	var most engine.LSN
	for _, v := range candidates {
		most = max(most, v.at.LSN)
	}
	for _, v := range silent {
		if v.at.LSN > most {
			return fmt.Errorf("%s has %d bytes of log more than all that could be promoted, and is not consistent yet: what it has may have been acknowledged",
				v.m.plan.Name, v.at.LSN-most)
		}
	}
	return nil
}

// voters counts members, each once: one whose log was read from its disk, because it still read that itself, is a candidate
// too when it is done. Counted twice it would be a majority alone.
func voters(candidates, silent []voter) int {
	members := map[*pgMember]bool{}
	for _, v := range slices.Concat(candidates, silent) {
		members[v.m] = true
	}
	return len(members)
}

// candidates asks the standbys that answer how far they are; reading are those that have not read all of their own log.
// An error says that it has to be tried again.
func (c *documentDB) candidates(ctx context.Context) (all []voter, reading []*pgMember, err error) {
	c.mu.Lock()
	alive := c.liveStandbys()
	c.mu.Unlock()
	now := make([]engine.Position, len(alive))
	err = inParallel2(alive, func(m *pgMember) error {
		limit, cancel := context.WithTimeout(ctx, max(c.timeout/2, 200*time.Millisecond))
		defer cancel()
		at, err := m.node.Probe(limit)
		now[slices.Index(alive, m)] = at
		if err == nil && c.noteDiverged(m, at) {
			err = fmt.Errorf("%s went another way than the others", m.plan.Name) // and does not count from now on
		}
		return err
	})
	for i, m := range alive {
		if now[i].Settled {
			all = append(all, voter{m, now[i]})
		} else {
			reading = append(reading, m)
		}
	}
	return all, reading, err
}

// silent are the members that run and could be reached, but do not answer: standbys that are not consistent yet. Those
// that went another way, or were stopped, are none.
func (c *documentDB) silent() []*pgMember {
	c.mu.Lock()
	defer c.mu.Unlock()
	answer := c.liveStandbys()
	var all []*pgMember
	for _, m := range c.members {
		if m != c.primary && !m.fenced && !m.diverged && !m.recopy && m.node.Status().Running && reachable(m) && !slices.Contains(answer, m) {
			all = append(all, m)
		}
	}
	return all
}

// silentVoters reads the ends of logs from disks. Whose log cannot be read does not vote.
func (c *documentDB) silentVoters(ctx context.Context, from []*pgMember) []voter {
	found := make([]voter, len(from))
	_ = inParallel2(from, func(m *pgMember) error {
		limit, cancel := context.WithTimeout(ctx, 20*time.Second)
		defer cancel()
		if at, err := m.node.LogEnd(limit); err == nil && !c.noteDiverged(m, at) {
			found[slices.Index(from, m)] = voter{m, at}
		}
		return nil
	})
	return slices.DeleteFunc(found, func(v voter) bool { return v.m == nil })
}
