package simulate

import (
	"math/rand/v2"
	"time"
)

// Fleet is a deployment of replica sets whose members fail. A set acknowledges while it has a primary and a majority.
type Fleet struct {
	Shards, Members int
	Time            time.Duration
	Failures        []Failures
	Seed            uint64
}

// Failures are of one kind, independent of each other, at random times and of random members.
type Failures struct {
	// Mean is how many there are on average in the time.
	Mean float64
	// Draw is how long a set acknowledges nothing after its primary failed, and how long a member is away.
	Draw func(r *rand.Rand) (outage, away time.Duration)
}

// FleetOutcome is what happened to a fleet.
type FleetOutcome struct {
	Failures int
	// Outages are the times without acknowledgements.
	Outages []Outage
	// Down is the sum of these times over the sets, Away that of the times in which a set had a primary but not all of
	// its members.
	Down, Away time.Duration
}

// Outage is a time in which a set acknowledges nothing.
type Outage struct {
	// For is how long it took, and Majority whether the set had no majority meanwhile.
	For      time.Duration
	Majority bool
}

type fleet struct {
	Fleet
	clock
	random *rand.Rand
	sets   []*set
	out    FleetOutcome
}

type set struct {
	back    []time.Duration // when each member is back; 0: it is not away
	away    int
	primary int // -1: none
	epoch   int // of elections
	outage  Outage
	from    time.Duration // of the outage
	needs   time.Duration // for an election
	since   time.Duration // when away or primary changed last
}

// Run simulates the time.
func (f Fleet) Run() FleetOutcome {
	s := &fleet{Fleet: f, random: rand.New(rand.NewPCG(f.Seed, 27))}
	for range f.Shards {
		s.sets = append(s.sets, &set{back: make([]time.Duration, f.Members)})
	}
	for _, kind := range f.Failures {
		if kind.Mean > 0 {
			s.arrive(kind)
		}
	}
	s.after(f.Time, func() { s.events = nil })
	s.run(func() bool { return false })
	for _, t := range s.sets {
		s.account(t)
		if t.primary < 0 {
			s.close(t)
		}
	}
	return s.out
}

// arrive makes the next failure of a kind.
func (s *fleet) arrive(kind Failures) {
	s.after(time.Duration(min(s.random.ExpFloat64()/kind.Mean, 2)*float64(s.Time)), func() {
		s.fail(s.sets[s.random.IntN(s.Shards)], s.random.IntN(s.Members), kind.Draw)
		s.arrive(kind)
	})
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
		t.primary, t.needs, t.outage, t.from = -1, outage, Outage{}, s.now
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
		s.close(t)
	})
}

func (s *fleet) comeBack(t *set, member int) {
	if t.back[member] == 0 || t.back[member] > s.now {
		return // it failed again
	}
	s.account(t)
	had := t.majority()
	t.back[member] = 0
	t.away--
	if t.primary < 0 && !had && t.majority() {
		s.elect(t)
	}
}

func (s *fleet) close(t *set) {
	t.outage.For = s.now - t.from
	s.out.Outages = append(s.out.Outages, t.outage)
}
