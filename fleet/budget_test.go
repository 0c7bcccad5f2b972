package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/run"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// hostile is a place with an honest agent and one that does what a test says after its start.
type hostile struct {
	dir    string
	attack func(Wire)
}

func (h hostile) Place(ctx context.Context, n int, tell func(string)) ([]Link, error) {
	honest := &memory{dir: h.dir}
	links, err := honest.Place(ctx, n-1, tell)
	if err != nil {
		return nil, err
	}
	toAgent, fromCoordinator := io.Pipe()
	toCoordinator, fromAgent := io.Pipe()
	link := &memoryLink{Wire: Pipe(toCoordinator, fromCoordinator),
		facts: Facts{Protocol: Protocol, Name: "hostile", Host: "elsewhere"},
		end:   func() { toAgent.CloseWithError(io.ErrClosedPipe); toCoordinator.CloseWithError(errors.New("broken")) }}
	go h.serve(Pipe(toAgent, fromAgent))
	return append(links, link), nil
}

func (hostile) End() error { return nil }

// serve answers until the start, as an agent does.
func (h hostile) serve(w Wire) {
	for {
		c, err := receive(w)
		if err != nil {
			return
		}
		switch {
		case c.Order != nil:
			w.Send([]byte(`{"ready":true}`))
		case c.Ping != 0:
			say(w, message{Pong: &pong{Ping: c.Ping, At: time.Now().UnixNano()}})
		case c.Start != 0:
			go h.attack(w)
		}
	}
}

func say(w Wire, m message) {
	frame, err := json.Marshal(m)
	if err != nil {
		panic(err)
	}
	w.Send(frame)
}

// An agent that sends more than it may, or what it cannot have measured, is ended with a finding that says so. The run
// goes on with the other agent.
func TestBudgets(t *testing.T) {
	t.Parallel()
	interval := func(start, end time.Duration, change func(*record.PackedInterval)) func(Wire) {
		return func(w Wire) {
			p := &record.PackedInterval{IntervalLine: record.IntervalLine{Phase: "measure", Start: int64(start), End: int64(end)}}
			change(p)
			say(w, message{Began: time.Now().UnixNano(), Interval: p})
		}
	}
	same := func(*record.PackedInterval) {}
	for name, c := range map[string]struct {
		attack func(Wire)
		want   string
	}{
		"hand-over": {func(w Wire) {
			for range mostHandOver>>18 + 1 {
				say(w, message{HandOver: &handOverChunk{Data: make([]byte, 1<<18)}})
			}
		}, "it handed over more than 64 MiB at once"},
		"files": {func(w Wire) {
			for i := range 2 * mostFiles {
				say(w, message{Chunk: &fileChunk{Name: fmt.Sprint(i), First: true}})
			}
		}, "it sent more than 1000 files"},
		"events": {func(w Wire) {
			for range 20_000 {
				say(w, message{Event: &measure.Event{Kind: "note", Text: "x"}})
			}
		}, "events in"},
		"messages": {func(w Wire) {
			for range 100_000 {
				w.Send([]byte("{}"))
			}
		}, "messages in"},
		"intervals": {func(w Wire) {
			for range 5000 {
				interval(0, 0, same)(w)
			}
		}, "intervals in"},
		"large message": {func(w Wire) { w.Send([]byte(`"` + strings.Repeat("x", mostFrame) + `"`)) }, "it sent a message of 8 MiB"},
		"outside":       {func(w Wire) { say(w, message{Chunk: &fileChunk{Name: "../x", First: true}}) }, "outside of its record"},
		"same file": {func(w Wire) {
			say(w, message{Chunk: &fileChunk{Name: "x", First: true}})
			say(w, message{Chunk: &fileChunk{Name: "x", First: true}})
		}, "a file that cannot be kept"},
		"negative time": {interval(-time.Second, 0, same), "the time -1s of a run"},
		"backwards":     {interval(2*time.Second, time.Second, same), "ends 1s before it begins"},
		"far future":    {interval(0, math.MaxInt64, same), "of a run that began"},
		"many workers":  {interval(0, time.Second, func(p *record.PackedInterval) { p.Offered = math.MaxInt64 }), "with the count"},
		"in flight":     {interval(0, time.Second, func(p *record.PackedInterval) { p.InFlight = 1e308 }), "operations in flight"},
		"other class": {interval(0, time.Second, func(p *record.PackedInterval) {
			p.Classes = []record.IntervalClass{{Class: "none"}}
		}), "an interval that does not fit"},
		"late event": {func(w Wire) { say(w, message{Event: &measure.Event{At: math.MaxInt64, Kind: "note"}}) }, "of a run that began"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			testExpelled(t, c.attack, c.want)
		})
	}
}

// testExpelled performs a run with a hostile agent.
func testExpelled(t *testing.T, attack func(Wire), want string) {
	asked := testSpec(2)
	asked.Load.Duration, asked.Load.Warmup, asked.Load.Pace = spec.Duration(8*time.Second), 0, 40
	dir := filepath.Join(t.TempDir(), "record")
	place := hostile{dir: t.TempDir(), attack: attack}
	_, err := Execute(t.Context(), asked, run.Options{Dir: dir}, Options{
		Places: func(string) (Placer, error) { return place, nil },
		Duty:   Duty{Name: "write", Received: func(int, time.Duration, []byte) {}}})
	if err != nil {
		t.Fatal(err)
	}
	r, err := record.OpenRun(dir)
	if err != nil {
		t.Fatal(err)
	}
	f := finding(r, "client-lost")
	if f == nil || r.Clients[1].Status != "lost" || !strings.Contains(r.Clients[1].Problem, want) {
		t.Errorf("the agent is %+v, want %q; finding %v", r.Clients[1], want, f)
	}
	if r.Clients[0].Status != "complete" || counted(r, "measure", PhaseOutside).Succeeded == 0 {
		t.Errorf("the other agent is %+v, and the record has %+v", r.Clients[0], counted(r, "measure", PhaseOutside))
	}
}

// What an honest agent sends in a long run is within its budgets: an interval of a large workload and an event each
// second, a hand-over every two seconds, and the files of a record in the end.
func TestHonestBudgets(t *testing.T) {
	t.Parallel()
	b := newBudgets(time.Now().Add(-24 * time.Hour))
	const day = 24 * 60 * 60
	for range day {
		for _, m := range []struct {
			message
			bytes int
		}{{message{Interval: &record.PackedInterval{}}, 100 << 10}, {message{Event: &measure.Event{}}, 500}, {message{}, 2},
			{message{HandOver: &handOverChunk{}}, 5 << 20}, {message{Chunk: &fileChunk{}}, 1 << 20}} {
			if why := b.excess(&m.message, m.bytes); why != "" {
				t.Fatal(why)
			}
		}
	}
}
