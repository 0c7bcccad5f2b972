package fleet

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/run"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// An agent takes no order that names a directory, a file or a server besides the target, whatever it is made of.
func FuzzOrder(f *testing.F) {
	good, err := json.Marshal(honest())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	for _, text := range []string{`{"dir":"/etc"}`, `{"spec":{"target":"http://h/"}}`, `{"spec":{"target":"lab:x"},"address":"embedded:/x"}`,
		`{"spec":{"target":"mongodb://h/?authMechanism=GSSAPI","observe":{"csv":[{"file":"/etc/shadow"}]}}}`, `{"fill":{},"brief":{"a":1}}`,
		`{"spec":{"target":"null:","observe":{"csv":[{"unknown":1}]}}}`,
		`{"spec":{"target":"null:","workload":{"name":"/x.yaml"},"load":{"replay":"/x"},"out":"/x"}}`} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, frame []byte) {
		var o order
		if json.Unmarshal(frame, &o) != nil || o.check() != nil {
			return
		}
		w := o.Spec.Workload
		if o.Dir != "" || o.Spec.Out != "" || o.Spec.Observe != nil || o.Spec.Load.Replay != "" || o.Spec.Load.Place != "" ||
			w.IsFile() && w.File == nil {
			t.Errorf("the agent takes %s", frame)
		}
		target := o.Spec.Target
		if strings.HasPrefix(target, "lab:") || o.Address != "" {
			target = o.Address
		}
		if at, err := run.ParseTarget(target); err != nil || at.Kind == "embedded" || at.Kind == "http" {
			t.Errorf("the agent loads %s: %v", target, err)
		}
	})
}

// What an agent sends ends the agent or is added up. It does not stop the coordinator, and no sum is beyond its limits.
func FuzzFrames(f *testing.F) {
	for _, text := range []string{`{"ready":true}`, `{"pong":{"ping":1,"at":5}}`, `{"event":{"at_ns":1,"kind":"note","text":"x"}}`,
		`{"interval":{"phase":"measure","start_ns":0,"end_ns":1000000000,"classes":[{"class":"read","outcomes":{"ok":3}}]}}`,
		`{"interval":{"start_ns":-1,"end_ns":9223372036854775807,"in_flight":1e300}}`, `{"part":{"name":"../x","first":true,"data":"eA=="}}`,
		`{"news":{"data":"eA==","last":true}}`, `{"filled":{"report":{}}}`, `{"done":{"ceiling":-1,"error":"x"}}`, `{}`} {
		f.Add([]byte(text))
	}
	for _, iv := range intervalsOf(f, testDims(false), nil, 2*time.Second) {
		text, err := json.Marshal(message{Interval: record.Pack(testDims(false), iv)})
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, frame []byte) {
		var said message
		if json.Unmarshal(frame, &said) != nil || said.Chunk != nil { // parts are files, see TestBudgets
			return
		}
		asked := testSpec(2)
		asked.Load.Place = spec.PlaceManual
		sink := &finiteSink{}
		tm := newCoordinator(asked, run.Options{Dir: "none"}, Options{}, nil, &pids{})
		tm.begin(sink)
		tm.started = time.Now().Add(-time.Minute)
		for i := range 2 {
			m := &member{Link: dumb{}, number: i, ready: true, facts: Facts{Name: "a"}, budgets: newBudgets(tm.started)}
			m.clock.first = &answer{}
			tm.members = append(tm.members, m)
		}
		m := tm.members[1]
		for range 3 {
			excess := m.budgets.excess(&said, len(frame))
			tm.receive(report{member: m, message: said, excess: excess})
		}
		tm.receive(report{member: m, gone: true})
		if sink.broken != "" {
			t.Errorf("%s: %s", frame, sink.broken)
		}
	})
}

// dumb is a link that nobody answers.
type dumb struct{}

func (dumb) Send([]byte)              {}
func (dumb) Receive() ([]byte, error) { select {} }
func (dumb) Close()                   {}
func (dumb) Closed() <-chan struct{}  { return nil }
func (dumb) Facts() Facts             { return Facts{} }
func (dumb) Break()                   {}

// finiteSink notes sums that no record can have.
type finiteSink struct {
	nopSink
	broken string
}

func (s *finiteSink) Interval(iv *measure.Interval) error {
	if iv.End < iv.Start || math.IsNaN(iv.InFlight) || math.IsInf(iv.InFlight, 0) || iv.Offered < 0 {
		s.broken = "an interval that cannot be"
	}
	return nil
}
