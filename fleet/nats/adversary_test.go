package nats

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	client "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/plimsoll-bench/plimsoll/fleet"
	"github.com/plimsoll-bench/plimsoll/load"
	"github.com/plimsoll-bench/plimsoll/record"
	runs "github.com/plimsoll-bench/plimsoll/run"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// await waits until a condition holds.
func await(t testing.TB, what string, holds func() bool) {
	t.Helper()
	for limit := time.Now().Add(patience); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(limit) {
			t.Fatalf("%s did not come about", what)
		}
	}
}

// heardOf is how many agents the coordinator knows by some name.
func (c *Coordinator) heardOf(name string) (n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, a := range c.agents {
		if a.Name == name && !a.last.IsZero() {
			n++
		}
	}
	return n
}

// stranger is the connection of somebody who may do everything on the user's server.
func stranger(t *testing.T, theirs Server) *client.Conn {
	t.Helper()
	nc, err := theirs.connect("stranger")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	return nc
}

// Somebody who writes into the NATS server and has no token is no agent: the key that he registers gets no order.
func TestForeignKey(t *testing.T) {
	t.Parallel()
	theirs := userServer(t, true)
	c := open(t, Options{Server: theirs})
	nc := stranger(t, theirs)
	key, err := newKey()
	if err != nil {
		t.Fatal(err)
	}
	public := key.PublicKey().Bytes()
	id := idOf(public)
	known, err := parseToken(c.Token())
	if err != nil {
		t.Fatal(err)
	}
	// He knows the coordinator's key, which is public, and not the secret.
	out, err := newSealer(key, known.key, make([]byte, secretBytes), c.space.beat(id))
	if err != nil {
		t.Fatal(err)
	}
	b := beat{Facts: fleet.Facts{Name: "stranger", Protocol: fleet.Protocol}, Nonce: c.nonce}
	forge := func(number uint64) {
		for _, data := range [][]byte{append(slices.Clone(public), out.seal(number, ordinary, encode(b))...),
			append(slices.Clone(public), encode(b)...), encode(b), nil} {
			if err := nc.Publish(c.space.beat(id), data); err != nil {
				t.Error(err)
			}
		}
	}
	wires := make(chan fleet.Wire, 1)
	start(t, AgentOptions{Server: c.serverOf(), Facts: fleet.Facts{Name: "agent"}}, hand(wires))
	for i := range uint64(20) {
		forge(i + 1)
	}
	if l := c.wait(t, 1)[0]; l.Facts().Name != "agent" || c.heardOf("stranger") != 0 {
		t.Errorf("the order goes to %+v", l.Facts())
	}
	<-wires
}

// The token does not command an agent: only the coordinator's private key does.
func TestTokenIsNoCoordinator(t *testing.T) {
	t.Parallel()
	theirs := userServer(t, true)
	c := open(t, Options{Server: theirs})
	var parts atomic.Int64
	wires := make(chan fleet.Wire, 2)
	o := AgentOptions{Server: c.serverOf(), Facts: fleet.Facts{Name: "agent"}}
	start(t, o, func(ctx context.Context, w fleet.Wire) error {
		parts.Add(1)
		return hand(wires)(ctx, w)
	})
	await(t, "the agent", func() bool { return c.heardOf("agent") == 1 })
	var a agent
	c.mu.Lock()
	for _, one := range c.agents {
		a = *one
	}
	c.mu.Unlock()
	known, err := parseToken(c.Token())
	if err != nil {
		t.Fatal(err)
	}
	nc := stranger(t, theirs)
	js, err := publisher(nc)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := js.CreateStream(t.Context(), jetstream.StreamConfig{Name: c.space.stream("forged"),
		Subjects: []string{c.space.frames("forged")}}); err != nil {
		t.Fatal(err)
	}
	own, err := newKey()
	if err != nil {
		t.Fatal(err)
	}
	for _, other := range [][]byte{a.Key, known.key} {
		out, err := newSealer(own, other, known.secret, c.space.agent(a.agentID))
		if err != nil {
			t.Fatal(err)
		}
		for i, r := range []request{{Join: "forged"}, {Leave: "go away"}, {Leave: ended}} {
			if err := nc.Publish(c.space.agent(a.agentID), out.seal(uint64(1000+i), ordinary, encode(r))); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := nc.Flush(); err != nil {
		t.Fatal(err)
	}
	link := c.wait(t, 1)[0] // the agent is there, and idle
	(<-wires).Send([]byte("up"))
	expectFrames(t, link, "up")
	if n := parts.Load(); n != 1 {
		t.Errorf("the agent performed %d parts", n)
	}
}

// Two users of the user's server have the permissions of the documentation. With the embedded server each agent has
// those of its own subjects. A run works, and everything else is refused.
func TestPermissions(t *testing.T) {
	t.Parallel()
	publish, subscribe := Permissions("", "*")
	text, err := os.ReadFile("../../docs/agents.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, subject := range slices.Concat(publish, subscribe) {
		if !strings.Contains(string(text), `"`+subject+`"`) {
			t.Errorf("docs/agents.md does not have the permission %s", subject)
		}
	}
	s, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: server.RANDOM_PORT, NoSigs: true, NoLog: true,
		JetStream: true, StoreDir: t.TempDir(), Users: []*server.User{{Username: "c", Password: "c"},
			{Username: "a", Password: "a", Permissions: &server.Permissions{
				Publish:   &server.SubjectPermission{Allow: publish},
				Subscribe: &server.SubjectPermission{Allow: subscribe}}}}})
	if err != nil {
		t.Fatal(err)
	}
	go s.Start()
	if !s.ReadyForConnections(patience) {
		t.Fatal("the server did not start")
	}
	t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
	c := open(t, Options{Server: Server{URL: "nats://c:c@" + s.Addr().String()}})
	agents := Server{URL: "nats://a:a@" + s.Addr().String(), Token: c.Token()}
	startAgents(t, agents, 2)
	execute(t, c, testSpec(2, 2*time.Second), nil)

	e := open(t, Options{})
	startAgents(t, e.serverOf(), 1)
	await(t, "the agent", func() bool { return e.heardOf("agent-000") == 1 })
	known, err := parseToken(e.Token())
	if err != nil {
		t.Fatal(err)
	}
	id := idOf([]byte("a thief of the token"))
	thief, err := Server{URL: e.Connect()}.connect("thief", client.UserInfo(id, known.password()),
		client.Secure(pinned(known.print)), client.CustomInboxPrefix(inbox(id)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(thief.Close)
	var victim string
	e.mu.Lock()
	for other := range e.agents {
		victim = other
	}
	e.mu.Unlock()
	refused := make(chan string, 100)
	thief.SetErrorHandler(func(_ *client.Conn, _ *client.Subscription, err error) { refused <- err.Error() })
	tries := map[string]func(subject string) error{}
	for _, subject := range []string{">", e.space.beat("*"), e.space.agent(victim), e.space.agent("*"), "_INBOX.>",
		inbox(victim) + ".>", e.space.frames("*"), "$JS.>"} {
		tries["subscribe "+subject] = func(string) error { _, err := thief.SubscribeSync(subject); return err }
	}
	for _, subject := range []string{e.space.agent(victim), e.space.beat(victim), e.space.who(), e.space.up("r", victim),
		e.space.down("r", id), "$JS.API.STREAM.LIST", "$JS.API.STREAM.NAMES", "$JS.API.STREAM.CREATE.x",
		"$JS.API.STREAM.DELETE.x", "$JS.API.STREAM.MSG.GET.x", "$JS.API.CONSUMER.NAMES.x",
		"$JS.API.CONSUMER.CREATE.x.y." + e.space.up("r", "*"), "$JS.API.CONSUMER.CREATE.x.y." + e.space.down("r", victim),
		"$JS.API.CONSUMER.CREATE.x", "$JS.API.CONSUMER.DURABLE.CREATE.x.y"} {
		tries["publish "+subject] = func(string) error { return thief.Publish(subject, nil) }
	}
	for what, try := range tries {
		if err := try(what); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	if err := thief.Flush(); err != nil {
		t.Fatal(err)
	}
	await(t, "the refusals", func() bool { return len(refused) >= len(tries) })
}

// repeater repeats, alters and reorders everything that passes the server.
type repeater struct {
	nc   *client.Conn
	mu   sync.Mutex
	last []*client.Msg
	mine map[string]bool
}

func (r *repeater) on(m *client.Msg) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(m.Data) == 0 || r.mine[string(m.Data)] {
		return
	}
	altered := slices.Clone(m.Data)
	altered[len(altered)/2] ^= 1
	for _, data := range [][]byte{altered, m.Data[:len(m.Data)/2], slices.Clone(m.Data)} {
		r.mine[string(data)] = true
		_ = r.nc.Publish(m.Subject, data)
	}
	r.last = append(r.last, m)
	if len(r.last) > 20 { // older ones again, the newest first
		for _, old := range slices.Backward(r.last) {
			_ = r.nc.Publish(old.Subject, old.Data)
		}
		r.last = nil
	}
}

// A server that repeats, alters and reorders all messages changes no result.
func TestServerRepeatsAndAlters(t *testing.T) {
	t.Parallel()
	theirs := userServer(t, true)
	c := open(t, Options{Server: theirs})
	r := &repeater{nc: stranger(t, theirs), mine: map[string]bool{}}
	for _, subject := range []string{c.space.beat("*"), c.space.agent("*"), "plimsoll.run.>"} {
		if _, err := r.nc.Subscribe(subject, r.on); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.nc.Flush(); err != nil {
		t.Fatal(err)
	}
	startAgents(t, c.serverOf(), 2)
	execute(t, c, testSpec(2, 4*time.Second), nil)
}

// A server that drops messages ends the link, and the record has what arrived before. It does not claim more.
func TestServerDrops(t *testing.T) {
	t.Parallel()
	theirs := userServer(t, true)
	c := open(t, Options{Server: theirs})
	wires := make(chan fleet.Wire, 1)
	start(t, AgentOptions{Server: c.serverOf()}, hand(wires))
	link := c.wait(t, 1)[0].(*link)
	agent := <-wires
	link.waiting.add(waitingBytes) // the coordinator takes nothing until the message is gone
	agent.Send([]byte("lost"))
	js, err := publisher(stranger(t, theirs))
	if err != nil {
		t.Fatal(err)
	}
	stream, err := js.Stream(t.Context(), c.space.stream(c.state.Runs[0].ID))
	if err != nil {
		t.Fatal(err)
	}
	await(t, "the message in the stream", func() bool {
		m, err := stream.GetLastMsgForSubject(t.Context(), link.upOf(c))
		return err == nil && stream.DeleteMsg(t.Context(), m.Sequence) == nil
	})
	link.waiting.add(-waitingBytes)
	for range 2 * flightFrames {
		agent.Send([]byte("later"))
	}
	if frame, err := link.Receive(); err == nil {
		// The coordinator had it before it was deleted.
		if string(frame) != "lost" {
			t.Errorf("received %s in the place of the lost message", frame)
		}
		return
	} else if !strings.Contains(err.Error(), "message 1 is missing") {
		t.Errorf("the link ended with %v", err)
	}
}

func (l *link) upOf(c *Coordinator) string { return c.space.up(c.state.Runs[0].ID, l.agent.id()) }

// A request to join a run that is over, repeated by the server, begins no second part.
func TestReplayedJoin(t *testing.T) {
	t.Parallel()
	theirs := userServer(t, true)
	c := open(t, Options{Server: theirs})
	nc := stranger(t, theirs)
	var mu sync.Mutex
	var seen []*client.Msg
	keep := func(m *client.Msg) { mu.Lock(); seen = append(seen, m); mu.Unlock() }
	if _, err := nc.Subscribe(c.space.agent("*"), keep); err != nil {
		t.Fatal(err)
	}
	if err := nc.Flush(); err != nil {
		t.Fatal(err)
	}
	var parts atomic.Int64
	dir := t.TempDir()
	o := AgentOptions{Server: c.serverOf(), Facts: fleet.Facts{Name: "agent"}}
	start(t, o, func(ctx context.Context, w fleet.Wire) error {
		parts.Add(1)
		return fleet.Agent{Dir: dir}.Serve(ctx, w)
	})
	one := testSpec(1, time.Second)
	one.Load.Place = spec.PlaceManual
	execute(t, c, one, nil)
	mu.Lock()
	old := slices.Clone(seen)
	mu.Unlock()
	for _, m := range old {
		if err := nc.Publish(m.Subject, m.Data); err != nil {
			t.Fatal(err)
		}
	}
	if err := nc.Flush(); err != nil {
		t.Fatal(err)
	}
	execute(t, c, one, nil) // the agent is free for the next run
	if n := parts.Load(); n != 2 {
		t.Errorf("the agent performed %d parts of 2 runs", n)
	}
}

// Agents of another release that do not go away neither end the waiting nor take part.
func TestForeignRelease(t *testing.T) {
	t.Parallel()
	c := open(t, Options{Version: "1.2.3"})
	o := AgentOptions{Server: c.serverOf(), Facts: fleet.Facts{Name: "stale", Version: "1.2.2"}}
	p, err := newProgram(o, noPart)
	if err != nil {
		t.Fatal(err)
	}
	p.nc, err = o.Server.connect("stale", client.UserInfo(p.id, p.token.password()), client.Secure(pinned(p.token.print)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.nc.Close)
	p.state.Nonce = c.nonce
	p.beat()
	await(t, "the stale agent", func() bool { return c.heardOf("stale") == 1 })
	told := make(chan string, 100)
	done := make(chan []fleet.Link, 1)
	go func() {
		links, err := c.Wait(t.Context(), 1, func(text string) { told <- text })
		if err != nil {
			t.Error(err)
		}
		done <- links
	}()
	if text := <-told; !strings.Contains(text, "0 of 1 agents") || !strings.Contains(text, "the agent stale on ") ||
		!strings.Contains(text, "install the same release on both") {
		t.Errorf("the coordinator tells %q", text)
	}
	wires := make(chan fleet.Wire, 1)
	start(t, AgentOptions{Server: c.serverOf(), Facts: fleet.Facts{Name: "good", Version: "1.2.3"}}, hand(wires))
	if links := <-done; len(links) != 1 || links[0].Facts().Name != "good" {
		t.Errorf("links %v", links)
	}
	<-wires
}

// An agent that floods the coordinator is ended and cannot connect again. The run goes on with the others.
func TestFlood(t *testing.T) {
	t.Parallel()
	c := open(t, Options{})
	startAgents(t, c.serverOf(), 2)
	o := AgentOptions{Server: c.serverOf(), Facts: fleet.Facts{Name: "flood"}}
	ended := start(t, o, func(ctx context.Context, w fleet.Wire) error {
		for ctx.Err() == nil && !w.(*wire).ended() {
			for range 100 {
				w.Send([]byte(`{"event":{"at_ns":0,"kind":"note","text":"` + strings.Repeat("x", 1000) + `"}}`))
			}
			time.Sleep(10 * time.Millisecond)
		}
		return nil
	})
	dir := filepath.Join(t.TempDir(), "record")
	_, err := fleet.Execute(t.Context(), testSpec(3, time.Second), runs.Options{Dir: dir},
		fleet.Options{Places: c.places()})
	if err == nil || !strings.Contains(err.Error(), "more than an agent may") {
		t.Errorf("the run ended with %v", err) // it was never ready
	}
	// The reason may not reach it before its connection ends.
	if err := <-ended; err == nil || !strings.Contains(err.Error(), "more than an agent may") &&
		!strings.Contains(err.Error(), "does not accept the token") {
		t.Errorf("the agent ended with %v", err)
	}
	r := execute(t, c, testSpec(2, 5*time.Second), nil)
	if counted(r, load.PhaseMeasure).Succeeded == 0 || r.Status != record.Complete {
		t.Errorf("the next run is %s", r.Status)
	}
	if c.heardOf("flood") > 0 && len(c.server.expelled) != 1 {
		t.Error(fmt.Sprint("expelled: ", c.server.expelled))
	}
}

// beating connects an agent that beats and does nothing else.
func beating(t *testing.T, c *Coordinator, name string) *program {
	t.Helper()
	o := AgentOptions{Server: c.serverOf(), Facts: fleet.Facts{Name: name}}
	p, err := newProgram(o, noPart)
	if err != nil {
		t.Fatal(err)
	}
	p.nc, err = o.Server.connect(name, client.UserInfo(p.id, p.token.password()), client.Secure(pinned(p.token.print)))
	if err != nil {
		t.Fatal(err)
	}
	p.state.Nonce = c.nonce
	gone, all := make(chan struct{}), sync.WaitGroup{}
	all.Go(func() {
		for ticker := time.NewTicker(beatEvery / 10); ; {
			p.beat()
			select {
			case <-ticker.C:
			case <-gone:
				return
			}
		}
	})
	t.Cleanup(func() { close(gone); all.Wait(); p.nc.Close() })
	await(t, "the agent "+name, func() bool { return c.heardOf(name) == 1 })
	return p
}

// An agent that beats and does not join the run is left out, and another one takes its place.
func TestAgentThatNeverJoins(t *testing.T) {
	t.Parallel()
	c := open(t, Options{})
	c.joinAtMost = time.Second
	beating(t, c, "mute")
	told, done := make(chan string, 100), make(chan []fleet.Link, 1)
	go func() {
		links, err := c.Wait(t.Context(), 1, func(text string) { told <- text })
		if err != nil {
			t.Error(err)
		}
		done <- links
	}()
	for text := range told {
		if strings.Contains(text, "the agent mute did not join the run within 1s") {
			break
		}
	}
	c.mu.Lock()
	c.joinAtMost = patience // the honest one may be slow
	c.mu.Unlock()
	wires := make(chan fleet.Wire, 1)
	start(t, AgentOptions{Server: c.serverOf(), Facts: fleet.Facts{Name: "good"}}, hand(wires))
	if links := <-done; len(links) != 1 || links[0].Facts().Name != "good" {
		t.Errorf("links %v", links)
	}
	<-wires
}

// An agent of an older protocol is told what to do.
func TestOlderProtocol(t *testing.T) {
	t.Parallel()
	c := open(t, Options{Version: "1.2.3"})
	ended := start(t, AgentOptions{Server: c.serverOf(), Facts: fleet.Facts{Name: "old", Version: "1.2.3",
		Protocol: fleet.Protocol - 1}}, noPart)
	if err := <-ended; err == nil || !strings.Contains(err.Error(), fmt.Sprintf("protocol %d", fleet.Protocol-1)) ||
		!strings.Contains(err.Error(), "install the same release on both") {
		t.Errorf("it ends with %v", err)
	}
}

// What the server stores of an agent is bounded, whether anybody can read it or not. An agent that exceeds that is
// ended, and what it stored is removed. One that stays within the bound is heard.
func TestStoreOfAnAgent(t *testing.T) {
	t.Parallel()
	c := open(t, Options{})
	c.bytesFirst, c.bytesPerSecond = 8<<20, 0 // how fast the thief is does not matter
	wires := make(chan fleet.Wire, 1)
	start(t, AgentOptions{Server: c.serverOf(), Facts: fleet.Facts{Name: "honest"}}, hand(wires))
	begin := make(chan struct{}) // when both have joined
	thief := AgentOptions{Server: c.serverOf(), Facts: fleet.Facts{Name: "thief"}}
	start(t, thief, func(ctx context.Context, w fleet.Wire) error {
		mine := w.(*wire)
		junk := make([]byte, partBytes)
		select {
		case <-begin:
		case <-ctx.Done():
		}
		for ctx.Err() == nil && mine.nc.IsConnected() { // until the coordinator ends it
			if _, err := mine.js.PublishMsg(ctx, &client.Msg{Subject: mine.subject, Data: junk}); err != nil {
				time.Sleep(retryEvery)
			}
		}
		return nil
	})
	links := c.wait(t, 2)
	close(begin)
	stream, err := c.js.Stream(t.Context(), c.space.stream(c.state.Runs[0].ID))
	if err != nil {
		t.Fatal(err)
	}
	if most := stream.CachedInfo().Config.MaxBytes; most != 2*c.bytesFirst {
		t.Errorf("the stream may have %d bytes", most)
	}
	// They are in the order in which they joined.
	slices.SortFunc(links, func(a, b fleet.Link) int { return strings.Compare(a.Facts().Name, b.Facts().Name) })
	if _, err := links[1].Receive(); err == nil || !strings.Contains(err.Error(), "more than an agent may") {
		t.Errorf("the link to %s ends with %v", links[1].Facts().Name, err)
	}
	await(t, "the removal of what it stored", func() bool {
		info, err := stream.Info(t.Context())
		return err == nil && info.State.Bytes < 1<<20
	})
	agent, text := <-wires, strings.Repeat("x", 4<<20)
	agent.Send([]byte(text))
	expectFrames(t, links[0], text)
}

// The store of a run is at most half of what the server may store. On the user's server the user limits it.
func TestStoreOfARun(t *testing.T) {
	c := open(t, Options{})
	whole := c.server.store()
	for n, want := range map[int]int64{1: min(bytesFirst, whole/2), mostAgents: whole / 2} {
		if got := c.storeOf(n, 0); got != want || got <= 0 {
			t.Errorf("%d agents: %d bytes, want %d", n, got, want)
		}
	}
	// However fast an agent sends, it has more than it may before the store is full for another one.
	for second := range 10 * quotaEvery {
		store := c.bytesOf(2, untilNext(second/quotaEvery*quotaEvery))
		if most := c.bytesOf(1, time.Duration(second)*time.Second); store < 2*most {
			t.Errorf("after %d s an agent may send %d bytes, and the store of two has %d", second, most, store)
		}
	}
	if got := (&Coordinator{}).storeOf(1, 0); got != -1 {
		t.Errorf("on the user's server: %d bytes", got)
	}
}
