package disk

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// group is a group commit with the semantics of MongoDB's journal flusher: one thread flushes. A commit waits for the
// next flush that begins; a flush that already runs does not count.
type group struct {
	mu      sync.Mutex
	waiting int           // commits that came since the last flush began
	next    chan struct{} // closed when the next flush ended
	wake    chan struct{} // tells the flusher that somebody waits
	closed  bool
}

func newGroup() *group { return &group{next: make(chan struct{}), wake: make(chan struct{}, 1)} }

// commit waits for the end of a flush that begins after the call.
func (g *group) commit() {
	g.mu.Lock()
	if g.closed {
		g.mu.Unlock()
		return
	}
	g.waiting++
	done := g.next
	if g.waiting == 1 {
		select {
		case g.wake <- struct{}{}:
		default:
		}
	}
	g.mu.Unlock()
	<-done
}

// begin returns the number of waiting commits. The flusher calls done when they are durable.
func (g *group) begin() (commits int, done func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	commits, g.waiting = g.waiting, 0
	ended := g.next
	g.next = make(chan struct{})
	return commits, func() { close(ended) }
}

// close releases all waiting commits. Later commits return immediately.
func (g *group) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.closed {
		g.closed = true
		close(g.next)
	}
}

// journal measures the group commit with increasing numbers of clients.
func (p *probe) journal(ctx context.Context) error {
	l, err := p.openLog()
	if err != nil {
		return err
	}
	defer l.close()
	r := &record.ProbeJournalResult{}
	defer func() {
		if r.Flush != nil {
			p.out.Journal = r
		}
	}()
	for _, clients := range p.spec.Clients {
		if ctx.Err() != nil {
			break
		}
		s, kinds, err := p.journalStep(ctx, l, clients)
		if err != nil {
			return err
		}
		p.concludeJournal(r, s, kinds)
	}
	return nil
}

// concludeJournal adds a step to the result.
func (p *probe) concludeJournal(r *record.ProbeJournalResult, s *record.ProbeStep,
	kinds map[string]*measure.Histogram) {
	if s.Rate > r.Ceiling {
		r.Ceiling, r.Clients = s.Rate, s.Clients
	}
	if s.Model != nil && !s.Interrupted {
		r.WorstError = max(r.WorstError, s.Model.Error, -s.Model.Error)
	}
	if r.Flush != nil && s.Clients != 1 {
		return
	}
	h := kinds["flush"]
	r.Flush, r.Square = record.NewLatency(h), meanSquare(h)
	mean := time.Duration(h.Mean())
	one, many := modelLatency(1, mean, 0), amongOthers(mean, r.Square)
	r.One, r.Many = int64(one), int64(many)
	r.Open = int64(measure.GroupCommit{Sync: mean, Square: r.Square}.OpenLatency(0.5 / max(mean.Seconds(), 1e-9)))
	r.Majority = majority(one, many, p.spec.Peers)
}

// journalStep measures a number of clients. Each commits again immediately after an acknowledgement.
func (p *probe) journalStep(ctx context.Context, l *log,
	clients int) (*record.ProbeStep, map[string]*measure.Histogram, error) {
	p.Progress.Step(fmt.Sprintf("journal, commits of %s by %s", figure.Bytes(p.spec.Record), figure.Plural(clients, "client")))
	g := newGroup()
	var failed atomic.Bool
	var thinking, thoughts atomic.Int64
	j := &job{threads: 1, step: record.ProbeStep{
		Profile: spec.ProbeJournal, Operation: Commit, Threads: 1, Clients: clients, Block: p.spec.Record, Mode: "buffered",
		Sync: SyncData,
	}}
	j.syncs = func(kinds map[string]*measure.Histogram, _ int64) int64 { return kinds["sync"].Count() }
	j.body = func(_ int, t *tally, stop *atomic.Bool) error {
		if clients == 1 {
			return singleClient(l, t, stop, &thinking, &thoughts)
		}
		var group sync.WaitGroup
		for range clients {
			group.Go(func() { client(g, t, p.spec.Record, stop, &failed, &thinking, &thoughts) })
		}
		err := flusher(g, l, t, stop, &failed)
		g.close()
		group.Wait()
		return err
	}
	kinds, s, err := p.perform(ctx, j)
	s.Flush, s.SyncOnly, s.Flushes = record.NewLatency(kinds["flush"]), record.NewLatency(kinds["sync"]), kinds["flush"].Count()
	if n := thoughts.Load(); n > 0 {
		s.Think = thinking.Load() / n
	}
	s.Model = modelOf(clients, kinds["turn"], kinds[""], time.Duration(s.Think))
	return s, kinds, err
}

// singleClient runs one client without a flusher: it flushes itself, because switching between two threads takes longer
// than a flush of a fast device.
func singleClient(l *log, t *tally, stop *atomic.Bool, thinking, thoughts *atomic.Int64) error {
	var last time.Time
	for !stop.Load() {
		begin := time.Now()
		if !last.IsZero() {
			thinking.Add(int64(begin.Sub(last)))
			thoughts.Add(1)
		}
		both, flush, err := l.append(1)
		if err != nil {
			return err
		}
		last = time.Now()
		t.add("", int64(last.Sub(begin)), l.p.spec.Record)
		t.aside("flush", int64(both))
		t.aside("sync", int64(flush))
		t.aside("turn", int64(last.Sub(begin)))
	}
	return nil
}

// client commits in a loop. A commit in progress at the end of the step does not count.
func client(g *group, t *tally, size int64, stop, failed *atomic.Bool, thinking, thoughts *atomic.Int64) {
	var acknowledged time.Time
	var idle time.Duration
	n := int64(0)
	for !stop.Load() && !failed.Load() {
		begin := time.Now()
		if !acknowledged.IsZero() {
			idle += begin.Sub(acknowledged)
			n++
		}
		g.commit()
		acknowledged = time.Now()
		if stop.Load() || failed.Load() {
			break
		}
		t.add("", int64(acknowledged.Sub(begin)), size)
	}
	thinking.Add(int64(idle))
	thoughts.Add(n)
}

// flusher writes and flushes all waiting commits, until stop.
func flusher(g *group, l *log, t *tally, stop, failed *atomic.Bool) error {
	for !stop.Load() {
		select {
		case <-g.wake:
		case <-time.After(10 * time.Millisecond):
			continue
		}
		for !stop.Load() {
			begin := time.Now()
			commits, done := g.begin()
			if commits == 0 {
				done()
				break
			}
			both, flush, err := l.append(commits)
			if err != nil {
				failed.Store(true) // before anybody is let go: nobody was acknowledged
				done()
				return err
			}
			t.aside("flush", int64(both))
			t.aside("sync", int64(flush))
			done()
			t.aside("turn", int64(time.Since(begin)))
		}
	}
	return nil
}
