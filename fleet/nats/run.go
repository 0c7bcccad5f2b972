package nats

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/plimsoll-bench/plimsoll/fleet"
	"github.com/plimsoll-bench/plimsoll/internal/redact"
)

// run is the coordinator's side of one run.
type run struct {
	id      string
	links   []*link
	numbers map[string]int // of links by the names of agents in subjects
	consume jetstream.ConsumeContext
	ended   chan struct{} // closed when its stream is no more used

	began  time.Time
	stored []int64 // bytes of the messages of each agent; deliver uses it

	mu   sync.Mutex
	seen uint64 // sequence of the last message of the stream that was delivered
	gone map[int]departure
}

// departure is the end of a link when a message of the stream has been delivered.
type departure struct {
	after uint64
	why   error
}

// link is the coordinator's side of a wire.
type link struct {
	*wire
	agent entry
	expel func(why string)
}

var _ fleet.Expeller = (*link)(nil)

func (l *link) Expel(why string) {
	l.fail(errors.New(why))
	l.expel(why)
}

func (l *link) Facts() fleet.Facts { return l.agent.Facts }

// The agent ends its part when it sends a beat.
func (l *link) Break() { l.fail(fmt.Errorf("the link to the agent %s was ended", l.agent.Name)) }

// used reports whether an end of the link is still open.
func (l *link) used() bool {
	select {
	case <-l.done:
		return !l.ended()
	default:
		return true
	}
}

// newRun makes the links of a run whose stream is there.
func (c *Coordinator) newRun(id string, agents []entry) (*run, error) {
	r := &run{id: id, numbers: map[string]int{}, ended: make(chan struct{}), gone: map[int]departure{},
		began: time.Now(), stored: make([]int64, len(agents))}
	all := newWaiting()
	for i, a := range agents {
		r.numbers[a.id()] = i
		up, down := c.space.up(id, a.id()), c.space.down(id, a.id())
		out, err := newSealer(c.state.private, a.Key, c.state.Secret, down)
		if err != nil {
			return nil, err
		}
		in, err := newSealer(c.state.private, a.Key, c.state.Secret, up)
		if err != nil {
			return nil, err
		}
		r.links = append(r.links, &link{wire: newWire(c.nc, c.js, down, out, in, all), agent: a,
			expel: func(why string) { c.expel(id, a, why) }})
	}
	return r, nil
}

// follow delivers the messages of the agents to their links, from the beginning of the stream.
func (c *Coordinator) follow(ctx context.Context, r *run) (err error) {
	r.consume, err = consume(ctx, c.js, c.space.stream(r.id), c.space.toCoordinator(r.id),
		func(m jetstream.Msg) { c.deliver(r, m) })
	if err != nil {
		return err
	}
	for _, l := range r.links {
		go l.transmit()
	}
	go c.watch(r)
	return nil
}

// consume calls deliver with each message of a subject, in order, until it is stopped.
func consume(ctx context.Context, js jetstream.JetStream, stream, subject string, deliver func(jetstream.Msg)) (
	jetstream.ConsumeContext, error) {
	ordered, err := js.OrderedConsumer(ctx, stream, jetstream.OrderedConsumerConfig{FilterSubjects: []string{subject}})
	if err != nil {
		return nil, err
	}
	return ordered.Consume(deliver, jetstream.PullMaxMessagesWithBytesLimit(256, pulledBytes))
}

// deliver takes a message of the stream of a run. At the embedded server only the agent itself can have sent it, so it
// counts even if nobody can read it.
func (c *Coordinator) deliver(r *run, m jetstream.Msg) {
	_, last, _ := cutLast(m.Subject(), ".")
	if i, ok := r.numbers[last]; ok {
		r.stored[i] += int64(len(m.Data()))
		if c.server != nil && r.stored[i] > c.bytesOf(1, time.Since(r.began.Round(0))) && !r.links[i].isBroken() {
			r.links[i].Expel(fmt.Sprintf("it sent %d MiB to the server, more than an agent may", r.stored[i]>>20))
		}
		r.links[i].deliver(m.Data())
	}
	if about, err := m.Metadata(); err == nil {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.seen = about.Sequence.Stream
		for i, d := range r.gone {
			r.depart(i, d)
		}
	}
}

func cutLast(s, separator string) (before, after string, found bool) {
	if i := strings.LastIndex(s, separator); i >= 0 {
		return s[:i], s[i+len(separator):], true
	}
	return s, "", false
}

// depart ends a link if all is delivered that its agent sent.
func (r *run) depart(i int, d departure) {
	if r.seen >= d.after {
		r.links[i].fail(d.why) // without effect if the agent closed it
		delete(r.gone, i)
	}
}

// left ends the link of an agent that no longer performs its part, after the messages that are in the stream.
func (c *Coordinator) left(r *run, i int, why error) {
	ctx, cancel := context.WithTimeout(context.Background(), answerAtMost)
	defer cancel()
	stream, err := c.js.Stream(ctx, c.space.stream(r.id))
	if err != nil {
		return // the next beat says it again
	}
	m, err := stream.GetLastMsgForSubject(ctx, c.space.up(r.id, r.links[i].agent.id()))
	d := departure{why: why}
	switch {
	case err == nil:
		d.after = m.Sequence
	case !errors.Is(err, jetstream.ErrMsgNotFound):
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.gone[i] = d
	r.depart(i, d)
}

// fullAtMost is for how many beats the disk of the embedded server may be full.
const fullAtMost = 5

// awayAtMost is how long the coordinator's connection to the user's server may be interrupted. Agents are silent then,
// and silence does not say why.
const awayAtMost = 25 * time.Second

// watch ends the links if the server is gone or the stream is removed or cannot be stored, and ends when no link is
// used.
func (c *Coordinator) watch(r *run) {
	defer close(r.ended)
	defer r.consume.Stop()
	ticker := time.NewTicker(beatEvery)
	defer ticker.Stop()
	failed, connected := 0, time.Now()
	for seconds := 1; ; seconds++ {
		select {
		case <-ticker.C:
		case <-c.closed:
			r.each(func(l *link) { l.fail(errors.New("the coordinator was closed")) })
			return
		}
		if !r.used() {
			return
		}
		if c.nc.IsConnected() {
			connected = time.Now()
		} else if time.Since(connected) > c.awayAtMost {
			r.each(func(l *link) { l.fail(errAway(c.opts.Server.URL, c.awayAtMost)) })
			return
		} else {
			continue
		}
		if c.server != nil {
			if err := c.server.probe(); err == nil {
				failed = 0
			} else if failed++; failed > fullAtMost {
				r.each(func(l *link) { l.fail(err) })
				return
			}
		}
		if errors.Is(exists(c.js, c.space.stream(r.id)), jetstream.ErrStreamNotFound) {
			r.each(func(l *link) { l.fail(errGone(c.space.stream(r.id))) })
			return
		}
		if seconds%quotaEvery == 0 {
			c.raise(r, seconds)
		}
	}
}

func errAway(url string, limit time.Duration) error {
	return fmt.Errorf("the connection to the NATS server at %s was interrupted for %v. Start it again or check the network, and run "+
		"again", redact.InText(url), limit)
}

// used reports whether a link of the run is used.
func (r *run) used() bool { return slices.ContainsFunc(r.links, (*link).used) }

func (r *run) each(do func(*link)) {
	for _, l := range r.links {
		do(l)
	}
}

// The messages that the server stores for one direction of one agent. An honest agent sends some each second, and its
// files in the end.
const (
	quotaFirst     = 16 << 10
	quotaPerSecond = 64
	quotaEvery     = 5 // seconds
)

func quota(seconds int) int64 { return quotaFirst + quotaPerSecond*int64(seconds) }

// The bytes that the embedded server stores of one agent: more than package fleet lets it send.
const (
	bytesFirst     = 640 << 20
	bytesPerSecond = 24 << 20
)

// bytesOf is how many bytes the embedded server stores of n agents after some time.
func (c *Coordinator) bytesOf(n int, since time.Duration) int64 {
	return int64(n) * (c.bytesFirst + int64(float64(c.bytesPerSecond)*since.Seconds()))
}

// untilNext is the time until which the quota is enough that is set after some seconds. An agent that sends more than
// it may is ended before the store of the run is full for the others.
func untilNext(seconds int) time.Duration {
	return time.Duration(seconds+2*quotaEvery) * time.Second
}

// storeOf bounds the stream of a run of n agents, -1 for no bound. The embedded server reserves that much of its store.
// It may have the stream of an earlier run too. The limits of the user's server are the user's.
func (c *Coordinator) storeOf(n int, since time.Duration) int64 {
	if c.server == nil {
		return -1
	}
	return min(c.bytesOf(n, since), c.server.store()/2)
}

// raise raises the quota of the agents of a run. If it fails, the next one is tried.
func (c *Coordinator) raise(r *run, seconds int) {
	ctx, cancel := context.WithTimeout(context.Background(), answerAtMost)
	defer cancel()
	stream, err := c.js.Stream(ctx, c.space.stream(r.id))
	if err != nil {
		return
	}
	config := stream.CachedInfo().Config
	config.MaxMsgsPerSubject = max(config.MaxMsgsPerSubject, quota(seconds))
	config.MaxBytes = max(config.MaxBytes, c.storeOf(len(r.links), untilNext(seconds)))
	_, _ = c.js.UpdateStream(ctx, config)
}

// expel ends an agent that sent more than it may, and what the server stores of it.
func (c *Coordinator) expel(run string, e entry, why string) {
	c.mu.Lock()
	if a := c.agents[e.id()]; a != nil {
		a.expelled = why
		_ = c.send(a, request{Leave: why})
	}
	c.mu.Unlock()
	if c.server != nil {
		_ = c.nc.FlushTimeout(answerAtMost) // so that it hears why
		c.server.expel(e.id())
	}
	ctx, cancel := context.WithTimeout(context.Background(), answerAtMost)
	defer cancel()
	if stream, err := c.js.Stream(ctx, c.space.stream(run)); err == nil {
		_ = stream.Purge(ctx, jetstream.WithPurgeSubject(c.space.up(run, e.id()))) // the stream is removed after the run
	}
}
