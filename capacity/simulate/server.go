package simulate

import (
	"math/rand/v2"
	"time"

	"github.com/plimsoll-bench/plimsoll/measure"
)

// Server is one server under a closed load. An operation needs the cores, and if it is a durable write, it waits for a
// sync of the journal.
type Server struct {
	Workers int
	Cores   int
	Writes  float64 // share of the operations that wait for a sync
	// Software is the time of an operation without the sync: what it computes, what it waits for other things than cores
	// and disks (threads that wake up), and what its worker waits before the next one.
	Software func(r *rand.Rand, write bool) (computes, waits, thinks time.Duration)
	// Sync is the time of one write and flush of the journal with this number of commits.
	Sync       func(r *rand.Rand, commits int) time.Duration
	Operations int // as many are counted, after a tenth of them
	Seed       uint64
}

// Outcome is what a simulation counted.
type Outcome struct {
	Rate   float64 // operations per second
	Writes *measure.Histogram
	Reads  *measure.Histogram
	// Cores and Journal are the shares of the time in which these were busy.
	Cores, Journal float64
	// Batch is the mean number of commits of a sync.
	Batch float64
	// Issued are all operations that began, and Ended those of them that ended.
	Issued, Ended int
}

// simulation is the state of a running simulation.
type simulation struct {
	Server
	clock
	random  *rand.Rand
	cores   station
	journal journal
	counted int
	commits int
	begin   time.Duration
	out     Outcome
}

// Run simulates the server.
func (c Server) Run() Outcome {
	s := &simulation{Server: c, random: rand.New(rand.NewPCG(c.Seed, 26)),
		out: Outcome{Writes: measure.NewHistogram(), Reads: measure.NewHistogram()}}
	s.cores = station{clock: &s.clock, servers: c.Cores}
	s.journal = journal{clock: &s.clock, sync: func(n int) time.Duration { return s.Sync(s.random, n) }}
	for range c.Workers {
		s.work()
	}
	warm := c.Operations / 10
	s.run(func() bool { return s.counted >= warm })
	s.reset()
	s.run(func() bool { return s.counted >= c.Operations })
	s.sum()
	return s.out
}

func (s *simulation) reset() {
	s.begin, s.counted, s.commits = s.now, 0, 0
	s.cores.used, s.journal.used, s.journal.syncs = 0, 0, 0
	s.out.Writes.Reset()
	s.out.Reads.Reset()
}

func (s *simulation) sum() {
	took := (s.now - s.begin).Seconds()
	if took <= 0 {
		return
	}
	s.out.Rate = float64(s.counted) / took
	s.out.Cores = s.cores.used.Seconds() / float64(s.Server.Cores) / took
	s.out.Journal = min(1, s.journal.used.Seconds()/took) // the last sync may not have ended
	if s.journal.syncs > 0 {
		s.out.Batch = float64(s.commits) / float64(s.journal.syncs)
	}
}

// work performs operations of a worker.
func (s *simulation) work() {
	write := s.random.Float64() < s.Writes
	computes, waits, thinks := s.Software(s.random, write)
	s.after(thinks, func() {
		s.out.Issued++
		s.perform(write, computes, waits)
	})
}

// perform performs an operation. Half of its computing and waiting is before the commit, and half after it: a request
// is received and executed, and a reply is sent and received.
func (s *simulation) perform(write bool, computes, waits time.Duration) {
	begin := s.now
	end := func() {
		s.half(computes, waits, func() {
			s.out.Ended++
			s.counted++
			if took := int64(s.now - begin); write {
				s.out.Writes.Record(took)
			} else {
				s.out.Reads.Record(took)
			}
			s.work()
		})
	}
	s.half(computes, waits, func() {
		if !write {
			end()
			return
		}
		s.commits++
		s.journal.commit(end)
	})
}

func (s *simulation) half(computes, waits time.Duration, done func()) {
	s.after(waits/2, func() { s.cores.serve(computes/2, done) })
}
