package wire

import (
	"context"
	"testing"
	"time"

	"github.com/plimsoll-bench/plimsoll/store"
	"github.com/plimsoll-bench/plimsoll/store/null"
)

// TestAnArrivalBeforeTheRequestIsDiscarded: it is from a wall clock that was set meanwhile.
func TestAnArrivalBeforeTheRequestIsDiscarded(t *testing.T) {
	sent := time.Now()
	for at, known := range map[time.Duration]bool{-time.Hour: false, -1: false, 0: true, time.Millisecond: true} {
		l := &link{arrived: sent.Add(at)}
		if got := l.arrivedAfter(sent); got.IsZero() == known {
			t.Errorf("an answer %v after the request arrived at %v", at, got)
		}
	}
}

// TestAnswersHaveArrivals: the arrival of an answer is between the request and the end of the call.
func TestAnswersHaveArrivals(t *testing.T) {
	r, err := null.Listen(null.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	s, err := Open(context.Background(),
		store.Config{Target: r.URI(), Database: "x", Sessions: 1, Timeout: 10 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	session, err := s.Session(0)
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	known := 0
	var res store.Result
	for range 1000 {
		before := time.Now()
		session.Do(before.Add(10*time.Second), findRequest(t), &res)
		if res.Outcome != store.OK {
			t.Fatal(res.Message)
		}
		if res.Arrived.IsZero() {
			continue
		}
		known++
		if res.Arrived.Before(before) || res.Arrived.After(time.Now()) {
			t.Errorf("an answer arrived %v after the request", res.Arrived.Sub(before))
		}
	}
	if wrapped := session.(*Session).writes.link.under.arrived(); known == 0 && !wrapped.IsZero() {
		t.Error("no answer has its arrival, which the connection knows")
	}
}
