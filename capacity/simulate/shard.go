package simulate

import (
	"math/rand/v2"
	"time"

	"github.com/plimsoll-bench/plimsoll/measure"
)

// Shard is a server under a closed or an open load, alone or as the primary of a set. An operation passes a router if
// there is one, needs a ticket and the cores, reads pages that are not in the cache, and if it is a durable write, it
// waits for a sync and for other members.
type Shard struct {
	Workers int
	// Rate is how many operations are due per second, independently of each other; 0 is a closed load. An operation that
	// is due waits for a free worker, and its time counts from then.
	Rate    float64
	Cores   int
	Tickets int     // how many operations may execute at once; 0 is as many as there are
	Writes  float64 // share of the operations that wait for a sync
	// Software is the time of an operation without the sync: what it computes, what it waits for other things than cores
	// and disks (threads that wake up), and what its worker waits before the next one.
	Software func(r *rand.Rand, write bool) (computes, waits, thinks time.Duration)
	// Sync is the time of one write and flush of the journal with this number of commits.
	Sync func(r *rand.Rand, commits int) time.Duration
	// Misses is how many pages an operation reads from the disk, on average. Read is the time of one read among so many
	// at once, and the disk performs Depth of them at once; 0 is all.
	Misses float64
	Read   func(r *rand.Rand, reads int) time.Duration
	Depth  int
	// Copies is how many other members there are. A durable write waits until Acks of them have synced it too. Hop is the
	// time to another member and back, without its sync. Shipped: members get a write after the sync of the primary, and
	// not at the same time.
	Copies, Acks int
	Hop          func(r *rand.Rand) time.Duration
	Shipped      bool
	// Slower of the other members have another storage: SlowSync is one sync there. Batch is the most commits that it
	// carries.
	Slower, Batch int
	SlowSync      func(r *rand.Rand, commits int) time.Duration
	// Flow limits writes while a majority of members is behind; nil: nothing does.
	Flow *Flow
	// Router is the time that a router and its network add; nil: none.
	Router     func(r *rand.Rand) time.Duration
	Operations int // as many are counted, after a tenth of them
	// Time is how long is simulated at least before operations are counted, and how long they are counted at least.
	Time time.Duration
	Seed uint64
}

// Outcome is what a simulation counted.
type Outcome struct {
	Rate   float64 // operations per second
	Writes *measure.Histogram
	Reads  *measure.Histogram
	// Cores, Journal and Disk are the shares of the time in which these were busy; Disk of reads.
	Cores, Journal, Disk float64
	// Batch is the mean number of commits of a sync.
	Batch float64
	// Lag is how much later than the primary the slowest member had synced a write.
	Lag *measure.Histogram
	// Behind is how far the slowest member is behind at the end, and Grows by how many seconds its lag grew for each
	// second. With flow control, Limited is the share of the time in which it limited writes, and Majority the mean lag of
	// the majority.
	Behind, Majority time.Duration
	Grows, Limited   float64
	// Issued are all operations that began, Ended those of them that ended, and Waiting those that had not when the
	// simulation stopped.
	Issued, Ended, Waiting int
}

// simulation is the state of a running simulation.
type simulation struct {
	Shard
	clock
	random  *rand.Rand
	tickets station
	cores   station
	disk    station
	journal journal
	members []*journal
	flow    *flow
	free    int             // workers without an operation
	due     []time.Duration // operations that wait for a worker
	inside  int             // operations that have a worker
	counted int
	commits int
	begin   time.Duration
	out     Outcome
}

// Run simulates the load.
func (c Shard) Run() Outcome {
	s := &simulation{Shard: c, random: rand.New(rand.NewPCG(c.Seed, 26)), out: Outcome{Writes: measure.NewHistogram(),
		Reads: measure.NewHistogram(), Lag: measure.NewHistogram()}}
	s.tickets = station{clock: &s.clock, servers: c.Tickets}
	s.cores = station{clock: &s.clock, servers: c.Cores}
	s.disk = station{clock: &s.clock, servers: c.Depth}
	sync := func(n int) time.Duration { return s.Sync(s.random, n) }
	s.journal = journal{clock: &s.clock, sync: sync}
	for i := range c.Copies {
		m := &journal{clock: &s.clock, sync: sync}
		if i >= c.Copies-c.Slower {
			m.sync, m.most = func(n int) time.Duration { return s.SlowSync(s.random, n) }, c.Batch
		}
		s.members = append(s.members, m)
	}
	s.flow = newFlow(s)
	if c.Rate > 0 {
		s.free = c.Workers
		s.arrive()
	} else {
		for range c.Workers {
			s.work()
		}
	}
	warm := c.Operations / 10
	s.run(func() bool { return s.counted >= warm && s.now >= c.Time })
	s.reset()
	s.run(func() bool { return s.counted >= c.Operations && s.now-s.begin >= c.Time })
	s.sum()
	return s.out
}

func (s *simulation) reset() {
	s.begin, s.counted, s.commits = s.now, 0, 0
	s.cores.used, s.disk.used, s.journal.used, s.journal.syncs = 0, 0, 0, 0
	s.out.Writes.Reset()
	s.out.Reads.Reset()
	s.out.Lag.Reset()
	s.flow.reset()
}

func (s *simulation) sum() {
	s.out.Waiting = s.inside + len(s.due)
	took := (s.now - s.begin).Seconds()
	if took <= 0 {
		return
	}
	s.out.Rate = float64(s.counted) / took
	s.flow.sum(&s.out, s.now-s.begin)
	s.out.Cores = s.cores.used.Seconds() / float64(s.Shard.Cores) / took
	s.out.Disk = s.disk.used.Seconds() / float64(max(1, s.Depth)) / took
	s.out.Journal = min(1, s.journal.used.Seconds()/took) // the last sync may not have ended
	if s.journal.syncs > 0 {
		s.out.Batch = float64(s.commits) / float64(s.journal.syncs)
	}
}

// arrive makes the next operation of an open load due.
func (s *simulation) arrive() {
	s.after(time.Duration(s.random.ExpFloat64()/s.Rate*1e9), func() {
		s.out.Issued++
		if s.due = append(s.due, s.now); s.free > 0 {
			s.free--
			s.next()
		}
		s.arrive()
	})
}

// next gives the operation that waits longest to a worker.
func (s *simulation) next() {
	if len(s.due) == 0 {
		s.free++
		return
	}
	begin := s.due[0]
	s.due = s.due[1:]
	write := s.random.Float64() < s.Writes
	computes, waits, _ := s.Software(s.random, write)
	s.perform(begin, write, computes, waits, s.next)
}

// work performs operations of a worker of a closed load.
func (s *simulation) work() {
	write := s.random.Float64() < s.Writes
	computes, waits, thinks := s.Software(s.random, write)
	s.after(thinks, func() {
		s.out.Issued++
		s.perform(s.now, write, computes, waits, s.work)
	})
}

// perform performs an operation whose time counts from begin. Half of its computing and waiting is before the commit,
// and half after it: a request is received and executed, and a reply is sent and received.
func (s *simulation) perform(begin time.Duration, write bool, computes, waits time.Duration, then func()) {
	s.inside++
	way := time.Duration(0)
	if s.Router != nil {
		way = s.Router(s.random)
	}
	end := func() {
		s.half(computes, waits+way, func() {
			s.inside--
			s.out.Ended++
			s.counted++
			took := int64(s.now - begin)
			if write {
				s.out.Writes.Record(took)
			} else {
				s.out.Reads.Record(took)
			}
			then()
		})
	}
	execute := func() {
		s.tickets.enter(func() {
			s.fetch(s.pages(), func() {
				s.cores.serve(computes/2, func() {
					s.tickets.leave()
					if write {
						s.commit(end)
					} else {
						end()
					}
				})
			})
		})
	}
	s.after((waits+way)/2, func() {
		if write {
			s.flow.enter(execute)
		} else {
			execute()
		}
	})
}

func (s *simulation) half(computes, waits time.Duration, done func()) {
	s.after(waits/2, func() { s.cores.serve(computes/2, done) })
}

// pages is how many pages an operation has to read.
func (s *simulation) pages() int {
	n := int(s.Misses)
	if s.random.Float64() < s.Misses-float64(n) {
		n++
	}
	return n
}

// fetch reads pages one after the other.
func (s *simulation) fetch(pages int, done func()) {
	if pages == 0 {
		done()
		return
	}
	s.disk.serve(s.Read(s.random, s.disk.busy+1), func() { s.fetch(pages-1, done) })
}

// commit waits for the journal and for other members.
func (s *simulation) commit(done func()) {
	s.commits++
	own, acks, p := false, 0, s.flow.apply()
	check := func() {
		if own && acks >= s.Acks {
			own = false // only once
			done()
		}
	}
	other := func() { acks++; check() }
	if !s.Shipped {
		s.ship(p, other)
	}
	s.journal.commit(func() {
		own = true
		s.flow.sync(0, p)
		if s.Shipped {
			s.ship(p, other)
		}
		check()
	})
}

// ship sends a write to the other members. Each has a journal of its own.
func (s *simulation) ship(p position, synced func()) {
	rest, from := len(s.members), s.now
	for i, m := range s.members {
		hop := s.Hop(s.random)
		s.after(hop/2, func() {
			m.commit(func() {
				s.after(hop/2, synced)
				s.flow.sync(i+1, p)
				if rest--; rest == 0 {
					s.out.Lag.Record(int64(s.now - from))
				}
			})
		})
	}
}
