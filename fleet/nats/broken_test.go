package nats

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/plimsoll-bench/plimsoll/fleet"
	"github.com/plimsoll-bench/plimsoll/internal/childproc"
	"github.com/plimsoll-bench/plimsoll/load"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
	runs "github.com/plimsoll-bench/plimsoll/run"
)

// proxy is a network between agents and coordinator that can be cut.
type proxy struct {
	listener net.Listener
	to       string

	flow  sync.RWMutex       // who writes has it; without it nothing passes
	split chan time.Duration // the pause between the first two lines that a client sends, for one connection

	mu    sync.Mutex
	cut   bool
	conns []net.Conn
}

func newProxy(t *testing.T, connect string) *proxy {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{listener: l, split: make(chan time.Duration, 1), to: strings.TrimPrefix(connect, "tls://")}
	go p.accept()
	t.Cleanup(func() { l.Close(); p.set(true) })
	return p
}

func (p *proxy) accept() {
	for {
		in, err := p.listener.Accept()
		if err != nil {
			return
		}
		out, err := net.Dial("tcp", p.to)
		p.mu.Lock()
		if err != nil || p.cut {
			in.Close()
			if out != nil {
				out.Close()
			}
			p.mu.Unlock()
			continue
		}
		p.conns = append(p.conns, in, out)
		p.mu.Unlock()
		go p.pump(in, out)
		go p.pump(out, in)
	}
}

// pump copies until one of both is closed.
func (p *proxy) pump(from, to net.Conn) {
	defer from.Close()
	defer to.Close()
	b := make([]byte, 32<<10)
	for {
		n, err := from.Read(b)
		if err != nil {
			return
		}
		p.flow.RLock()
		if bytes.HasPrefix(b[:n], []byte("CONNECT")) {
			n = p.pause(to, b[:n])
		}
		_, err = to.Write(b[:n])
		p.flow.RUnlock()
		if err != nil {
			return
		}
	}
}

// pause writes the first line of b and returns how much is left of b, some time later.
func (p *proxy) pause(to io.Writer, b []byte) int {
	select {
	case d := <-p.split:
		line := bytes.IndexByte(b, '\n') + 1
		_, _ = to.Write(b[:line]) // the next write fails too
		time.Sleep(d)
		return copy(b, b[line:])
	default:
		return len(b)
	}
}

// stall lets nothing pass for some time, and closes nothing.
func (p *proxy) stall(d time.Duration) {
	p.flow.Lock()
	defer p.flow.Unlock()
	time.Sleep(d)
}

// set cuts all connections and refuses new ones, or accepts them again.
func (p *proxy) set(cut bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cut = cut
	for _, c := range p.conns {
		c.Close()
	}
	p.conns = nil
}

func (p *proxy) server(c *Coordinator) Server {
	return Server{URL: "tls://" + p.listener.Addr().String(), Token: c.Token()}
}

// A network that is interrupted for three seconds loses nothing.
func TestNetworkCut(t *testing.T) {
	t.Parallel()
	c := open(t, Options{})
	p := newProxy(t, c.Connect())
	startAgents(t, p.server(c), 3)
	w := &watcher{on: map[int]func(){2: func() {
		p.set(true)
		time.AfterFunc(3*time.Second, func() { p.set(false) })
	}}}
	execute(t, c, testSpec(3, 8*time.Second), w)
}

// A network that carries nothing for longer than a request or an agent may take loses nothing: no agent, no second and
// no operation. The library does not end a connection before the run would.
func TestNetworkSilent(t *testing.T) {
	t.Parallel()
	c := open(t, Options{})
	p := newProxy(t, c.Connect())
	startAgents(t, p.server(c), 2)
	w := &watcher{on: map[int]func(){2: func() { go p.stall(max(aliveAtMost, answerAtMost) + 2*time.Second) }}}
	r := execute(t, c, testSpec(2, 12*time.Second), w)
	if m := r.Phase(load.PhaseMeasure); m.Seconds < 11 {
		t.Errorf("%v of 12 s were measured", m.Seconds)
	}
	if o := c.nc.Opts; o.PingInterval*time.Duration(o.MaxPingsOut) < awayAtMost {
		t.Errorf("a connection ends after %d PINGs, one in %v", o.MaxPingsOut, o.PingInterval)
	}
}

// A user's server that is down in the middle ends the run with one sentence. The record has what arrived before.
func TestServerDown(t *testing.T) {
	t.Parallel()
	theirs := userServer(t, true)
	scheme, address, _ := strings.Cut(theirs.URL, "@")
	p := newProxy(t, address)
	theirs.URL = scheme + "@" + p.listener.Addr().String()
	c := open(t, Options{Server: theirs})
	c.awayAtMost = 3 * time.Second
	startAgents(t, c.serverOf(), 2)
	w := &watcher{on: map[int]func(){2: func() { p.set(true) }}}
	dir := filepath.Join(t.TempDir(), "record")
	_, err := fleet.Execute(t.Context(), testSpec(2, 10*time.Minute), runs.Options{Dir: dir, Progress: w},
		fleet.Options{Places: c.places()})
	if err != nil {
		t.Fatal(err)
	}
	p.set(false) // what follows the run is not waited for in vain
	r, err := record.OpenRun(dir)
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(r.Validity, func(f measure.Finding) bool { return f.ID == "client-lost" })
	if i < 0 || !strings.Contains(r.Validity[i].Text, "was interrupted for 3s. Start it again") ||
		r.Validity[i].Severity != measure.Invalid || strings.Contains(r.Validity[i].Text, "u:p@") {
		t.Errorf("validity %+v", r.Validity)
	}
	if n := counted(r, load.PhaseMeasure, fleet.PhaseOutside); n.Succeeded == 0 {
		t.Error("the record has no operations")
	}
}

// A restart of the server in the middle of a run loses nothing.
func TestServerRestarted(t *testing.T) {
	t.Parallel()
	c := open(t, Options{})
	startAgents(t, c.serverOf(), 3)
	w := &watcher{on: map[int]func(){2: func() {
		go func() {
			c.server.stop()
			if _, err := c.server.start(); err != nil {
				t.Error(err)
			}
		}()
	}}}
	execute(t, c, testSpec(3, 8*time.Second), w)
}

// A stream that is removed in the middle ends the run with one sentence, and the agents are free for the next one.
func TestStreamRemoved(t *testing.T) {
	t.Parallel()
	c := open(t, Options{})
	startAgents(t, c.serverOf(), 2)
	w := &watcher{on: map[int]func(){2: func() {
		for _, u := range c.state.Runs {
			if err := c.remove(t.Context(), u.ID); err != nil {
				t.Error(err)
			}
		}
	}}}
	dir := filepath.Join(t.TempDir(), "record")
	_, err := fleet.Execute(t.Context(), testSpec(2, 10*time.Minute), runs.Options{Dir: dir, Progress: w},
		fleet.Options{Places: c.places()})
	if err != nil {
		t.Fatal(err)
	}
	r, err := record.OpenRun(dir)
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(r.Validity, func(f measure.Finding) bool { return f.ID == "client-lost" })
	if i < 0 || !strings.Contains(r.Validity[i].Text, "was removed from the NATS server") {
		t.Errorf("validity %+v", r.Validity)
	}
	if n := counted(r, load.PhaseMeasure, fleet.PhaseOutside); n.Succeeded == 0 {
		t.Error("the record has no operations")
	}
	execute(t, c, testSpec(2, 5*time.Second), nil)
}

// ended expects that an agent ends with a sentence.
func expectEnd(t *testing.T, ended <-chan error, part string) {
	t.Helper()
	select {
	case err := <-ended:
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("the agent ended with %v, want %q", err, part)
		}
	case <-time.After(patience):
		t.Errorf("the agent did not end, want %q", part)
	}
}

func noPart(context.Context, fleet.Wire) error { return errors.New("there should be no run") }

// Agents that cannot join say what to do.
func TestRefusedAgents(t *testing.T) {
	t.Parallel()
	c := open(t, Options{Version: "1.2.3", Commit: "abc"})
	good := c.serverOf()
	own, other := strings.Split(good.Token, "."), strings.Split(open(t, Options{}).Token(), ".")
	join := func(parts ...string) string { return strings.Join(parts, ".") }
	for name, refused := range map[string]struct {
		change func(*AgentOptions)
		want   string
	}{
		"wrong password":   {func(o *AgentOptions) { o.Server.Token = join(other[0], own[1], own[2]) }, "does not accept the token"},
		"other server":     {func(o *AgentOptions) { o.Server.Token = join(own[0], own[1], other[2]) }, "it has another certificate"},
		"incomplete token": {func(o *AgentOptions) { o.Server.Token = own[0] }, "the token is incomplete"},
		"short token":      {func(o *AgentOptions) { o.Server.Token = good.Token[:len(good.Token)-1] }, "the token is incomplete"},
		"other key": {func(o *AgentOptions) {
			o.Server.Token, o.Gone, o.Leave = join(own[0], other[1], own[2]), 3*time.Second, true
		}, "no coordinator of this token responded"},
		"no server":      {func(o *AgentOptions) { o.Server.URL = "tls://127.0.0.1:1" }, "connection refused. Start the server"},
		"other version":  {func(o *AgentOptions) { o.Facts.Version = "1.2.4" }, "install the same release on both"},
		"other build":    {func(o *AgentOptions) { o.Facts.Commit = "abd" }, "commit abd), and the coordinator is plimsoll 1.2.3"},
		"other protocol": {func(o *AgentOptions) { o.Facts.Protocol = fleet.Protocol + 1 }, "install the same release on both"},
		"bad name":       {func(o *AgentOptions) { o.Facts.Name = "a.b" }, "use letters, digits"},
	} {
		t.Run(name, func(t *testing.T) {
			o := AgentOptions{Server: good, Facts: fleet.Facts{Name: "agent"}}
			refused.change(&o)
			expectEnd(t, start(t, o, noPart), refused.want)
		})
	}
}

// Of two agents with one name the first stays. A name is free when its agent has ended.
func TestAgentTwice(t *testing.T) {
	t.Parallel()
	c := open(t, Options{})
	o := AgentOptions{Server: c.serverOf(), Facts: fleet.Facts{Name: "agent"}}
	wires := make(chan fleet.Wire, 1)
	ctx, cancel := context.WithCancel(t.Context())
	first := make(chan error, 1)
	go func() { first <- serve(ctx, o, hand(wires)) }()
	c.wait(t, 1)[0].Break()
	expectEnd(t, start(t, o, noPart), "another agent is registered as agent")
	cancel()
	<-first
	third := make(chan fleet.Wire, 1)
	start(t, o, hand(third))
	c.wait(t, 1)
	<-third
}

// The link of an agent that ends in the middle ends too.
func TestAgentEnds(t *testing.T) {
	t.Parallel()
	c := open(t, Options{})
	ctx, cancel := context.WithCancel(t.Context())
	wires := make(chan fleet.Wire, 1)
	ended := make(chan error, 1)
	go func() { ended <- serve(ctx, AgentOptions{Server: c.serverOf()}, hand(wires)) }()
	link := c.wait(t, 1)[0]
	(<-wires).Send([]byte(`1`))
	if frame, err := link.Receive(); err != nil || string(frame) != "1" {
		t.Errorf("received %s, %v", frame, err)
	}
	cancel()
	if frame, err := link.Receive(); err == nil {
		t.Errorf("received %s after the agent ended", frame)
	}
	<-ended
}

// Frames that a server lost or changed end the wire.
func TestChangedFrames(t *testing.T) {
	t.Parallel()
	c := open(t, Options{})
	wires := make(chan fleet.Wire, 1)
	start(t, AgentOptions{Server: c.serverOf()}, hand(wires))
	link := c.wait(t, 1)[0].(*link)
	agent := (<-wires).(*wire)
	var sealed [][]byte
	for i := range 2 * flightFrames {
		sealed = append(sealed, agent.out.seal(uint64(i+1), ordinary, frameOf(i)))
	}
	for _, i := range []int{1, 0, 0, 1, 3, 2} { // reordered and repeated
		link.deliver(sealed[i])
	}
	for i := range 4 {
		if frame, err := link.Receive(); err != nil || string(frame) != string(frameOf(i)) {
			t.Errorf("received %s, %v, want %s", frame, err, frameOf(i))
		}
	}
	for _, b := range sealed[5:] { // the fifth is missing
		link.deliver(b)
	}
	if frame, err := link.Receive(); err == nil || !strings.Contains(err.Error(), "message 5 is missing") {
		t.Errorf("received %s, %v", frame, err)
	}
	// Frames that were changed or cut, or that are of the other direction, are not received.
	good := link.out.seal(1, ordinary, []byte("good"))
	changed := slices.Clone(good)
	changed[len(changed)-1] ^= 1
	for _, b := range [][]byte{changed, good[1:], good[:len(good)-1], nil, sealed[0], good} {
		agent.deliver(b)
	}
	if frame, err := agent.Receive(); err != nil || string(frame) != "good" || agent.foreign != 5 {
		t.Errorf("received %s, %v, and %d frames of others", frame, err, agent.foreign)
	}
}

// Frames that nobody receives stay with the server.
func TestSlowReceiver(t *testing.T) {
	t.Parallel()
	c := open(t, Options{})
	wires := make(chan fleet.Wire, 1)
	start(t, AgentOptions{Server: c.serverOf()}, hand(wires))
	link := c.wait(t, 1)[0].(*link)
	agent := <-wires
	const frames, size = 48, 512 << 10
	for range frames {
		agent.Send(make([]byte, size))
	}
	agent.Close()
	<-agent.Closed() // the server has all
	waiting := func() int {
		link.waiting.mu.Lock()
		defer link.waiting.mu.Unlock()
		return link.waiting.bytes
	}
	for waiting() < waitingBytes {
		time.Sleep(time.Millisecond)
	}
	for i := range frames {
		if n := waiting(); n >= waitingBytes+size {
			t.Errorf("%d bytes wait before frame %d", n, i)
		}
		if _, err := link.Receive(); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := link.Receive(); !errors.Is(err, io.EOF) || waiting() != 0 {
		t.Errorf("%d bytes wait in the end: %v", waiting(), err)
	}
	link.Close()
}

func frameOf(i int) []byte { return []byte{byte('a' + i%26)} }

// Credentials are in no message and in no file of the server.
func TestSecretsAreSealed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	c := open(t, Options{Dir: dir})
	wires := make(chan fleet.Wire, 1)
	start(t, AgentOptions{Server: c.serverOf()}, hand(wires))
	link, secret := c.wait(t, 1)[0], `"mongodb://u:opensesame@db1"`
	agent := <-wires
	for _, way := range []struct{ from, to fleet.Wire }{{link, agent}, {agent, link}} {
		way.from.Send([]byte(secret))
		if frame, err := way.to.Receive(); err != nil || string(frame) != secret {
			t.Errorf("received %s, %v", frame, err)
		}
	}
	stream, err := c.js.Stream(t.Context(), c.space.stream(c.state.Runs[0].ID))
	if err != nil {
		t.Fatal(err)
	}
	for i := range uint64(2) {
		m, err := stream.GetMsg(t.Context(), i+1)
		if err != nil || strings.Contains(string(m.Data), "opensesame") || len(m.Data) < len(secret) {
			t.Errorf("message %d: %v, %v", i+1, m, err)
		}
	}
	kill(c)
	files := 0
	err = filepath.WalkDir(dir, func(name string, d os.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		files++
		b, err := os.ReadFile(name)
		if strings.Contains(string(b), "opensesame") {
			t.Errorf("%s has the secret", name)
		}
		return err
	})
	if err != nil || files < 4 {
		t.Errorf("%d files, %v", files, err)
	}
	link.Break()
}

// Agents may be processes. They end when they are dismissed.
func TestProcesses(t *testing.T) {
	t.Parallel()
	c := open(t, Options{})
	var agents []*exec.Cmd
	for range 2 {
		cmd := exec.Command(os.Args[0], c.Connect())
		cmd.Env = append(os.Environ(), roleVariable+"=agent", "NATS_TEST_TOKEN="+c.Token())
		cmd.Stderr = os.Stderr
		if err := childproc.Start(cmd); err != nil {
			t.Fatal(err)
		}
		agents = append(agents, cmd)
	}
	execute(t, c, testSpec(2, 2*time.Second), nil)
	if err := c.Dismiss(); err != nil {
		t.Fatal(err)
	}
	for _, cmd := range agents {
		if err := cmd.Wait(); err != nil {
			t.Errorf("an agent ended with %v", err)
		}
	}
}

// A coordinator that is opened again has the messages of the agents from the beginning, and goes on where the first one
// stopped.
func TestResume(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first := open(t, Options{Dir: dir})
	wires := make(chan fleet.Wire, 1)
	start(t, AgentOptions{Server: first.serverOf()}, hand(wires))
	link := first.wait(t, 1)[0]
	agent := <-wires
	link.Send([]byte("down 1"))
	agent.Send([]byte("up 1"))
	expectFrames(t, agent, "down 1")
	expectFrames(t, link, "up 1")
	kill(first)
	agent.Send([]byte("up 2"))

	second := open(t, Options{Dir: dir, Resume: true})
	if second.Connect() != first.Connect() || second.Token() != first.Token() {
		t.Error("the coordinator has another address or token")
	}
	links, err := second.Resume(t.Context())
	if err != nil || len(links) != 1 {
		t.Fatalf("%d links, %v", len(links), err)
	}
	expectFrames(t, links[0], "up 1", "up 2")
	links[0].Send([]byte("down 2"))
	expectFrames(t, agent, "down 2")
	links[0].Close()
	agent.Close()
	for _, w := range []fleet.Wire{links[0], agent} {
		if _, err := w.Receive(); !errors.Is(err, io.EOF) {
			t.Errorf("the end is %v", err)
		}
	}
	inUse := func() bool { // until the coordinator has what the agent sent last
		second.mu.Lock()
		defer second.mu.Unlock()
		return slices.ContainsFunc(second.runs, (*run).used)
	}
	for inUse() {
		time.Sleep(10 * time.Millisecond)
	}
	if second.wait(t, 1); len(second.state.Runs) != 1 {
		t.Errorf("runs %+v", second.state.Runs)
	}
}

// Without Resume the agents of an unfinished run end their parts, and its stream is removed.
func TestNotResumed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first := open(t, Options{Dir: dir})
	wires := make(chan fleet.Wire, 1)
	start(t, AgentOptions{Server: first.serverOf()}, hand(wires))
	first.wait(t, 1)
	agent := <-wires
	old := first.space.stream(first.state.Runs[0].ID)
	kill(first)
	second := open(t, Options{Dir: dir})
	if err := exists(second.js, old); !errors.Is(err, jetstream.ErrStreamNotFound) {
		t.Errorf("the old stream: %v", err)
	}
	if frame, err := agent.Receive(); err == nil {
		t.Errorf("received %s", frame)
	}
	second.wait(t, 1)
}

// kill ends a coordinator without what Close tells and waits for.
func kill(c *Coordinator) {
	c.once.Do(func() {
		c.nc.Close()
		close(c.closed)
		for _, r := range c.runs {
			<-r.ended
		}
		c.server.stop()
	})
}

func expectFrames(t *testing.T, w fleet.Wire, want ...string) {
	t.Helper()
	for _, text := range want {
		if frame, err := w.Receive(); err != nil || string(frame) != text {
			t.Errorf("received %q, %v, want %q", frame, err, text)
		}
	}
}

// An agent whose coordinator is gone ends its part, and itself if it is told to.
func TestCoordinatorGone(t *testing.T) {
	t.Parallel()
	c := open(t, Options{})
	wires := make(chan fleet.Wire, 1)
	p, err := newProgram(AgentOptions{Server: c.serverOf(), Gone: patience, Leave: true}, hand(wires))
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- p.run(context.Background()) }()
	c.wait(t, 1)
	agent := <-wires
	kill(c)
	p.mu.Lock()
	p.opts.Gone = 3 * time.Second
	p.mu.Unlock()
	if _, err := agent.Receive(); err == nil || !strings.Contains(err.Error(), "did not respond for 3s") {
		t.Errorf("the part ended with %v", err)
	}
	expectEnd(t, ended, "the coordinator did not respond for 3s")
}
