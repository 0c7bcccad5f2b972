package topology

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/plimsoll-bench/plimsoll/lab/engine"
)

// Which standby may be promoted.
//
// A write at the level majority was acknowledged when a majority of members had its WAL on disk. Two majorities have a
// member in common. So if the end of the WAL is known for a majority of members, at least one of them has that write.
// All WAL of one history is a prefix of the longest, so the longest has all such writes. The rule: the end of the WAL
// must be known for a majority, and the promoted standby must have at least as much as each of them.
//
// A standby that was killed or rewound replays its own WAL when it starts. It does not answer until its data are
// consistent, and after a rewind that may need WAL which its primary has not sent yet. Such a member cannot be
// promoted, but its WAL can be read from its disk: it is a voter, and not a candidate. It does not block a promotion if
// the candidates have at least as much WAL. If it has more than all candidates, nothing is promoted, because its WAL
// may include acknowledged writes.
//
// A member has no vote if it does not run (although a lab could read its disk), if the others cannot reach it, if it
// has diverged from the last primary, or if its data are being replaced.

// voter is a member whose end of WAL is known.
type voter struct {
	m  *pgMember
	at engine.Position
}

// Standbys are queried until their positions no longer change: sent WAL may still be in the buffers of this machine.
const (
	restRounds = 40
	restPause  = 25 * time.Millisecond
	readRounds = 20 // for a candidate to finish its replay, before its WAL is read from its disk
)

// chooseStandby returns the standby to promote, and the others that answer.
func (c *documentDB) chooseStandby(ctx context.Context) (best *pgMember, others []*pgMember, err error) {
	var before []engine.Position
	var silent []voter
	var last error
	for round := range restRounds {
		candidates, reading, err := c.candidates(ctx)
		if err == nil && len(reading) > 0 && round < readRounds {
			err = fmt.Errorf("%s has not replayed all of its WAL yet", reading[0].plan.Name)
		}
		if err == nil && silent == nil { // the primary has ended, so their WAL gets no more acknowledged writes
			silent = c.silentVoters(ctx, append(reading, c.silent()...))
		}
		now := make([]engine.Position, len(candidates))
		for i, v := range candidates {
			now[i] = v.at
		}
		unchanged := err == nil && slices.EqualFunc(before, now, func(a, b engine.Position) bool {
			return a.LSN == b.LSN && a.Timeline == b.Timeline
		})
		if unchanged {
			if err = checkElection(candidates, silent, c.majority(), len(c.members)); err == nil {
				i := furthest(now)
				for _, v := range candidates {
					others = append(others, v.m)
				}
				return candidates[i].m, slices.Delete(others, i, i+1), nil
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
	return nil, nil, errors.Join(errors.New("no standby can be promoted yet"), last)
}

// checkElection returns why nothing may be promoted, nil if the candidate with the most data may.
func checkElection(candidates, silent []voter, majority, members int) error {
	if n := voters(candidates, silent); n < majority {
		return fmt.Errorf("the end of the WAL is known for only %d of %d members and not for a majority", n, members)
	}
	if len(candidates) == 0 {
		return errors.New("no standby has replayed enough WAL to be consistent")
	}
	var most engine.LSN
	for _, v := range candidates {
		most = max(most, v.at.LSN)
	}
	for _, v := range silent {
		if v.at.LSN > most {
			return fmt.Errorf("%s is not consistent yet and has %d bytes of WAL more than all candidates, which may include "+
				"acknowledged writes", v.m.plan.Name, v.at.LSN-most)
		}
	}
	return nil
}

// voters counts members, each once: a member whose WAL was read from its disk can become a candidate meanwhile.
func voters(candidates, silent []voter) int {
	members := map[*pgMember]bool{}
	for _, v := range slices.Concat(candidates, silent) {
		members[v.m] = true
	}
	return len(members)
}

// candidates queries the positions of the standbys that answer; reading are those that have not replayed all of their
// own WAL. After an error the caller must try again.
func (c *documentDB) candidates(ctx context.Context) (all []voter, reading []*pgMember, err error) {
	c.mu.Lock()
	alive := c.liveStandbys()
	c.mu.Unlock()
	now := make([]engine.Position, len(alive))
	err = inParallel(alive, func(m *pgMember) error {
		limit, cancel := context.WithTimeout(ctx, max(c.timeout/2, 200*time.Millisecond))
		defer cancel()
		at, err := m.node.Probe(limit)
		now[slices.Index(alive, m)] = at
		if err == nil && c.noteDiverged(m, at) {
			err = fmt.Errorf("%s has diverged from the others", m.plan.Name) // liveStandbys skips it from now on
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

// silent returns the standbys that run and are reachable but do not answer, because they are not consistent yet.
func (c *documentDB) silent() []*pgMember {
	c.mu.Lock()
	defer c.mu.Unlock()
	answer := c.liveStandbys()
	var all []*pgMember
	for _, m := range c.members {
		if c.follower(m) && reachable(m) && !slices.Contains(answer, m) {
			all = append(all, m)
		}
	}
	return all
}

// silentVoters reads the end of the WAL from the disks of members. A member whose WAL cannot be read has no vote.
func (c *documentDB) silentVoters(ctx context.Context, from []*pgMember) []voter {
	found := make([]voter, len(from))
	_ = inParallel(from, func(m *pgMember) error {
		limit, cancel := context.WithTimeout(ctx, 20*time.Second)
		defer cancel()
		if at, err := m.node.LogEnd(limit); err == nil && !c.noteDiverged(m, at) {
			found[slices.Index(from, m)] = voter{m, at}
		}
		return nil
	})
	return slices.DeleteFunc(found, func(v voter) bool { return v.m == nil })
}
