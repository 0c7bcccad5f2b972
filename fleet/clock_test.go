package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/plimsoll-bench/plimsoll/load"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/run"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// memory is a place in this process, for agents that share nothing with the coordinator but memory.
type memory struct {
	// clocks are how much the clock of each agent is ahead.
	clocks  []time.Duration
	dir     string
	machine string
	links   []*memoryLink
	// service starts the REST service of an agent, in this process.
	service func(context.Context, run.ServiceBrief) (*run.Service, error)
}

// memoryLink is the coordinator's side; the pipes end with Break.
type memoryLink struct {
	Wire
	facts Facts
	end   func()
	start atomic.Int64
}

// Send notes the start that the agent is told.
func (l *memoryLink) Send(frame []byte) {
	var c command
	if err := json.Unmarshal(frame, &c); err == nil && c.Start != 0 {
		l.start.Store(c.Start)
	}
	l.Wire.Send(frame)
}

func (l *memoryLink) Facts() Facts { return l.facts }
func (l *memoryLink) Break()       { l.end() }

func (p *memory) Place(_ context.Context, n int, _ func(string)) ([]Link, error) {
	var list []Link
	for i := range n {
		toAgent, fromCoordinator := io.Pipe()
		toCoordinator, fromAgent := io.Pipe()
		link := &memoryLink{Wire: Pipe(toCoordinator, fromCoordinator),
			facts: Facts{Protocol: Protocol, Name: fmt.Sprintf("agent-%d", i), Host: "elsewhere", Machine: p.machine},
			end:   func() { toAgent.CloseWithError(io.ErrClosedPipe); fromAgent.CloseWithError(errors.New("broken")) }}
		agent := Agent{Duties: testDuties, Dir: p.dir, Service: p.service, Ceiling: &run.Ceiling{
			Clients: map[string]run.ClientCeiling{run.ClientWire: {Rate: 1e9}}}}
		if i < len(p.clocks) {
			ahead := p.clocks[i]
			agent.Now = func() time.Time { return time.Now().Round(0).Add(ahead) }
		}
		// Its errors are what the coordinator sees as a loss.
		go func() { _ = agent.Serve(context.Background(), Pipe(toAgent, fromAgent)) }()
		p.links = append(p.links, link)
		list = append(list, link)
	}
	return list, nil
}

func (*memory) End() error { return nil }

func (p *memory) places() Placers { return func(string) (Placer, error) { return p, nil } }

// Agents whose clocks are a second apart start together and hand over their records. Their writes are unacknowledged.
// Package drill compares their record with that of agents with one clock.
func TestClocksApart(t *testing.T) {
	t.Parallel()
	asked := testSpec(3)
	asked.Load.Duration, asked.Load.Warmup, asked.Load.Pace = spec.Duration(4*time.Second), 0, 40
	asked.Target, asked.Durability = "null:tcp", spec.Durability{Name: "throughput"}
	place := &memory{clocks: []time.Duration{0, time.Second, -time.Second}, dir: t.TempDir()}
	dir := filepath.Join(t.TempDir(), "record")
	if _, err := Execute(t.Context(), asked, run.Options{Dir: dir}, Options{Places: place.places()}); err != nil {
		t.Fatal(err)
	}
	r, err := record.OpenRun(dir)
	if err != nil {
		t.Fatal(err)
	}
	checkParts(t, dir, r)
	for i, c := range r.Clients {
		offset, wrong := time.Duration(c.ClockOffset), time.Duration(c.ClockUncertainty)
		if (offset - place.clocks[i]).Abs() > wrong {
			t.Errorf("the clock of client %d is %v ±%v ahead, want %v", i, offset, wrong, place.clocks[i])
		}
		// A busy machine wakes agents late, each by another time. So what counts is the start that each was told.
		told := time.Duration(place.links[i].start.Load()-place.links[0].start.Load()) - place.clocks[i]
		if told.Abs() > wrong+time.Duration(r.Clients[0].ClockUncertainty) {
			t.Errorf("client %d was told to begin %v after client 0", i, told)
		}
		if time.Duration(c.StartSkew) < -wrong {
			t.Errorf("client %d began %v before the start", i, -time.Duration(c.StartSkew))
		}
		if c.Agent != fmt.Sprintf("agent-%d", i) || c.Host != "elsewhere" || c.PID != 0 {
			t.Errorf("client %d is %+v", i, c)
		}
	}
	if finding(r, "client-lost") != nil || counted(r, load.PhaseMeasure).Unacknowledged == 0 {
		t.Errorf("validity %+v, phases %+v", r.Validity, r.Phases)
	}
	if left, err := filepath.Glob(filepath.Join(place.dir, "*")); err != nil || len(left) > 0 {
		t.Errorf("the agents left %v (%v)", left, err)
	}
}

// If an agent is lost, the others go on, and the record says from when on which part is missing.
func TestGoesOnWithoutALostClient(t *testing.T) {
	t.Parallel()
	asked := testSpec(3)
	asked.Load.Duration, asked.Load.Warmup, asked.Load.Pace = spec.Duration(15*time.Second), 0, 40
	place := &memory{dir: t.TempDir()}
	dir := filepath.Join(t.TempDir(), "record")
	w := &watcher{on: func(*watcher) { place.links[1].Break() }}
	_, err := Execute(t.Context(), asked, run.Options{Dir: dir, Progress: w}, Options{Places: place.places()})
	if err != nil {
		t.Fatal(err)
	}
	r, err := record.OpenRun(dir)
	if err != nil {
		t.Fatal(err)
	}
	if f := finding(r, "client-lost"); f == nil || f.Severity != measure.Warning {
		t.Errorf("validity %+v", r.Validity)
	}
	lost := r.Clients[1]
	if lost.Status != "lost" || lost.LostAt < int64(time.Second) || r.Status != record.Complete || r.Course.EndedBy != "duration" {
		t.Errorf("the record is %s, ended by %q, the lost client %+v", r.Status, r.Course.EndedBy, lost)
	}
	if p := r.Phase(load.PhaseMeasure); p == nil || p.Seconds < 12 {
		t.Errorf("measured %+v", p)
	}
	if r.Clients[0].Status != "complete" || r.Clients[2].Status != "complete" {
		t.Errorf("clients %+v", r.Clients)
	}
}

// The clock of an agent is known to half of the shortest round trip, whatever the longer ones say.
func TestClock(t *testing.T) {
	var c clock
	at := time.Now()
	for i, trip := range []time.Duration{80 * time.Millisecond, 2 * time.Millisecond, 40 * time.Millisecond} {
		c.ping(int64(i+1), at)
		// All of the trip was on the way back.
		if !c.pong(pong{Ping: int64(i + 1), At: at.Add(time.Hour).UnixNano()}, at.Add(trip)) {
			t.Error("an answer was not noted")
		}
	}
	if c.pong(pong{Ping: 9}, at) {
		t.Error("an answer without a ping was noted")
	}
	c.settle()
	offset, uncertainty := c.offset()
	if uncertainty != time.Millisecond || (offset-time.Hour).Abs() > uncertainty {
		t.Errorf("%v ±%v, want an hour ±1ms", offset, uncertainty)
	}
	for i := range 2 * pingsKept { // the agent's clock is set back
		c.ping(int64(100+i), at)
		c.pong(pong{Ping: int64(100 + i), At: at.Add(time.Hour - time.Second).UnixNano()}, at.Add(2*time.Millisecond))
	}
	if c.worst < 990*time.Millisecond || c.worst > time.Second {
		t.Errorf("the clock moved by %v, want about a second", c.worst)
	}
}

// Of many doubtful clocks the worst one is the finding.
func TestWorstClockIsNamed(t *testing.T) {
	tm := &coordinator{}
	for i, trip := range []time.Duration{time.Millisecond, 80 * time.Millisecond, 30 * time.Millisecond} {
		m := &member{number: i, facts: Facts{Host: fmt.Sprintf("host-%d", i)}}
		m.clock.first = &answer{trip: trip}
		tm.members = append(tm.members, m)
	}
	f := tm.clockFinding()
	if f == nil || !strings.HasPrefix(f.Text, "the clock of client 1 (host-1) is known to ±40ms only.") ||
		!strings.HasSuffix(f.Text, "The clocks of 2 clients exceed the limit; this one is the worst.") {
		t.Errorf("finding %+v", f)
	}
	tm.members[2].clock.worst = time.Second
	if f = tm.clockFinding(); f == nil || !strings.HasPrefix(f.Text, "the clock of client 2 (host-2) moved by 1s") {
		t.Errorf("finding %+v", f)
	}
	if tm.members = tm.members[:1]; tm.clockFinding() != nil {
		t.Error("a clock within the limit is a finding")
	}
}

// Agents that begin more than 10 ms apart are noted, and clients that begin more than 100 ms apart are a warning.
func TestSkew(t *testing.T) {
	for _, c := range []struct {
		local bool
		skew  time.Duration
		want  measure.Severity
	}{
		{false, 9 * time.Millisecond, ""}, {false, 11 * time.Millisecond, measure.Note},
		{false, 101 * time.Millisecond, measure.Warning}, {true, 99 * time.Millisecond, ""},
		{true, 101 * time.Millisecond, measure.Warning},
	} {
		tm := &coordinator{started: time.Now()}
		for i := range 2 {
			tm.members = append(tm.members, &member{facts: Facts{Local: c.local}, skew: time.Duration(i) * c.skew})
		}
		if f := tm.skewFinding(); f == nil && c.want != "" || f != nil && f.Severity != c.want {
			t.Errorf("%+v: %+v", c, f)
		}
	}
}
