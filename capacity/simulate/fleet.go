package simulate

import (
	"math/rand/v2"
	"slices"
	"time"
)

// Fleet is a deployment of replica sets whose members fail. A set acknowledges while it has a primary and a majority.
type Fleet struct {
	Shards, Members int
	Time            time.Duration
	Failures        []Failures
	Seed            uint64
}

// Failures are of one kind, at random times and of random members.
type Failures struct {
	Number int
	// Draw is how long a set acknowledges nothing after its primary failed, and how long a member is away.
	Draw func(r *rand.Rand) (outage, away time.Duration)
}

// FleetOutcome is what happened to a fleet.
type FleetOutcome struct {
	Failures int
	// Outages are the times without acknowledgements, in the order of their ends.
	Outages []Outage
	// Down is the sum of these times over the sets, Away that of the times in which a set had a primary but not all of
	// its members.
	Down, Away time.Duration
}

// Outage is a time in which a set acknowledges nothing.
type Outage struct {
	Shard     int
	From, For time.Duration
	// Up is how long the member that is primary afterwards had been up at the end, and negative if it was never away. It
	// is 0 for a single server.
	Up time.Duration
	// Majority: the set had no majority meanwhile.
	Majority bool
	// Open: it had not ended when the simulation stopped.
	Open bool
}

type fleet struct {
	Fleet
	clock
	random *rand.Rand
	sets   []*set
	out    FleetOutcome
}

type set struct {
	number  int
	back    []time.Duration // when each member is back; 0: it is not away
	up      []time.Duration // since when each member is up, negative: since before the begin
	away    int
	primary int // -1: none
	epoch   int // of elections
	outage  Outage
	needs   time.Duration // for an election
	since   time.Duration // when away or primary changed last
}

// Run simulates the time.
func (f Fleet) Run() FleetOutcome {
	s := &fleet{Fleet: f, random: rand.New(rand.NewPCG(f.Seed, 27))}
	for i := range f.Shards {
		s.sets = append(s.sets, &set{number: i, back: make([]time.Duration, f.Members),
			up: slices.Repeat([]time.Duration{-1}, f.Members)})
	}
	for _, kind := range f.Failures {
		for range kind.Number {
			t, member := s.sets[s.random.IntN(f.Shards)], s.random.IntN(f.Members)
			at := time.Duration(s.random.Int64N(int64(f.Time)))
			s.after(at, func() { s.fail(t, member, kind.Draw) })
		}
	}
	s.after(f.Time, func() { s.events = nil })
	s.run(func() bool { return false })
	for _, t := range s.sets {
		s.account(t)
		if t.primary < 0 {
			s.close(t, true)
		}
	}
	return s.out
}

// account adds the time since the last change of a set to what the set was in.
func (s *fleet) account(t *set) {
	switch took := s.now - t.since; {
	case t.primary < 0:
		s.out.Down += took
	case t.away > 0:
		s.out.Away += took
	}
	t.since = s.now
}

func (t *set) majority() bool { return len(t.back)-t.away > len(t.back)/2 }

func (s *fleet) fail(t *set, member int, draw func(r *rand.Rand) (outage, away time.Duration)) {
	s.account(t)
	s.out.Failures++
	outage, away := draw(s.random)
	outage, away = min(outage, s.Time), min(away, s.Time) // what is longer does not end
	if s.Members == 1 {
		outage, away = 0, outage // its return is all that ends it
	}
	if t.back[member] == 0 {
		t.away++
	}
	t.back[member] = max(t.back[member], s.now+max(away, 1))
	s.after(max(away, 1), func() { s.comeBack(t, member) })
	switch {
	case t.primary == member || t.primary >= 0 && !t.majority():
		t.primary, t.needs, t.outage = -1, outage, Outage{Shard: t.number, From: s.now}
		s.elect(t)
	case t.primary < 0 && !t.majority():
		s.elect(t) // the running election ends without one
	}
}

// elect gives a set a primary after the time that this takes, if it then has a majority.
func (s *fleet) elect(t *set) {
	t.epoch++
	epoch := t.epoch
	if !t.majority() {
		t.outage.Majority = true
		return
	}
	s.after(t.needs, func() {
		if epoch != t.epoch {
			return
		}
		s.account(t)
		for t.primary = s.random.IntN(len(t.back)); t.back[t.primary] > 0; {
			t.primary = (t.primary + 1) % len(t.back)
		}
		if t.outage.Up = -1; t.up[t.primary] >= 0 {
			t.outage.Up = s.now - t.up[t.primary]
		}
		s.close(t, false)
	})
}

func (s *fleet) comeBack(t *set, member int) {
	if t.back[member] == 0 || t.back[member] > s.now {
		return // it failed again
	}
	s.account(t)
	had := t.majority()
	t.back[member], t.up[member] = 0, s.now
	t.away--
	if t.primary < 0 && !had && t.majority() {
		s.elect(t)
	}
}

func (s *fleet) close(t *set, open bool) {
	t.outage.For, t.outage.Open = s.now-t.outage.From, open
	s.out.Outages = append(s.out.Outages, t.outage)
}
