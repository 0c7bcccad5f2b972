package simulate

import (
	"math"
	"slices"
	"time"
)

// Flow is the flow control of a mongod: a primary gives its writes so many tickets for each second, by how far the
// majority is behind.
type Flow struct {
	// Threshold is the lag from which writes are limited: flowControlTargetLagSeconds (10 s) times
	// flowControlThresholdLagPercentage (0.5).
	Threshold time.Duration
}

// The defaults of mongod's parameters (flow_control_parameters.idl): flowControlDecayConstant, FudgeFactor,
// TicketMultiplierConstant, TicketAdderConstant, MinTicketsPerSecond and SamplePeriod.
const (
	flowDecay      = 0.5
	flowFudge      = 0.95
	flowMultiplier = 1.05
	flowAdder      = 1000
	flowLeast      = 100
	flowSample     = 1000
	flowMost       = 1e9
	flowPeriod     = time.Second
)

// position is how far a member is: how many writes it has synced, and when the primary applied the last of them.
type position struct {
	writes  int
	applied time.Duration
}

// flow is the state of flow control, and what is known of lag without it.
type flow struct {
	*Flow
	s         *simulation
	applied   position
	synced    []position // of the primary and of each other member
	sustained int        // writes of the member in the middle, at the last second
	permitted float64
	used      float64
	waiting   []func()
	limited   int // seconds in which writes were limited
	seconds   int
	lags      time.Duration   // of the majority, the sum over these seconds
	began     []time.Duration // lag of each member when counting began
}

func newFlow(s *simulation) *flow {
	f := &flow{Flow: s.Flow, s: s, synced: make([]position, s.Copies+1), permitted: flowMost}
	if s.Flow != nil {
		f.tick()
	}
	return f
}

// enter calls begin when a write may begin.
func (f *flow) enter(begin func()) {
	if f.Flow == nil {
		begin()
		return
	}
	if f.used >= f.permitted {
		f.waiting = append(f.waiting, begin)
		return
	}
	f.used++
	begin()
}

// apply notes a write of the primary, and returns its position.
func (f *flow) apply() position {
	f.applied = position{f.applied.writes + 1, f.s.now}
	return f.applied
}

// sync notes that a member has a write, and all before it.
func (f *flow) sync(member int, p position) {
	if p.writes > f.synced[member].writes {
		f.synced[member] = p
	}
}

// lag is how far a member is behind the primary.
func (f *flow) lag(member int) time.Duration { return f.applied.applied - f.synced[member].applied }

// tick calculates the tickets of the next second, as FlowControl::getNumTickets of mongod does. The majority is behind
// if its lag is above the threshold. Then the tickets are the writes that the member in the middle synced in the last
// second, and fewer the larger the lag is. The server samples every thousandth write, so it does not see less.
func (f *flow) tick() {
	f.s.after(flowPeriod, func() {
		order := slices.Clone(f.synced)
		slices.SortFunc(order, func(a, b position) int { return a.writes - b.writes })
		committed, middle := order[(len(order)-1)/2], order[len(order)/2]
		lag := f.applied.applied - committed.applied
		f.seconds++
		f.lags += lag
		if lag < f.Threshold || f.applied.writes-committed.writes < flowSample {
			f.permitted = min(flowMost, (f.permitted+flowAdder)*flowMultiplier)
		} else {
			f.limited++
			exponent := float64(lag-f.Threshold) / float64(f.Threshold)
			f.permitted = float64(middle.writes-f.sustained) * math.Pow(flowDecay, exponent) * flowFudge
		}
		f.permitted = max(f.permitted, flowLeast)
		f.sustained, f.used = middle.writes, 0
		for len(f.waiting) > 0 && f.used < f.permitted {
			next := f.waiting[0]
			f.waiting = f.waiting[1:]
			f.used++
			next()
		}
		f.tick()
	})
}

// reset begins to count.
func (f *flow) reset() {
	f.limited, f.seconds, f.lags = 0, 0, 0
	f.began = nil
	for i := range f.synced {
		f.began = append(f.began, f.lag(i))
	}
}

// sum adds what was counted.
func (f *flow) sum(out *Outcome, took time.Duration) {
	for i := range f.synced {
		out.Behind = max(out.Behind, f.lag(i))
		out.Grows = max(out.Grows, float64(f.lag(i)-f.began[i])/float64(took))
	}
	out.Limited = float64(f.limited) / float64(max(1, f.seconds))
	out.Majority = f.lags / time.Duration(max(1, f.seconds))
}
