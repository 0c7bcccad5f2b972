package drill

import (
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/plimsoll-bench/plimsoll/lab/engine/enginetest"
	"github.com/plimsoll-bench/plimsoll/record"
)

// swallower passes everything on to a server, until it swallows: what is sent on the connections that are open then is
// never answered, as behind a firewall that forgot them. Connections that are opened later work.
type swallower struct {
	net.Listener
	mu    sync.Mutex
	now   *generation // of new connections
	conns sync.WaitGroup
}

// generation are the connections that were opened between two swallowings.
type generation struct {
	lost    atomic.Bool
	answers atomic.Int64 // parts of answers that were passed on
}

func newSwallower(t *testing.T, server string) *swallower {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &swallower{Listener: ln, now: &generation{}}
	s.conns.Go(func() {
		for {
			client, err := ln.Accept()
			if err != nil {
				return
			}
			s.mu.Lock()
			of := s.now
			s.mu.Unlock()
			s.conns.Go(func() { of.pass(client, server) })
		}
	})
	t.Cleanup(func() { ln.Close(); s.conns.Wait() })
	return s
}

// swallow loses all connections, and begins the next generation.
func (s *swallower) swallow() *generation {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now.lost.Store(true)
	s.now = &generation{}
	return s.now
}

func (g *generation) pass(client net.Conn, to string) {
	defer client.Close()
	server, err := net.Dial("tcp", to)
	if err != nil {
		return
	}
	var back sync.WaitGroup
	back.Go(func() { g.copy(client, server, &g.answers); client.Close() })
	g.copy(server, client, new(atomic.Int64))
	server.Close()
	back.Wait()
}

// copy copies until the end of from. It drops everything once the generation is lost.
func (g *generation) copy(to io.Writer, from io.Reader, parts *atomic.Int64) {
	b := make([]byte, 64<<10)
	for {
		n, err := from.Read(b)
		if err != nil {
			return
		}
		if g.lost.Load() {
			continue
		}
		if _, err := to.Write(b[:n]); err != nil {
			return
		}
		parts.Add(1)
	}
}

// reaches waits until so many parts of answers were passed on.
func (g *generation) reaches(parts int64) {
	for g.answers.Load() < parts {
		time.Sleep(time.Millisecond)
	}
}

// A server that answers every new connection at once is not out. What is stated is the timeout of the operations on
// connections that hang, as such.
func TestConnectionsThatHangAreNoOutage(t *testing.T) {
	set := enginetest.StartSet(t, enginetest.StandinMongo(t, "8.0.12"), 1)
	for _, client := range []string{"wire", "driver"} {
		t.Run(client, func(t *testing.T) {
			t.Parallel()
			for attempt := 1; ; attempt++ { // a busy machine stands still for longer than the timeout of probes
				wrong := connectionsHang(t, set.Addresses[0], client)
				if wrong == nil {
					return
				}
				t.Logf("attempt %d: %q", attempt, wrong)
				if attempt == 10 {
					t.Fatal("an outage is always stated")
				}
			}
		})
	}
}

// connectionsHang returns the outages that a drill states and that are no timeout of connections that hang.
func connectionsHang(t *testing.T, server, client string) (wrong []string) {
	t.Helper()
	s := newSwallower(t, server)
	marks, began := make(chan time.Time, 2), make(chan struct{})
	var striking sync.WaitGroup
	striking.Go(func() {
		<-began
		s.mu.Lock()
		first := s.now
		s.mu.Unlock()
		first.reaches(first.answers.Load() + 400)
		fresh := s.swallow()
		marks <- time.Now()
		fresh.reaches(400)
		marks <- time.Now()
	})
	d := runDrill(t, "run: {target: 'mongodb://"+s.Addr().String()+"/?directConnection=true', database: "+client+", client: "+client+
		", load: {rate: 400, workers: 8, warmup: 0s, operations: 1500, duration: 10m}}\nexternal: true\n",
		Options{Mark: marks, Progress: beginning{began: sync.OnceFunc(func() { close(began) })}})
	striking.Wait()
	r := d.Rounds[0]
	for _, kind := range []string{"", record.KindReads, record.KindWrites} {
		e := r.Of(kind, "")
		if e == nil {
			t.Fatalf("there is no effect on %q: %+v", kind, r.Effects)
		}
		text := fmt.Sprintf("%q: outage %v, of which %v hung", kind, time.Duration(e.Outage), time.Duration(e.Hung))
		t.Log(text)
		if e.Outage < 0 || e.Outage >= int64(probeAtMost) && !e.Blind() {
			wrong = append(wrong, text)
		}
	}
	return wrong
}
