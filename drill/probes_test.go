package drill

import (
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/plimsoll-bench/plimsoll/load"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
	"github.com/plimsoll-bench/plimsoll/store"
	"github.com/plimsoll-bench/plimsoll/store/null"
	"github.com/plimsoll-bench/plimsoll/workload"
)

// one is an operation of a class.
type one struct {
	class           int // 0 writes
	due, sent, took time.Duration
	why             store.Reason // it failed, if this is not 0
}

// watchedLoad are the courses of a load of these operations.
func watchedLoad(timeout time.Duration, list []one) []course {
	w := newWatcher([]workload.Class{{Name: "insert"}, {Name: "read"}})
	w.timeout = int64(timeout)
	s := w.worker()
	for _, o := range list {
		verb := workload.Insert
		if o.class == 1 {
			verb = workload.Find
		}
		outcome := store.OK
		if o.why != store.NoReason {
			outcome = store.Failed
		}
		s.add(&workload.Op{Class: o.class, Requests: []workload.Request{{Verb: verb}}}, &load.Settlement{Outcome: outcome,
			Reason: o.why, Due: int64(o.due), Sent: int64(o.sent), Ended: int64(o.sent + o.took)}, false)
	}
	return w.courses(true)
}

// A proxy that accepts and does not answer at first, for longer than the timeout, does not end a drill.
func TestProbesConnectAgain(t *testing.T) {
	server, err := null.Listen(null.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	const timeout = time.Second
	answers := time.Now().Add(timeout + timeout/4)
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			if time.Now().Before(answers) {
				defer c.Close()
				continue
			}
			to, err := net.Dial("tcp", server.Addr())
			if err != nil {
				c.Close()
				continue
			}
			go func() { _, _ = io.Copy(to, c); to.Close() }()
			go func() { _, _ = io.Copy(c, to); c.Close() }()
		}
	}()
	asked := spec.Run{Database: "plimsoll", Client: "wire", Load: spec.Load{Timeout: spec.Duration(timeout)}}
	p, err := openProbes(t.Context(), "mongodb://"+ln.Addr().String()+"/?directConnection=true", asked, 1, nil)
	if err != nil {
		t.Fatal(err)
	}
	p.close()
}

// steadily adds operations of a class that are due every step and take a millisecond.
func steadily(list []one, class int, from, until, step time.Duration) []one {
	for at := from; at < until; at += step {
		list = append(list, one{class, at, at, time.Millisecond, 0})
	}
	return list
}

// An operation that was never sent says nothing about the server: while all workers wait for writes, reads are not out.
// A read that was sent and not answered is.
func TestWhatWasNotSentIsNoOutage(t *testing.T) {
	for name, c := range map[string]struct {
		sent time.Duration // of the read that ends the time without one
		want time.Duration
	}{
		"sent when a worker was free again": {11_650 * time.Millisecond, time.Millisecond},
		"sent soon, and answered late":      {10_050 * time.Millisecond, 1652 * time.Millisecond},
	} {
		list := steadily(nil, 1, 0, 10*time.Second, 2*time.Millisecond)
		list = append(list, one{1, 10 * time.Second, c.sent, 11_651*time.Millisecond - c.sent, 0})
		list = steadily(list, 1, 11_652*time.Millisecond, 20*time.Second, 2*time.Millisecond)
		e := effectOf(ofKind(byClass(watchedLoad(0, list)), false),
			window{from: 1, fault: int64(9 * time.Second), until: int64(20 * time.Second)})
		if off := time.Duration(e.Outage) - c.want; off.Abs() > 2*time.Millisecond {
			t.Errorf("%s: reads were out for %v, want %v", name, time.Duration(e.Outage), c.want)
		}
	}
}

// The share of throughput is of what was due: operations that waited for a worker until the fault was over are none of
// its time, whether 64 workers or 1,000 wait for the server.
func TestThroughputIsOfWhatWasDue(t *testing.T) {
	const fault, healed, timeout = 10 * time.Second, 18 * time.Second, 2 * time.Second
	before := steadily(nil, 0, 0, fault, 10*time.Millisecond)
	many, few := before, before
	for at := fault; at < healed; at += 10 * time.Millisecond {
		many = append(many, one{0, at, at, timeout, store.Timeout})
	}
	for at := fault; at < healed; at += 10 * time.Millisecond { // sent together, just before the end
		few = append(few, one{0, at, healed - 100*time.Millisecond, time.Millisecond, 0})
	}
	w := window{from: 1, fault: int64(fault), done: int64(fault), healed: int64(healed), until: int64(30 * time.Second)}
	shares := map[string]float64{}
	for name, list := range map[string][]one{"many": many, "few": few} {
		e := effectOf(byClass(watchedLoad(timeout, list))[0], w)
		shares[name] = e.During / e.Before
	}
	// Of the few, those that were due in the last 2.1 s came in time.
	if shares["many"] > 0.01 || shares["few"] > 0.27 {
		t.Errorf("while no write was acknowledged for 8 s, the shares are %v", shares)
	}
	e := effectOf(byClass(watchedLoad(timeout, steadily(before, 0, fault, 30*time.Second, 10*time.Millisecond)))[0], w)
	if share := e.During / e.Before; share < 0.99 || share > 1.01 {
		t.Errorf("nothing was slow, and the share is %v", share)
	}
}

// deaf is a session whose requests are answered after a millisecond, unless it is silent.
type deaf struct{ from, until time.Time }

func (d deaf) Do(deadline time.Time, _ *workload.Request, res *store.Result) {
	res.Reset()
	if now := time.Now(); !now.Before(d.from) && now.Before(d.until) {
		if d.until.Before(deadline) { // it answers when it is back
			time.Sleep(time.Until(d.until))
			return
		}
		time.Sleep(time.Until(deadline))
		res.Fail(store.Failed, store.Timeout, "")
		return
	}
	time.Sleep(time.Millisecond)
}

func (deaf) Close() error { return nil }

// Probes see what the load does not: reads that go on while all workers wait for writes, and reads that are out then
// too.
func TestProbesBesideBusyWorkers(t *testing.T) {
	for name, c := range map[string]struct{ readsOut time.Duration }{"reads go on": {}, "reads are out too": {1500 * time.Millisecond}} {
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			out := began.Add(10 * time.Second)
			p := &probes{list: []*prober{
				{session: deaf{out, out.Add(c.readsOut)}, timeout: probeAtMost, course: probed(false)},
				{session: deaf{out, out.Add(6720 * time.Millisecond)}, timeout: probeAtMost, course: probed(true)},
			}}
			p.begin(t.Context(), began)
			time.Sleep(12 * time.Second)
			if p.succeededSince(int64(11 * time.Second)) {
				t.Errorf("%s: writes succeed again while they do not", name)
			}
			time.Sleep(8 * time.Second)
			p.end()
			if !p.succeededSince(int64(17 * time.Second)) {
				t.Errorf("%s: reads and writes do not succeed again", name)
			}
			// Two of three workers of the load wait for writes, and then all.
			list := steadily(steadily(nil, 0, 0, 10*time.Second, 10*time.Millisecond), 1, 0, 10*time.Second, 10*time.Millisecond)
			list = append(list, one{0, 10 * time.Second, 10 * time.Second, 6720 * time.Millisecond, 0},
				one{1, 10 * time.Second, 16_720 * time.Millisecond, time.Millisecond, 0})
			list = steadily(steadily(list, 0, 16_730*time.Millisecond, 20*time.Second, 10*time.Millisecond), 1,
				16_730*time.Millisecond, 20*time.Second, 10*time.Millisecond)
			o := &operations{parts: append(watchedLoad(0, list), p.courses(nil)...)}
			o.byClass = byClass(o.parts)
			r := &record.DrillRound{WindowEnd: int64(20 * time.Second),
				Faults: []record.DrillFault{{Injected: int64(9 * time.Second)}}}
			o.addEffects(r, 0)
			reads, writes := r.Of(record.KindReads, ""), r.Of(record.KindWrites, "")
			if reads == nil || writes == nil || len(r.Effects) != 5 {
				t.Fatalf("%s: the effects are %+v", name, r.Effects)
			}
			if over := time.Duration(reads.Outage) - c.readsOut; over < 0 || over > 2*probeEvery {
				t.Errorf("%s: reads were out for %v, stated are %v", name, c.readsOut, time.Duration(reads.Outage))
			}
			if over := time.Duration(writes.Outage) - 6720*time.Millisecond; over < 0 || over > 2*probeEvery {
				t.Errorf("%s: writes were out for 6.72 s, stated are %v", name, time.Duration(writes.Outage))
			}
			if reads.Before > 101 || reads.Failed > 0 || writes.Failed > 0 {
				t.Errorf("%s: probes count as operations: %+v, %+v", name, *reads, *writes)
			}
		})
	}
}

// An operation that the load repeats in vain is out, whatever the probes do: they use another collection, the primary,
// and the write concern of the drill. Connections that hang are no reason to doubt the probes.
func TestProbesThatTheLoadRefutes(t *testing.T) {
	const fault, healed, timeout = 10 * time.Second, 22 * time.Second, 2 * time.Second
	for name, c := range map[string]struct {
		again     bool          // workers fail again on new connections
		probesOut time.Duration // after the fault
		until     time.Duration // of the load
		want      time.Duration
	}{
		"writes that need the dead member": {true, 0, 30 * time.Second, healed - fault},
		"they never succeed again":         {true, 0, healed, -1},
		"connections that hang":            {false, 500 * time.Millisecond, 30 * time.Second, 500 * time.Millisecond},
	} {
		w := newWatcher([]workload.Class{{Name: "insert"}})
		for worker := range 4 {
			s := w.worker()
			add := func(sent, took time.Duration, why store.Reason) {
				o := &load.Settlement{Outcome: store.OK, Reason: why, Due: int64(sent), Sent: int64(sent),
					Ended: int64(sent + took)}
				if why != store.NoReason {
					o.Outcome = store.Failed
				}
				s.add(&workload.Op{Requests: []workload.Request{{Verb: workload.Insert}}}, o, false)
			}
			at := time.Duration(worker) * time.Millisecond
			for ; at < fault; at += 10 * time.Millisecond {
				add(at, time.Millisecond, 0)
			}
			for first := true; first || c.again && at+timeout <= healed; first = false {
				add(at, timeout, store.Timeout)
				at += timeout
			}
			for at = max(at, map[bool]time.Duration{true: healed}[c.again]); at < c.until; at += 10 * time.Millisecond {
				add(at, time.Millisecond, 0)
			}
		}
		p := &prober{course: probed(true)}
		for at := time.Duration(0); at < c.until; at += probeEvery {
			res := store.Result{Outcome: store.OK}
			if at >= fault && at < fault+c.probesOut {
				res.Fail(store.Failed, store.Timeout, "")
			}
			p.add(int64(at), int64(at+time.Millisecond), &res)
		}
		o := &operations{parts: append(w.courses(true), p.course)}
		o.byClass = byClass(o.parts)
		r := &record.DrillRound{WindowEnd: int64(c.until), Faults: []record.DrillFault{{Injected: int64(fault)}},
			Expect: spec.Expect{Outage: spec.Duration(5 * time.Second)}}
		o.addEffects(r, 0)
		e := r.Of("", "")
		if off := time.Duration(e.Outage) - c.want; off.Abs() > 2*probeEvery && (c.want >= 0 || e.Outage >= 0) {
			t.Errorf("%s: no write was acknowledged for %v, stated are %v", name, c.want, time.Duration(e.Outage))
		}
		if wrong, open := limits(r); (len(wrong)+len(open) > 0) != c.again {
			t.Errorf("%s: wrong %q, not known %q", name, wrong, open)
		}
	}
}
