package drill

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.mongodb.org/mongo-driver/v2/event"
	"go.mongodb.org/mongo-driver/v2/mongo/address"

	"github.com/plimsoll-bench/plimsoll/platform"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
	"github.com/plimsoll-bench/plimsoll/store/null"
)

// toldKinds collects the kinds of events that a view tells.
type toldKinds struct {
	mu   sync.Mutex
	list []string
}

func (l *toldKinds) tell(kind, _ string, _ map[string]string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.list = append(l.list, kind)
}

func (l *toldKinds) is(want ...string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return cmp.Equal(want, l.list)
}

// topology is what the driver knows: servers with their kinds.
func topology(servers ...[2]string) (d event.TopologyDescription) {
	for _, s := range servers {
		d.Servers = append(d.Servers, event.ServerDescription{Addr: address.Address(s[0]), Kind: s[1]})
	}
	return d
}

// Of a replica set the driver's monitors say when the primary is gone; an address before the primary does not.
func TestViewOfASet(t *testing.T) {
	var l toldKinds
	v := &view{tell: l.tell}
	steps := []event.TopologyDescription{
		topology([2]string{"a:1", "Unknown"}, [2]string{"b:1", "Unknown"}),
		topology([2]string{"a:1", "Unknown"}, [2]string{"b:1", "RSSecondary"}),
		topology([2]string{"a:1", "RSPrimary"}, [2]string{"b:1", "RSSecondary"}),
		topology([2]string{"a:1", "Unknown"}, [2]string{"b:1", "RSSecondary"}),
		topology([2]string{"a:1", "Unknown"}, [2]string{"b:1", "Unknown"}),
		topology([2]string{"a:1", "Unknown"}, [2]string{"b:1", "RSPrimary"}),
		topology([2]string{"a:1", "RSPrimary"}, [2]string{"b:1", "RSSecondary"}), // no moment without one
	}
	for i := range steps[1:] {
		v.changed(&event.TopologyDescriptionChangedEvent{PreviousDescription: steps[i], NewDescription: steps[i+1]})
	}
	v.over = true // the driver forgets everything at its end, which is no event of the servers
	v.changed(&event.TopologyDescriptionChangedEvent{PreviousDescription: steps[len(steps)-1]})
	if !v.moved {
		t.Error("it did not see that another member is the primary")
	}
	if !l.is(primaryGone, primaryBack, primaryGone, primaryBack) {
		t.Errorf("the view reported %q", l.list)
	}
	if len(v.gone) != 2 || v.gone[0].Text != "a separate driver sees no primary any more. It was a:1" ||
		v.gone[1].Text != "a separate driver sees a:1 as primary instead of b:1" {
		t.Errorf("it kept %+v", v.gone)
	}
	for _, c := range []struct {
		kind string
		want seen
	}{{"Standalone", seesServer}, {"Mongos", seesRouters}, {"Unknown", seesSet}} {
		if got := seesOf(topology([2]string{"a:1", c.kind}), seesSet); got != c.want {
			t.Errorf("a %s is taken for %d, want %d", c.kind, got, c.want)
		}
	}
}

// A server that ends is gone from the view, as is the primary behind it.
func TestViewOfAServer(t *testing.T) {
	server, err := null.Listen(null.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var l toldKinds
	v := &view{uri: server.URI(), database: "d", tell: l.tell}
	ctx, stop := context.WithCancel(t.Context())
	var group sync.WaitGroup
	group.Go(func() { v.follow(ctx) })
	until := func(what string, holds func() bool) {
		for limit := time.Now().Add(time.Minute); !holds(); time.Sleep(10 * time.Millisecond) {
			if time.Now().After(limit) {
				t.Fatalf("waited in vain until %s; reported was %q", what, l.list)
			}
		}
	}
	until("the server is known", func() bool {
		v.mu.Lock()
		defer v.mu.Unlock()
		return v.sees == seesServer
	})
	if err := server.Close(); err != nil {
		t.Fatal(err)
	}
	until("the server is gone", func() bool { return l.is(primaryGone) })
	stop()
	group.Wait()
	if len(v.gone) != 1 || v.gone[0].Kind != primaryGone || v.gone[0].Text == "" {
		t.Errorf("it kept %+v", v.gone)
	}
}

// On the timeline stands the first time after each fault, and only if what was broken can take a primary away.
func TestViewsOnTheTimeline(t *testing.T) {
	zero := time.Now()
	gone := func(after time.Duration) record.LabEvent {
		return record.LabEvent{Kind: primaryGone, Time: zero.Add(after)}
	}
	faults := []record.DrillFault{{Injected: int64(2 * time.Second)}, {Injected: int64(6 * time.Second)}}
	p := &primaries{gone: []record.LabEvent{gone(time.Second), gone(3 * time.Second), gone(4 * time.Second),
		gone(7 * time.Second)}}
	injecting := newScheduler(&runner{}, spec.Drill{}, &target{}, nil)
	times := func() (list []time.Duration) {
		for _, e := range p.moments(faults, injecting.tookPrimary(), runClock{began: zero}) {
			list = append(list, e.Time.Sub(zero))
		}
		return list
	}
	if got := times(); got != nil {
		t.Errorf("nothing took the primary away, and gone it was at %v", got)
	}
	injecting.add(&roundFault{spec: spec.Fault{Action: spec.ParseAction("disk-slow:primary")},
		Injection: platform.Injection{Effective: time.Now()},
		struck:    []record.LabMember{{Role: "primary"}}})
	if got := times(); got != nil {
		t.Errorf("a slow disk takes no primary away, and gone it was at %v", got)
	}
	injecting.add(&roundFault{spec: spec.Fault{Action: spec.ParseAction("kill:primary")},
		Injection: platform.Injection{Effective: time.Now(), TakesDown: true, Unseats: true},
		struck:    []record.LabMember{{Role: "primary"}}})
	if want := []time.Duration{3 * time.Second, 7 * time.Second}; !cmp.Equal(want, times()) {
		t.Errorf("it was gone at %v, want %v", times(), want)
	}
}
