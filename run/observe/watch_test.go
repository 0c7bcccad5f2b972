package observe

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/plimsoll-bench/plimsoll/store"
)

// fakeSource is looked at by a function.
type fakeSource struct {
	look   func(n int) (Reading, error)
	n      int
	closed atomic.Bool
}

func (s *fakeSource) Look(context.Context) (Reading, error) { s.n++; return s.look(s.n) }
func (s *fakeSource) Close() error                          { s.closed.Store(true); return nil }

func TestWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		quick := &fakeSource{look: func(n int) (Reading, error) {
			return Reading{Source: "quick", Values: map[string]float64{"n": float64(n)}, Notes: []string{"the same"}}, nil
		}}
		slow := &fakeSource{look: func(n int) (Reading, error) {
			time.Sleep(3500 * time.Millisecond)
			return Reading{Source: "slow", Values: map[string]float64{"n": float64(n)}}, nil
		}}
		broken := &fakeSource{look: func(n int) (Reading, error) {
			return Reading{Source: "broken", Events: []Event{{Kind: "e", Text: fmt.Sprint(n)}}}, errors.New("not now")
		}}
		refused := &fakeSource{look: func(int) (Reading, error) { return Reading{}, never("nobody may look") }}
		w := New(t.Context())
		w.Follow(time.Second, quick, slow, broken, refused)
		w.Tell("told", "by a driver", nil)
		time.Sleep(10*time.Second + time.Millisecond)
		samples, events, lost := w.Take()
		count := map[string]int{}
		for i, s := range samples {
			count[s.Source]++
			if i > 0 && s.Time.Before(samples[i-1].Time) {
				t.Errorf("sample %d is earlier than the one before", i)
			}
		}
		// The slow one is looked at back to back: its looks end after 3.5, 7 and 10.5 s.
		if count["quick"] != 11 || count["slow"] != 2 || count["broken"] != 0 || len(events) != 12 || lost != 0 || refused.n != 1 {
			t.Errorf("samples %v, %d events, %d lost, looked %d times at the one that refuses", count, len(events), lost, refused.n)
		}
		if notes := w.Notes(); len(notes) != 2 {
			t.Errorf("notes %q", notes)
		}
		if samples, events, _ := w.Take(); len(samples)+len(events) != 0 {
			t.Errorf("taken twice: %v %v", samples, events)
		}
		w.Stop()
		time.Sleep(time.Minute)
		for i, s := range []*fakeSource{quick, slow, broken, refused} {
			if !s.closed.Load() {
				t.Errorf("source %d is not closed", i)
			}
		}
		// The look of the slow one that was under way may end; nothing begins another.
		if samples, _, _ := w.Take(); len(samples) > 1 {
			t.Errorf("%d samples after the end", len(samples))
		}
	})
}

// A source that never showed anything leaves a note of why; one that did, or was only stopped, leaves none.
func TestSourceThatIsNeverSeen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		away := &fakeSource{look: func(n int) (Reading, error) { return Reading{}, fmt.Errorf("no route, try %d", n) }}
		late := &fakeSource{look: func(n int) (Reading, error) {
			if n != 3 {
				return Reading{}, errors.New("not now")
			}
			return Reading{Source: "late", Values: map[string]float64{"x": 1}}, nil
		}}
		w := New(t.Context())
		w.Follow(time.Second, away, late)
		time.Sleep(4*time.Second + time.Millisecond)
		w.Stop()
		if notes := w.Notes(); len(notes) != 1 || notes[0] != "no route, try 5" {
			t.Errorf("notes %q", notes)
		}
	})
}

// What nobody takes does not fill the memory.
func TestWatchIsBounded(t *testing.T) {
	w := New(t.Context())
	defer w.Stop()
	for range maxEvents + 7 {
		w.Tell("k", "", nil)
	}
	for range maxSamples + 7 {
		w.keep(Reading{Source: "s", Values: map[string]float64{"x": 1}})
	}
	if samples, events, lost := w.Take(); len(samples) != maxSamples || len(events) != maxEvents || lost != 7 {
		t.Errorf("%d samples, %d events, %d lost", len(samples), len(events), lost)
	}
}

// fakeServer is a store of which only the statistics are asked.
type fakeServer struct {
	store.Store
	status  func(n int) (bson.Raw, error)
	replica func() (bson.Raw, error)
	n, sets int
	closed  int
}

func (s *fakeServer) RunCommand(_ context.Context, _ string, cmd []byte) ([]byte, error) {
	switch name := commandName(cmd); name {
	case "serverStatus":
		s.n++
		return s.status(s.n)
	case "replSetGetStatus":
		s.sets++
		return s.replica()
	default:
		return nil, &store.ServerError{Code: 59, CodeName: "CommandNotFound", Message: "no such command: " + name}
	}
}

func commandName(cmd []byte) string {
	elements, _ := bson.Raw(cmd).Elements()
	return elements[0].Key()
}

func (s *fakeServer) Close() error { s.closed++; return nil }

func TestServer(t *testing.T) {
	opened := 0
	fake := &fakeServer{
		status: func(n int) (bson.Raw, error) {
			if n == 2 {
				return nil, errors.New("connection reset")
			}
			return document(t, "status-4.4.json"), nil
		},
		replica: func() (bson.Raw, error) {
			return nil, &store.ServerError{Code: 76, CodeName: "NoReplicationEnabled"}
		},
	}
	s := NewServer("db:27017", func(context.Context) (store.Store, error) {
		if opened++; opened == 1 {
			return nil, errors.New("nobody there yet")
		}
		return fake, nil
	})
	for i, want := range []bool{false, true, false, true, true} {
		r, err := s.Look(t.Context())
		if (err == nil) != want || want && (r.Source != "server:db1.example:27017" || r.Values["connections.current"] != 20) || errors.Is(err, errNever) {
			t.Errorf("look %d: %+v, %v", i, r, err)
		}
	}
	if opened != 2 || fake.sets != 1 {
		t.Errorf("opened %d times, asked %d times for a replica set that is none", opened, fake.sets)
	}
	if err := s.Close(); err != nil || fake.closed != 1 {
		t.Errorf("closed %d times: %v", fake.closed, err)
	}
}

// A server that will not tell is asked once, and the reason is kept.
func TestServerThatDoesNotTell(t *testing.T) {
	for name, status := range map[string]func(int) (bson.Raw, error){
		"refuses": func(int) (bson.Raw, error) {
			return nil, &store.ServerError{Code: 13, CodeName: "Unauthorized", Message: "not authorized on admin"}
		},
		"says nothing": func(int) (bson.Raw, error) { return raw(t, bson.D{{Key: "ok", Value: 1}}), nil },
	} {
		fake := &fakeServer{status: status}
		s := NewServer("db:27017", func(context.Context) (store.Store, error) { return fake, nil })
		if _, err := s.Look(t.Context()); !errors.Is(err, errNever) {
			t.Errorf("%s: %v", name, err)
		}
		s.Close()
	}
	s := NewServer("x", func(context.Context) (store.Store, error) { return struct{ store.Store }{&fakeServer{}}, nil })
	if _, err := s.Look(t.Context()); !errors.Is(err, errNever) {
		t.Errorf("a store without statistics: %v", err)
	}
}

// A load waits for the first samples, also of servers that are found first, but not for a source that hangs.
func TestFirstSamples(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		after := func(d time.Duration) Source {
			return &fakeSource{look: func(int) (Reading, error) { time.Sleep(d); return Reading{}, nil }}
		}
		first := func(follow func(w *Watch)) time.Duration {
			w := New(t.Context())
			follow(w)
			began := time.Now()
			w.First(t.Context(), time.Second)
			defer time.Sleep(time.Minute) // until what hangs has ended
			defer w.Stop()
			return time.Since(began)
		}
		for want, follow := range map[time.Duration]func(w *Watch){
			0:                      func(*Watch) {},
			300 * time.Millisecond: func(w *Watch) { w.Follow(time.Second, after(300*time.Millisecond), after(0)) },
			time.Second:            func(w *Watch) { w.Follow(time.Second, after(30*time.Second), after(0)) },
			600 * time.Millisecond: func(w *Watch) {
				open := func(context.Context) (store.Store, error) {
					time.Sleep(300 * time.Millisecond)
					return nil, errors.New("away")
				}
				w.FollowDeployment(time.Second, Deployment{Address: "db:1", Open: open}) // opened to find servers, and to sample
			},
		} {
			if got := first(follow); got != want {
				t.Errorf("the first samples took %v, want %v", got, want)
			}
		}
	})
}
