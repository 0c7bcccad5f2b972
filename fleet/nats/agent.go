package nats

import (
	"context"
	"crypto/ecdh"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	client "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/plimsoll-bench/plimsoll/fleet"
	"github.com/plimsoll-bench/plimsoll/internal/safeopen"
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
	opts    AgentOptions
	serve   func(context.Context, fleet.Wire) error // performs a part
	space   space
	nc      *client.Conn
	js      jetstream.JetStream
	token   token
	key     *ecdh.PrivateKey
	public  []byte
	id      string
	out, in sealer // of beats and requests
	ended   chan error
	ctx     context.Context

	mu       sync.Mutex
	number   uint64 // of the last beat
	state    beat
	assigned *assignment // of the run it performs
	joining  bool
	joined   map[string]bool // runs that it has performed or performs
	silent   int             // beats without an answer of the coordinator
	heard    bool            // the coordinator has answered
	twice    int             // answers in succession that another agent has the name
}

// assignment is a part of a run that an agent performs.
type assignment struct {
	*wire
	ended chan struct{}
}

// Serve connects an agent, and performs parts of runs one after another until ctx ends, the coordinator dismisses it,
// or the connection is refused.
func Serve(ctx context.Context, o AgentOptions, a fleet.Agent) error { return serve(ctx, o, a.Serve) }

func serve(ctx context.Context, o AgentOptions, part func(context.Context, fleet.Wire) error) error {
	p, err := newProgram(o, part)
	if err != nil {
		return err
	}
	return p.run(ctx)
}

// run performs parts of runs until the agent ends.
func (p *program) run(ctx context.Context) (err error) {
	o := p.opts
	closed := make(chan error, 1)
	options := []client.Option{client.CustomInboxPrefix(inbox(p.id)), client.ClosedHandler(func(nc *client.Conn) {
		select {
		case closed <- nc.LastError():
		default:
		}
	}), client.DisconnectErrHandler(func(_ *client.Conn, err error) {
		if err != nil {
			p.tell("the connection is interrupted: " + err.Error())
		}
	}), client.ReconnectHandler(func(*client.Conn) { p.tell("connected again") })}
	if p.token.print != "" {
		options = append(options, client.UserInfo(p.id, p.token.password()), client.Secure(pinned(p.token.print)))
	}
	p.nc, err = o.Server.connect("plimsoll agent "+p.state.Name, options...)
	if err != nil {
		return err
	}
	defer p.nc.Close()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	p.ctx = ctx
	if p.js, err = publisher(p.nc); err != nil {
		return err
	}
	if _, err := p.nc.Subscribe(p.space.agent(p.id), p.onRequest); err != nil {
		return err
	}
	defer p.leave()
	p.tell("connected to " + p.nc.ConnectedUrlRedacted() + " as " + p.state.Name)
	ticker := time.NewTicker(beatEvery)
	defer ticker.Stop()
	for {
		p.beat()
		select {
		case <-ticker.C:
			if p.abandoned() && o.Leave {
				return p.unheard()
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
		id, _ := safeopen.ReadPath("/etc/machine-id", 1<<10) // only where it is
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
	known, err := parseToken(o.Server.Token)
	if err != nil {
		return nil, err
	}
	p := &program{opts: o, serve: part, space: spaceOf(o.Space), token: known, key: key, public: key.PublicKey().Bytes(),
		ended: make(chan error, 1), state: beat{Facts: f}, joined: map[string]bool{}}
	p.id = idOf(p.public)
	if p.out, err = newSealer(key, known.key, known.secret, p.space.beat(p.id)); err != nil {
		return nil, errToken
	}
	p.in, err = newSealer(key, known.key, known.secret, p.space.agent(p.id))
	return p, err
}

// unheard is the error of an agent without a coordinator.
func (p *program) unheard() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.heard {
		return fmt.Errorf("no coordinator of this token responded for %v. Copy the token that the coordinator shows now", p.opts.Gone)
	}
	return fmt.Errorf("the coordinator did not respond for %v. Start the agent again when it runs", p.opts.Gone)
}

func (p *program) tell(text string) { p.opts.Tell(text) }

func (p *program) end(err error) {
	select {
	case p.ended <- err:
	default:
	}
}

func errTwice(name string) error {
	return fmt.Errorf("another agent is registered as %s and responds. Give this one another name, or end the other", name)
}

// twiceAtMost is for how many beats another agent may have the name. One that was killed has it for some seconds.
const twiceAtMost = 2 * int(aliveAtMost/beatEvery)

// greet takes the coordinator's answer to a beat.
func (p *program) greet(h hello) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.silent, p.heard = 0, true
	if err := differs(p.state.Facts, fleet.Facts{Version: h.Version, Commit: h.Commit, Protocol: h.Protocol}); err != nil {
		p.end(err)
	}
	if p.twice++; !h.Twice {
		p.twice = 0
	}
	if p.twice > twiceAtMost {
		p.end(errTwice(p.state.Name))
	}
	if p.state.Nonce != h.Nonce {
		p.state.Nonce = h.Nonce
		p.beatLocked()
	}
}

// leave waits for the end of the part that the agent performs, and removes the entry of the agent.
func (p *program) leave() {
	p.mu.Lock()
	current := p.assigned
	p.mu.Unlock()
	if current != nil {
		select {
		case <-current.ended:
		case <-time.After(answerAtMost):
			current.fail(errors.New("the agent ends"))
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.state.Left = true
	p.beatLocked()
	if p.nc.IsConnected() {
		_ = p.nc.FlushTimeout(answerAtMost) // without beats the agent does not count
	}
}

func (p *program) beat() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.beatLocked()
}

// beatLocked sends a beat. The caller has the lock.
func (p *program) beatLocked() {
	p.number++
	sealed := p.out.seal(p.number, ordinary, encode(p.state))
	// It fails while the connection is interrupted.
	_ = p.nc.Publish(p.space.beat(p.id), append(slices.Clone(p.public), sealed...))
}

// abandoned reports whether the coordinator is gone, and ends the part then. It counts its own ticks, so that a
// suspended machine does not abandon its run.
func (p *program) abandoned() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.silent++; p.silent == int(aliveAtMost/beatEvery) && !p.heard {
		p.tell("no coordinator of this token responds yet. Waiting for it")
	}
	if time.Duration(p.silent)*beatEvery <= p.opts.Gone {
		return false
	}
	if p.assigned != nil {
		p.assigned.fail(fmt.Errorf("the coordinator did not respond for %v", p.opts.Gone))
	}
	return true
}

// onRequest does what the coordinator requests. A message of anybody else is dropped.
func (p *program) onRequest(m *client.Msg) {
	var r request
	_, _, plain, err := p.in.open(m.Data)
	if err != nil || json.Unmarshal(plain, &r) != nil {
		return
	}
	switch {
	case r.Hello != nil:
		p.greet(*r.Hello)
	case r.Join != "":
		go p.join(r.Join)
	case r.Break != "":
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.assigned != nil && p.state.Run == r.Break {
			p.assigned.fail(errors.New("the coordinator ended this part of the run"))
		}
	case r.Leave == ended:
		p.end(nil)
	case r.Leave != "":
		p.end(errors.New(r.Leave))
	}
}

// join begins a part of a run. The next beat says so, or why not. Each run begins once, whatever is repeated.
func (p *program) join(run string) {
	p.mu.Lock()
	if p.joining || p.assigned != nil || p.joined[run] {
		p.mu.Unlock()
		return
	}
	p.joining = true
	p.mu.Unlock()
	w, commands, err := p.open(run)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.joining = false
	defer p.beatLocked()
	if err != nil {
		p.state.Refused = &refusal{Run: run, Why: err.Error()}
		return
	}
	p.joined[run], p.assigned = true, w
	p.state.Run, p.state.Busy, p.state.Refused = run, true, nil
	go w.transmit()
	go p.perform(w, commands)
}

// open makes the wire of a part.
func (p *program) open(run string) (*assignment, jetstream.ConsumeContext, error) {
	up, down := p.space.up(run, p.id), p.space.down(run, p.id)
	out, err := newSealer(p.key, p.token.key, p.token.secret, up)
	if err != nil {
		return nil, nil, err
	}
	in, err := newSealer(p.key, p.token.key, p.token.secret, down)
	if err != nil {
		return nil, nil, err
	}
	w := &assignment{wire: newWire(p.nc, p.js, up, out, in, newWaiting()), ended: make(chan struct{})}
	ctx, cancel := context.WithTimeout(p.ctx, manyAtMost)
	defer cancel()
	commands, err := consume(ctx, p.js, p.space.stream(run), down, func(m jetstream.Msg) { w.deliver(m.Data()) })
	return w, commands, err
}

// perform serves a part of a run to its end.
func (p *program) perform(w *assignment, commands jetstream.ConsumeContext) {
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
	p.assigned, p.state.Busy = nil, false
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
