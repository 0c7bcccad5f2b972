package fleet

import (
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/plimsoll-bench/plimsoll/load"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/run"
)

// idleClients returns a coordinator whose two clients are there and do nothing. They are ended with the test.
func idleClients(t *testing.T) *coordinator {
	t.Helper()
	tm := newCoordinator(testSpec(2), run.Options{Dir: t.TempDir()}, Options{}, processes{launcher("mute")}, &pids{})
	tm.begin(nopSink{})
	tm.startAll(t.Context())
	if tm.err != nil || len(tm.members) != 2 {
		t.Fatalf("%d clients: %v", len(tm.members), tm.err)
	}
	t.Cleanup(func() {
		tm.each(func(m *member) { m.Break() })
		for tm.alive() {
			select {
			case r := <-tm.reports:
				tm.receive(r)
			case <-time.After(patience):
				t.Fatal("a client was not ended")
			}
		}
	})
	return tm
}

// A full disk is an error that can be told from others, also when a client met it.
func TestFullDiskOfAClient(t *testing.T) {
	for _, begun := range []bool{false, true} {
		tm := idleClients(t)
		if begun {
			tm.started = time.Now()
		}
		tm.finish(tm.members[1], &result{failure: failure{Stage: run.Recording, Error: "cannot write the record: no space left",
			Full: true}})
		var at *run.Error
		if _, err := tm.result(t.Context()); !errors.Is(err, syscall.ENOSPC) || !errors.As(err, &at) ||
			at.Stage != run.Recording ||
			err.Error() != "client 1: cannot write the record: no space left" {
			t.Errorf("begun %v: %v", begun, err)
		}
	}
}

// A client that fails while all are being ended is not complete; one that only did as it was told is.
func TestClientFailsAtTheEnd(t *testing.T) {
	tm := idleClients(t)
	tm.started = time.Now()
	tm.stop()
	tm.finish(tm.members[0], &result{failure: failure{Error: "context canceled", Stopped: true}})
	tm.finish(tm.members[1], &result{failure: failure{Stage: run.Recording, Error: "its disk broke"}})
	s := tm.shares()
	if s[0].Status != "complete" || s[0].Problem != "" || s[1].Status != "failed" || s[1].Problem != "its disk broke" {
		t.Errorf("clients %+v", s)
	}
}

// A client that fails while the others are ahead of it does not end the window of the result.
func TestLostBehindTheOthers(t *testing.T) {
	tm := idleClients(t)
	tm.started = time.Now()
	rng := rand.New(rand.NewPCG(1, 1))
	for client, seconds := range []int{3, 1} {
		var measured int
		for _, iv := range intervalsOf(t, testDims(false), randomSamples(rng, 200), 4*time.Second) {
			if iv.Phase != load.PhaseMeasure || measured == seconds {
				continue
			}
			measured++
			if err := tm.merger.add(client, iv); err != nil {
				t.Fatal(err)
			}
		}
	}
	short := intervalsOf(t, testDims(false), nil, 2100*time.Millisecond) // it ended in the middle of a second
	if err := tm.merger.add(1, short[len(short)-1]); err != nil {
		t.Fatal(err)
	}
	tm.finish(tm.members[1], &result{failure: failure{Error: "its disk broke"}})
	if err := tm.merger.end(0); err != nil {
		t.Fatal(err)
	}
	if w := tm.merger.window; !w.open || w.over || w.to-w.from != 3*time.Second {
		t.Errorf("the window is %+v, want three seconds", w)
	}
	if tm.stopping || tm.shares()[1].LostAt == 0 {
		t.Errorf("the run ends with it, or its loss is not known: %+v", tm.shares())
	}
}

// A client that only says that it is alive does not delay a run for ever, wherever the run waits for it. One for which
// the run does not wait, and one that works, are left alone.
func TestIdleClients(t *testing.T) {
	for name, c := range map[string]struct {
		stage func(*coordinator) // in which client 0 is honest
		works *message           // what the honest one sends
		want  string
		cease bool // the run ends, with the name
	}{
		"before the start": {func(tm *coordinator) { tm.members[0].ready = true }, nil, "was not ready", true},
		"in the load phase": {func(tm *coordinator) {
			tm.filling = time.Now()
			tm.each(func(m *member) { m.records = 1e6 })
		}, &message{Event: &measure.Event{}}, "loaded no records", false},
		"in the load": {func(tm *coordinator) { tm.started = time.Now() }, &message{Event: &measure.Event{}}, "reported nothing", false},
		"at the end": {func(tm *coordinator) { tm.started = time.Now(); tm.members[1].done = &result{} },
			&message{Event: &measure.Event{}},
			"did not end", false},
	} {
		tm := idleClients(t)
		c.stage(tm)
		for range idleAtMost + 1 {
			if c.works != nil {
				tm.receive(report{member: tm.members[0], message: *c.works})
			}
			for _, m := range tm.members {
				tm.receive(report{member: m, message: message{Pong: &pong{}}}) // alive
			}
			tm.watch()
		}
		if why := tm.members[0].why; why != "" {
			t.Errorf("%s: the honest client is ended: %s", name, why)
		}
		if why := tm.members[1].why; !strings.Contains(why, c.want) || !strings.Contains(why, "client 1") {
			t.Errorf("%s: the idle client is ended with %q, want %q", name, why, c.want)
			continue
		}
		tm.receive(<-tm.reports)
		if !tm.members[1].gone || (tm.err != nil) != c.cease || c.cease && !strings.Contains(tm.err.Error(), "client 1 of 2") {
			t.Errorf("%s: it is gone: %v, and the run ends with %v", name, tm.members[1].gone, tm.err)
		}
	}
}

// A client that sends messages without an end does not delay a run for ever. One that is slow is not ended, nor one
// that works while others have failed or lie about their end.
func TestClientsThatPretendToWork(t *testing.T) {
	const length = 100 // seconds that a part takes
	const limit = idleAtMost + slowAtMost*length
	filled := func(m *member) { m.filled = &filled{} }
	done := func(m *member) { m.done = &result{} }
	failed := func(m *member) { m.done, m.status = &result{}, "lost" }
	lost := func(m *member) { m.gone, m.status = true, "lost" }
	without := func(m *member) { m.records = 0; filled(m) }
	for name, c := range map[string]struct {
		filling bool
		ends    []func(*member) // of the others, after the length of a part
		records int64
		ended   int // after how many seconds the first client is ended; 0 for never
	}{
		"a few records":                {filling: true, records: 10, ended: idleAtMost + 10 + 1},
		"many records":                 {filling: true, records: 1e9},
		"many records of one of two":   {filling: true, records: 1e9, ends: []func(*member){filled}},
		"others have loaded theirs":    {filling: true, records: 1e9, ends: []func(*member){filled, filled}, ended: limit},
		"no records for another":       {filling: true, records: 1e9, ends: []func(*member){filled, without}},
		"a load that nobody ends":      {ends: []func(*member){func(*member) {}, func(*member) {}}},
		"others are lost or done":      {ends: []func(*member){done, done, lost}, ended: limit},
		"others have ended theirs":     {ends: []func(*member){done, done}, ended: limit},
		"others have failed":           {ends: []func(*member){failed, failed}},
		"one of three lies or is done": {ends: []func(*member){done, func(*member) {}}},
	} {
		tm := newCoordinator(testSpec(3), run.Options{Dir: t.TempDir()}, Options{}, nil, &pids{})
		tm.begin(nopSink{})
		if tm.started = time.Now(); c.filling {
			tm.filling, tm.started = tm.started, time.Time{}
		}
		for i := range 1 + len(c.ends) {
			tm.members = append(tm.members, &member{Link: dumb{}, number: i, records: c.records,
				budgets: newBudgets(time.Now())})
		}
		m, ended := tm.members[0], 0
		for second := 1; second <= limit+10 && ended == 0; second++ {
			for i, end := range c.ends {
				if second == length {
					end(tm.members[i+1])
				}
				tm.members[i+1].silent, tm.members[i+1].idle = 0, 0
			}
			tm.receive(report{member: m, message: message{Event: &measure.Event{}}})
			if tm.watch(); m.why != "" {
				ended = second
			}
		}
		if off := ended - c.ended; c.ended == 0 && ended > 0 || c.ended > 0 && (off < -slowAtMost || off > slowAtMost) {
			t.Errorf("%s: it is ended after %d s (%s), want %d", name, ended, m.why, c.ended)
		}
	}
}

// The loss of all clients, one after another, is one finding.
func TestAllClientsLost(t *testing.T) {
	tm := idleClients(t)
	tm.started = time.Now()
	for i, m := range tm.members {
		tm.finish(m, &result{failure: failure{Error: "its disk broke"}})
		found := slices.DeleteFunc(tm.findings(), func(f measure.Finding) bool { return f.ID != "client-lost" })
		want := []measure.Severity{measure.Warning, measure.Invalid}[i]
		if len(found) != 1 || found[0].Severity != want || strings.Count(found[0].Text, "its disk broke") != i+1 {
			t.Errorf("after the loss of client %d: %+v, want one finding that is %s", i, found, want)
		}
	}
}
