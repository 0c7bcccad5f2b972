package nats

import (
	"context"
	"errors"
	"fmt"
	"net"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	client "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/plimsoll-bench/plimsoll/fleet"
	"github.com/plimsoll-bench/plimsoll/internal/wait"
)

// Options are how a coordinator is opened.
type Options struct {
	// Dir is the coordinator's directory, which has keys and, with the embedded server, the frames of unfinished runs. It
	// takes a coordinator of an earlier process again, with the same address and token.
	Dir string
	// Server is the user's server; without a URL the coordinator starts one in this process.
	Server Server
	// Listen is the address of the embedded server, HOST:PORT. The default is a free port of loopback, or the port of
	// the coordinator whose directory it is.
	Listen string
	// Identity, if it is not empty, is a file of this user with the keys of coordinators that use the user's server one
	// after another, so that their agents can stay. Without it each coordinator has its own.
	Identity string
	// Space separates coordinators that use one server. The default is plimsoll.
	Space string
	// Version and Commit are those of the program.
	Version, Commit string
	// Resume keeps the unfinished run of a coordinator that was killed, for [Coordinator.Resume]. Without it the agents
	// end their parts.
	Resume bool
}

// Coordinator has the agents that are connected, and gives links to them.
type Coordinator struct {
	opts   Options
	space  space
	state  *state
	server *embedded // nil if it is the user's
	nc     *client.Conn
	js     jetstream.JetStream
	self   fleet.Facts
	nonce  string // of this process: beats that answer it are no repetitions of earlier ones
	closed chan struct{}
	once   sync.Once

	mu        sync.Mutex
	agents    map[string]*agent // by their names in subjects
	names     map[string]string // of agents, with their names in subjects
	taken     map[string]bool   // agents that Wait is inviting
	runs      []*run
	unresumed map[string]bool
	foreign   map[string]string // what is wrong with agents of another release, by their names in subjects
	changed   chan struct{}     // closed and replaced when something of agents changes

	bytesFirst     int64 // see [Coordinator.bytesOf]
	bytesPerSecond int64
	joinAtMost     time.Duration // how long an agent may take to join a run
	awayAtMost     time.Duration // how long the connection to the user's server may be interrupted
}

// agent is an agent that is connected.
type agent struct {
	entry
	agentID  string
	out, in  sealer // of requests and beats
	number   uint64 // of the last request
	heard    uint64 // number of the last beat
	beat     beat
	last     time.Time // of its last beat that answers this coordinator
	seen     time.Time // of its last beat
	expelled string    // why, if it is
}

// mostAgents bounds the agents that are known.
const mostAgents = 20_000

// Open starts a coordinator.
func Open(ctx context.Context, o Options) (*Coordinator, error) {
	s, err := openState(o.Dir, o.Identity)
	if err != nil {
		return nil, err
	}
	c := &Coordinator{opts: o, space: spaceOf(o.Space), state: s, closed: make(chan struct{}), agents: map[string]*agent{},
		taken: map[string]bool{}, unresumed: map[string]bool{}, foreign: map[string]string{},
		names: map[string]string{}, changed: make(chan struct{}), bytesFirst: bytesFirst,
		bytesPerSecond: bytesPerSecond, joinAtMost: joinAtMost, awayAtMost: awayAtMost,
		self: fleet.Facts{Protocol: fleet.Protocol, Version: o.Version, Commit: o.Commit}, nonce: randomName(16)}
	if err := c.open(ctx); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

func (c *Coordinator) open(ctx context.Context) (err error) {
	if err := c.connect(); err != nil {
		return err
	}
	if err := c.state.save(c.opts.Dir); err != nil {
		return err
	}
	if c.js, err = publisher(c.nc); err != nil {
		return err
	}
	if err := responds(ctx, c.js); err != nil {
		return err
	}
	if err := c.alone(ctx); err != nil {
		return err
	}
	if c.opts.Resume {
		for _, u := range c.state.Runs {
			c.unresumed[u.ID] = true
		}
	} else if err := c.discard(ctx); err != nil {
		return err
	}
	if _, err := c.nc.Subscribe(c.space.beat("*"), c.onBeat); err != nil {
		return err
	}
	go c.forget()
	return nil
}

// connect connects to the user's server, or to one that it starts.
func (c *Coordinator) connect() (err error) {
	if c.opts.Server.URL != "" {
		c.nc, err = c.opts.Server.connect("plimsoll coordinator")
		return err
	}
	if c.opts.Listen != "" {
		c.state.Listen = c.opts.Listen
	}
	if c.state.Listen == "" {
		c.state.Listen = "127.0.0.1:0"
	}
	if c.server, err = newEmbedded(c.opts.Dir, c.opts.Space, c.state); err != nil {
		return err
	}
	if c.state.Listen, err = c.server.start(); err != nil {
		return err
	}
	c.nc, err = Server{}.connect("plimsoll coordinator", client.InProcessServer(c.server),
		client.UserInfo(coordinatorUser, c.server.own))
	return err
}

// responds checks that the server has JetStream.
func responds(ctx context.Context, js jetstream.JetStream) error {
	ctx, cancel := context.WithTimeout(ctx, manyAtMost)
	defer cancel()
	_, err := js.AccountInfo(ctx)
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return errors.New("the NATS server does not respond to requests of JetStream. Check that JetStream is enabled and that the " +
			"server has a leader")
	case err != nil:
		return fmt.Errorf("the NATS server refuses JetStream: %w. Enable JetStream for this user", err)
	}
	return nil
}

// alone claims the space of names.
func (c *Coordinator) alone(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, answerAtMost)
	defer cancel()
	if _, err := c.nc.RequestWithContext(ctx, c.space.who(), nil); err == nil {
		return fmt.Errorf("another coordinator uses the space %q of this NATS server. End it, or use another space", c.space)
	}
	_, err := c.nc.Subscribe(c.space.who(), func(m *client.Msg) { _ = m.Respond(nil) })
	return err
}

// discard removes the streams of runs that are not resumed.
func (c *Coordinator) discard(ctx context.Context) error {
	for _, u := range c.state.Runs {
		if err := c.remove(ctx, u.ID); err != nil {
			return err
		}
	}
	c.state.Runs = nil
	return c.state.save(c.opts.Dir)
}

func (c *Coordinator) remove(ctx context.Context, run string) error {
	err := c.js.DeleteStream(ctx, c.space.stream(run))
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return nil
	}
	return err
}

// notify wakes those who wait for agents. The caller has the lock.
func (c *Coordinator) notify() {
	close(c.changed)
	c.changed = make(chan struct{})
}

// forget removes agents that are silent.
func (c *Coordinator) forget() {
	ticker := time.NewTicker(manyAtMost)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
		case <-c.closed:
			return
		}
		c.mu.Lock()
		for _, a := range c.agents {
			if time.Since(a.seen) > 2*manyAtMost && a.expelled == "" {
				c.drop(a)
			}
		}
		c.mu.Unlock()
	}
}

// Connect is the address that agents connect to.
func (c *Coordinator) Connect() string {
	if c.server == nil {
		return c.opts.Server.URL
	}
	host, port, err := net.SplitHostPort(c.state.Listen)
	if ip := net.ParseIP(host); err == nil && (host == "" || ip != nil && ip.IsUnspecified()) {
		host = ownAddress()
	}
	return "tls://" + net.JoinHostPort(host, port)
}

// ownAddress is an address of this machine that others may reach.
func ownAddress() string {
	list, _ := net.InterfaceAddrs() // without any it is loopback
	for _, a := range list {
		if n, ok := a.(*net.IPNet); ok && n.IP.IsGlobalUnicast() && n.IP.To4() != nil {
			return n.IP.String()
		}
	}
	return "127.0.0.1"
}

// Token is what agents must know: a secret, the key of this coordinator and, with the embedded server, the fingerprint
// of its certificate. Who has it can be an agent, so keep it out of command lines. With the user's server agents need
// its credentials too.
func (c *Coordinator) Token() string {
	if c.server == nil {
		return c.state.token("").String()
	}
	return c.state.token(fingerprint(c.server.opts.TLSConfig.Certificates[0].Certificate[0])).String()
}

// Wait returns links to n idle agents for a run when they are registered. tell, if it is not nil, shows a person how
// many are missing. Agents of another release do not count.
func (c *Coordinator) Wait(ctx context.Context, n int, tell func(string)) ([]fleet.Link, error) {
	if tell == nil {
		tell = func(string) {}
	}
	for {
		if err := c.tidy(ctx); err != nil {
			return nil, err
		}
		list, err := c.gather(ctx, n, tell)
		if err != nil {
			return nil, err
		}
		r, err := c.begin(ctx, list)
		if err == nil {
			err = c.inviteAll(ctx, r)
		}
		c.release(list)
		switch {
		case err == nil:
			links := make([]fleet.Link, n)
			for i, l := range r.links {
				links[i] = l
			}
			return links, nil
		case r != nil:
			r.each((*link).Break)
		}
		if !errors.Is(err, errEnded) {
			return nil, err
		}
		tell(err.Error())
	}
}

// errEnded is the error of an agent that ended before it joined a run. Another one may take its place.
var errEnded = errors.New("it is left out")

// gather takes idle agents until it has n, and returns them in the order of their names.
func (c *Coordinator) gather(ctx context.Context, n int, tell func(string)) (list []entry, err error) {
	defer func() {
		if err != nil {
			c.release(list)
		}
	}()
	last := ""
	for {
		changed, foreign := c.take(n, &list)
		have := len(list)
		if have == n {
			slices.SortFunc(list, func(a, b entry) int { return strings.Compare(a.Name, b.Name) })
			return list, nil
		}
		if text := fmt.Sprintf("%d of %d agents are connected to %s, waiting for the others%s", have, n, c.Connect(),
			foreign); text != last {
			last = text
			tell(text)
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return list, fmt.Errorf("%d of %d agents connected to %s%s: %w", have, n, c.Connect(), foreign, context.Cause(ctx))
		case <-c.closed:
			return list, errors.New("the coordinator was closed")
		}
	}
}

// take adds idle agents to a list until it has n. The channel is closed when there may be more. Agents of another
// release are not taken; foreign says what is wrong with one of them.
func (c *Coordinator) take(n int, list *[]entry) (changed <-chan struct{}, foreign string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for id, a := range c.agents {
		alive := time.Since(a.last) <= aliveAtMost
		if why := c.foreign[id]; why != "" && alive && a.expelled == "" {
			foreign = " (" + why + ")"
		}
		if len(*list) == n || c.taken[id] || a.beat.Busy || !alive || c.foreign[id] != "" || a.expelled != "" || c.twice(a) {
			continue
		}
		c.taken[id] = true
		*list = append(*list, a.entry)
	}
	return c.changed, foreign
}

func (c *Coordinator) release(list []entry) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, a := range list {
		delete(c.taken, a.id())
	}
}

// begin makes the stream of a run.
func (c *Coordinator) begin(ctx context.Context, list []entry) (*run, error) {
	id := randomName(8)
	r, err := c.newRun(id, list)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	c.state.Runs = append(c.state.Runs, unfinished{ID: id, Agents: list})
	err = c.state.save(c.opts.Dir)
	c.mu.Unlock()
	if err != nil {
		return nil, err
	}
	err = c.create(ctx, jetstream.StreamConfig{
		Name: c.space.stream(id), Subjects: []string{c.space.frames(id)}, Description: "messages of a run of plimsoll",
		MaxConsumers: 4 * (len(list) + 1), // the default is 1000, and an agent that connects again has two for some time
		// One agent cannot fill the store for the others, and all of them cannot fill the disk.
		MaxMsgsPerSubject: quota(0), Discard: jetstream.DiscardNew, DiscardNewPerSubject: true, MaxMsgSize: 2 * partBytes,
		MaxBytes: c.storeOf(len(list), untilNext(0)),
	})
	if err != nil {
		return nil, fmt.Errorf("the NATS server makes no stream for the run: %w. Check its limits and its disk", err)
	}
	if err := c.follow(ctx, r); err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.runs = append(c.runs, r)
	return r, nil
}

// create makes a stream. A server that has removed its last stream removes their directory a moment later, in the midst
// of the creation of the next one (nats-server 2.15, stream.stop). The creation fails then, and succeeds when it is
// tried again.
func (c *Coordinator) create(ctx context.Context, config jetstream.StreamConfig) error {
	for try := 1; ; try++ {
		_, err := c.js.CreateStream(ctx, config)
		var api *jetstream.APIError
		if err == nil || !errors.As(err, &api) || api.ErrorCode != streamNotCreated || try == creations {
			return err
		}
		if err := wait.Sleep(ctx, retryEvery); err != nil {
			return err
		}
	}
}

// Resume returns the links of the unfinished run of a coordinator that was opened with Options.Resume, in the order of
// their numbers. Each repeats the messages of its agent from the beginning of the run. The commands that the killed
// coordinator sent are not repeated; those of this one follow them. The link of an agent that has ended its part
// meanwhile ends with an error after its messages. Agents do that one minute after the coordinator was killed. Without
// an unfinished run there are no links.
func (c *Coordinator) Resume(ctx context.Context) ([]fleet.Link, error) {
	if len(c.state.Runs) == 0 {
		return nil, nil
	}
	last := c.state.Runs[len(c.state.Runs)-1]
	for _, u := range c.state.Runs[:len(c.state.Runs)-1] {
		if err := c.remove(ctx, u.ID); err != nil {
			return nil, err
		}
	}
	c.state.Runs = []unfinished{last}
	stream, err := c.js.Stream(ctx, c.space.stream(last.ID))
	if err != nil {
		return nil, fmt.Errorf("the unfinished run cannot be resumed: its stream %s: %w. Run it again", c.space.stream(last.ID), err)
	}
	r, err := c.newRun(last.ID, last.Agents)
	if err != nil {
		return nil, err
	}
	r.began = stream.CachedInfo().Created
	links := make([]fleet.Link, len(r.links))
	for i, l := range r.links {
		links[i] = l
		m, err := stream.GetLastMsgForSubject(ctx, l.subject)
		if err == nil {
			err = l.continueAfter(m.Data)
		}
		if err != nil && !errors.Is(err, jetstream.ErrMsgNotFound) {
			return nil, err
		}
	}
	if err := c.follow(ctx, r); err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.runs = append(c.runs, r)
	c.unresumed = map[string]bool{}
	return links, nil
}

// inviteAll invites the agents of a run until all have joined.
func (c *Coordinator) inviteAll(ctx context.Context, r *run) error {
	waiting, since := slices.Clone(r.links), time.Now()
	ticker := time.NewTicker(retryEvery)
	defer ticker.Stop()
	for round := 0; len(waiting) > 0; round++ {
		again := round%int(beatEvery/retryEvery) == 0
		for i := len(waiting) - 1; i >= 0; i-- {
			joined, err := c.invite(r, waiting[i], again, time.Since(since))
			if err != nil {
				return err
			}
			if joined {
				waiting = slices.Delete(waiting, i, i+1)
			}
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// tidy removes the streams of runs that have ended. They are kept until then, so that a coordinator which is killed
// before the record is complete can be resumed.
func (c *Coordinator) tidy(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	var rest []*run
	for _, r := range c.runs {
		if r.used() {
			rest = append(rest, r)
			continue
		}
		if err := c.remove(ctx, r.id); err != nil {
			return err
		}
		c.state.Runs = slices.DeleteFunc(c.state.Runs, func(u unfinished) bool { return u.ID == r.id })
	}
	c.runs = rest
	return c.state.save(c.opts.Dir)
}

// Dismiss ends all agents that are connected.
func (c *Coordinator) Dismiss() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, a := range c.agents {
		if err := c.send(a, request{Leave: ended}); err != nil {
			return err
		}
	}
	return c.nc.FlushTimeout(answerAtMost)
}

// Close ends all links and the embedded server. Agents stay, unless they are dismissed before.
func (c *Coordinator) Close() {
	c.once.Do(func() {
		c.mu.Lock()
		runs := c.runs
		c.mu.Unlock()
		limit := time.After(answerAtMost)
		for _, r := range runs {
			r.each(func(l *link) { l.flush(limit) })
		}
		close(c.closed)
		for _, r := range runs {
			<-r.ended
		}
		if c.nc != nil {
			ctx, cancel := context.WithTimeout(context.Background(), answerAtMost)
			defer cancel()
			if c.js != nil {
				_ = c.tidy(ctx) // what is left is removed by the next coordinator of the directory
			}
			c.nc.Close()
		}
		if c.server != nil {
			c.server.stop()
		}
	})
}

// validName reports whether a name can be one of an agent.
func validName(name string) bool {
	ok, err := path.Match("[a-zA-Z0-9]*", name)
	return err == nil && ok && strings.IndexFunc(name, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_')
	}) < 0
}
