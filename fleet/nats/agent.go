package nats

import (
	"bytes"
	"context"
	"crypto/ecdh"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
	"time"

	client "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/plimsoll-bench/plimsoll/fleet"
)

// AgentOptions are how an agent connects and what it says of itself.
type AgentOptions struct {
	Server Server
	Space  string // see [Options]
	// Facts are what the coordinator sees of the agent. Those that are zero are found: its name is its host and process
	// id, unique on a server.
	Facts fleet.Facts
	// Gone is how long the coordinator may not respond before the agent ends its part of a run; 0 for a minute.
	Gone time.Duration
	// Leave ends the agent if the coordinator does not respond for that time. Without it the agent waits for the next
	// coordinator.
	Leave bool
	// Tell, if it is not nil, shows a person what the agent does.
	Tell func(string)
}

// goneAtMost is how long a coordinator may not respond.
const goneAtMost = time.Minute

// program is an agent that is connected.
type program struct {
	opts  AgentOptions
	serve func(context.Context, fleet.Wire) error // performs a part
	space space
	nc    *client.Conn
	js    jetstream.JetStream
	key   *ecdh.PrivateKey
	self  entry
	ended chan error // why it ends
	ctx   context.Context

	mu      sync.Mutex
	state   beat
	part    *part // of the run it performs
	joining bool
	silent  int // beats without one of the coordinator
}

// part is a part of a run that an agent performs.
type part struct {
	*wire
	ended chan struct{}
}

// Serve registers an agent, and performs parts of runs one after another until ctx ends, the coordinator dismisses it,
// or the connection is refused.
func Serve(ctx context.Context, o AgentOptions, a fleet.Agent) error { return serve(ctx, o, a.Serve) }

func serve(ctx context.Context, o AgentOptions, part func(context.Context, fleet.Wire) error) error {
	p, err := newProgram(o, part)
	if err != nil {
		return err
	}
	closed := make(chan error, 1)
	p.nc, err = o.Server.connect("plimsoll agent "+p.self.Name, client.ClosedHandler(func(nc *client.Conn) {
		select {
		case closed <- nc.LastError():
		default:
		}
	}), client.DisconnectErrHandler(func(_ *client.Conn, err error) {
		if err != nil {
			p.tell("the connection is interrupted: " + err.Error())
		}
	}), client.ReconnectHandler(func(*client.Conn) { p.tell("connected again") }))
	if err != nil {
		return err
	}
	defer p.nc.Close()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	p.ctx = ctx
	err = p.register(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("the NATS server at %s did not register the agent within %v. Check its load, and start the agent again",
			p.nc.ConnectedUrlRedacted(), manyAtMost)
	}
	if err != nil {
		return err
	}
	defer p.leave()
	p.tell("connected to " + p.nc.ConnectedUrlRedacted() + " as " + p.self.Name)
	ticker := time.NewTicker(beatEvery)
	defer ticker.Stop()
	for {
		p.beat()
		select {
		case <-ticker.C:
			if p.abandoned() && o.Leave {
				return fmt.Errorf("the coordinator did not respond for %v. Start the agent again when it runs", p.opts.Gone)
			}
		case err := <-p.ended:
			return err
		case err := <-closed:
			if err == nil {
				err = client.ErrConnectionClosed
			}
			return o.Server.explain(err)
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func newProgram(o AgentOptions, part func(context.Context, fleet.Wire) error) (*program, error) {
	if o.Gone == 0 {
		o.Gone = goneAtMost
	}
	if o.Tell == nil {
		o.Tell = func(string) {}
	}
	key, err := newKey()
	if err != nil {
		return nil, err
	}
	f := o.Facts
	if f.Host == "" {
		f.Host, _ = os.Hostname() // only shown
	}
	if f.PID == 0 {
		f.PID = os.Getpid()
	}
	if f.Cores == 0 {
		f.Cores = runtime.GOMAXPROCS(0)
	}
	if f.Machine == "" {
		id, _ := os.ReadFile("/etc/machine-id") // only where it is
		f.Machine = strings.TrimSpace(string(id))
	}
	if f.Protocol == 0 {
		f.Protocol = fleet.Protocol
	}
	if f.Name == "" {
		f.Name = nameOf(f.Host, f.PID)
	}
	if !validName(f.Name) {
		return nil, fmt.Errorf("the agent's name %q: use letters, digits, - and _ only", f.Name)
	}
	return &program{opts: o, serve: part, space: spaceOf(o.Space), key: key,
		self:  entry{Facts: f, Key: key.PublicKey().Bytes()},
		ended: make(chan error, 1), state: beat{Key: key.PublicKey().Bytes()}}, nil
}

func (p *program) tell(text string) { p.opts.Tell(text) }

func (p *program) end(err error) {
	select {
	case p.ended <- err:
	default:
	}
}

// register makes the entry of the agent. An entry of another process with its name is replaced if that process is
// silent.
func (p *program) register(ctx context.Context) (err error) {
	if p.js, err = publisher(p.nc); err != nil {
		return err
	}
	kv, err := openBucket(ctx, p.js, p.space)
	if err != nil {
		return err
	}
	if err := p.compare(ctx, kv); err != nil {
		return err
	}
	beats := make(chan *client.Msg, 64)
	others, err := p.nc.ChanSubscribe(p.space.beat(p.self.Name), beats)
	if err != nil {
		return err
	}
	defer func() { _ = others.Unsubscribe() }() // fails if the connection has ended
	if _, err := p.nc.Subscribe(p.space.agent(p.self.Name), p.onRequest); err != nil {
		return err
	}
	if _, err := p.nc.Subscribe(p.space.coordinator(), func(*client.Msg) { p.heard() }); err != nil {
		return err
	}
	if _, err = kv.Create(ctx, p.self.Name, encode(p.self)); !errors.Is(err, jetstream.ErrKeyExists) {
		return err
	}
	select {
	case m := <-beats:
		var b beat
		if json.Unmarshal(m.Data, &b) != nil || !bytes.Equal(b.Key, p.self.Key) {
			return errTwice(p.self.Name)
		}
	case <-time.After(3 * beatEvery):
	case <-ctx.Done():
		return ctx.Err()
	}
	_, err = kv.Put(ctx, p.self.Name, encode(p.self))
	return err
}

func errTwice(name string) error {
	return fmt.Errorf("another agent is registered as %s and responds. Give this one another name, or end the other", name)
}

// compare checks that agent and coordinator are of one release, if there is a coordinator.
func (p *program) compare(ctx context.Context, kv jetstream.KeyValue) error {
	e, err := kv.Get(ctx, coordinatorKey)
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	var c entry
	if err := json.Unmarshal(e.Value(), &c); err != nil {
		return fmt.Errorf("the coordinator's entry is damaged: %w", err)
	}
	return differs(p.self.Facts, c.Facts)
}

// leave waits for the end of the part that the agent performs, and removes the entry of the agent.
func (p *program) leave() {
	p.mu.Lock()
	current := p.part
	p.mu.Unlock()
	if current != nil {
		select {
		case <-current.ended:
		case <-time.After(answerAtMost):
			current.fail(errors.New("the agent ends"))
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), answerAtMost)
	defer cancel()
	if kv, err := p.js.KeyValue(ctx, p.space.bucket()); err == nil {
		_ = kv.Delete(ctx, p.self.Name) // without beats the entry does not count
	}
}

func (p *program) beat() {
	p.mu.Lock()
	b := p.state
	p.mu.Unlock()
	_ = p.nc.Publish(p.space.beat(p.self.Name), encode(b)) // fails while the connection is interrupted
}

func (p *program) heard() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.silent = 0
}

// abandoned reports whether the coordinator is gone, and ends the part then. It counts its own ticks, so that a
// suspended machine does not abandon its run.
func (p *program) abandoned() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.silent++
	if time.Duration(p.silent)*beatEvery <= p.opts.Gone {
		return false
	}
	if p.part != nil {
		p.part.fail(fmt.Errorf("the coordinator did not respond for %v", p.opts.Gone))
	}
	return true
}

func (p *program) onRequest(m *client.Msg) {
	var r request
	if err := json.Unmarshal(m.Data, &r); err != nil {
		_ = m.Respond(encode(answer{Error: "it does not understand the coordinator. Install the same release on both"}))
		return
	}
	switch {
	case r.Join != nil:
		go func() {
			said := p.join(*r.Join)
			p.beat()
			_ = m.Respond(encode(said)) // the coordinator asks again
		}()
	case r.Break != "":
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.part != nil && p.state.Run == r.Break {
			p.part.fail(errors.New("the coordinator ended this part of the run"))
		}
	case r.Leave:
		p.end(nil)
	}
}

// join begins a part of a run.
func (p *program) join(j join) answer {
	p.mu.Lock()
	switch {
	case p.state.Run == j.Run && !p.joining:
		p.mu.Unlock()
		return answer{} // the coordinator asks again
	case p.joining || p.part != nil:
		p.mu.Unlock()
		return answer{Busy: true}
	}
	p.joining = true
	p.mu.Unlock()
	w, commands, err := p.open(j)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.joining = false
	if err != nil {
		return answer{Error: err.Error()}
	}
	p.part, p.state.Run, p.state.Busy = w, j.Run, true
	go w.transmit()
	go p.perform(w, commands)
	return answer{}
}

// open makes the wire of a part.
func (p *program) open(j join) (*part, jetstream.ConsumeContext, error) {
	if err := differs(p.self.Facts, j.Coordinator.Facts); err != nil {
		return nil, nil, err
	}
	up, down := p.space.up(j.Run, j.Number), p.space.down(j.Run, j.Number)
	out, err := newSealer(p.key, j.Coordinator.Key, up)
	if err != nil {
		return nil, nil, err
	}
	in, err := newSealer(p.key, j.Coordinator.Key, down)
	if err != nil {
		return nil, nil, err
	}
	w := &part{wire: newWire(p.nc, p.js, p.space.stream(j.Run), up, out, in, newWaiting()), ended: make(chan struct{})}
	ctx, cancel := context.WithTimeout(p.ctx, manyAtMost)
	defer cancel()
	commands, err := consume(ctx, p.js, w.stream, down, func(m jetstream.Msg) { w.deliver(m.Data()) })
	return w, commands, err
}

// perform serves a part of a run to its end.
func (p *program) perform(w *part, commands jetstream.ConsumeContext) {
	defer close(w.ended)
	p.tell("performing a part of a run")
	outcome := "waiting for the next run"
	err := p.serve(p.ctx, w.wire)
	if err != nil {
		outcome = "the part of the run ended: " + err.Error()
		w.enqueue(last, []byte(err.Error()))
	}
	w.Close()
	<-w.Closed()
	commands.Stop()
	p.mu.Lock()
	p.part, p.state.Busy = nil, false
	p.mu.Unlock()
	p.beat()
	p.tell(outcome)
}

// nameOf is a name for an agent whose user gave none.
func nameOf(host string, pid int) string {
	clean := strings.Map(func(r rune) rune {
		if validName("a" + string(r)) {
			return r
		}
		return '-'
	}, host)
	return strings.TrimLeft(fmt.Sprintf("%s-%d", clean, pid), "-_")
}
