package platform

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/plimsoll-bench/plimsoll/fault"
	"github.com/plimsoll-bench/plimsoll/lab"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// single is a lab of one server, and clients of its levels of durability.
type single struct {
	*bench
	clients map[string]*mongo.Client
	next    int // document
}

func upSingle(t *testing.T) *single {
	t.Helper()
	asked := spec.Lab{Name: fmt.Sprintf("truth-%d", os.Getpid())}
	asked.Storage = spec.Storage{Size: 512 << 20, Faults: true}
	// Nothing is flushed but what has to be: neither by the clock nor by a checkpoint.
	asked.Engine.Parameters = map[string]string{"wal_writer_delay": "10s", "wal_writer_flush_after": "64MB", "checkpoint_timeout": "1h"}
	s := &single{bench: &bench{}, clients: map[string]*mongo.Client{}}
	if s.h, s.home = upLab(t, asked); s.h == nil {
		return nil
	}
	uris, err := s.h.Addresses(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, level := range []string{"throughput", "durable"} {
		c, err := mongo.Connect(options.Client().ApplyURI(uris[level]).SetRetryWrites(false))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Disconnect(t.Context()) }) // which has ended: nobody waits for a server
		s.clients[level] = c
	}
	return s
}

func (s *single) collection(level string) *mongo.Collection {
	return s.clients[level].Database("truth").Collection("a")
}

// write inserts one document and returns its id if that was acknowledged. It tries until it is or ctx ends.
func (s *single) write(ctx context.Context, level string) (id int, err error) {
	s.next++
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	_, err = s.collection(level).InsertOne(ctx, bson.M{"_id": s.next})
	return s.next, err
}

// must writes documents, all of which must be acknowledged.
func (s *single) must(t *testing.T, level string, n int) []int {
	t.Helper()
	var ids []int
	for limit := time.Now().Add(patience); len(ids) < n; {
		id, err := s.write(t.Context(), level)
		if err == nil {
			ids = append(ids, id)
		} else if time.Now().After(limit) {
			t.Fatalf("a write on %s: %v", level, err)
		}
	}
	return ids
}

// present are the documents that there are.
func (s *single) present(t *testing.T) map[int]bool {
	t.Helper()
	for limit := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) {
		found, err := s.read(t.Context())
		if err == nil {
			return found
		}
		if time.Now().After(limit) {
			t.Fatalf("the documents cannot be read: %v", err)
		}
	}
}

func (s *single) read(ctx context.Context) (map[int]bool, error) {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	cursor, err := s.collection("durable").Find(ctx, bson.M{})
	if err != nil {
		return nil, err
	}
	var docs []struct {
		ID int `bson:"_id"`
	}
	if err := cursor.All(ctx, &docs); err != nil {
		return nil, err
	}
	found := map[int]bool{}
	for _, d := range docs {
		found[d.ID] = true
	}
	return found, nil
}

// lost are the documents that are not there.
func lost(ids []int, present map[int]bool) []int {
	var gone []int
	for _, id := range ids {
		if !present[id] {
			gone = append(gone, id)
		}
	}
	return gone
}

// losePower takes the power of the only host away and gives it back. during runs until the power is gone.
func (s *single) losePower(t *testing.T, during func(context.Context)) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	writing, stop := context.WithCancel(ctx)
	var all sync.WaitGroup
	if during != nil {
		all.Go(func() { during(writing) })
	}
	i := s.injector(t, spec.Fault{Action: spec.ParseAction("power-loss:random")})
	_, err := i.Inject(ctx)
	stop()
	all.Wait()
	if err != nil {
		t.Fatal(err)
	}
	known, err := i.Verify(ctx)
	if err != nil || !known.Hit {
		t.Fatalf("hit %+v: %v", known, err)
	}
	t.Log(known.Evidence)
	if _, err := i.Heal(ctx); err != nil {
		t.Fatal(err)
	}
}

// What a loss of power takes is what the level of durability allows, and a disk that lies takes more.
func TestLossOfPower(t *testing.T) {
	s := upSingle(t)
	if s == nil {
		return
	}
	t.Run("durable writes survive", func(t *testing.T) {
		ids := s.must(t, "durable", 50)
		s.losePower(t, func(ctx context.Context) {
			for ctx.Err() == nil {
				if id, err := s.write(ctx, "durable"); err == nil {
					ids = append(ids, id)
				}
			}
		})
		if gone := lost(ids, s.present(t)); len(gone) > 0 {
			t.Errorf("of %d durable writes are lost: %v", len(ids), gone)
		}
	})
	t.Run("the tail of others is lost", func(t *testing.T) {
		const attempts = 5 // a slow machine may flush the tail before the power is lost
		for range attempts {
			before := s.must(t, "throughput", 20)
			before = append(before, s.must(t, "durable", 1)...) // flushes what came before
			tail := s.must(t, "throughput", 20)
			s.losePower(t, nil)
			present := s.present(t)
			if gone := lost(before, present); len(gone) > 0 {
				t.Errorf("lost, though a durable write came after them: %v", gone)
			}
			gone := lost(tail, present)
			if len(gone) == 0 {
				continue
			}
			if gone[len(gone)-1]-gone[0] != len(gone)-1 || gone[len(gone)-1] != tail[len(tail)-1] {
				t.Errorf("lost are %v of %v, which is no tail", gone, tail)
			}
			return
		}
		t.Errorf("in %d losses of power, nothing of what was never flushed is lost", attempts)
	})
	t.Run("a disk that lies loses durable writes", func(t *testing.T) {
		before := s.must(t, "durable", 5)
		lie := s.injector(t, spec.Fault{Action: spec.ParseAction("disk-lie:random")})
		if _, err := lie.Inject(t.Context()); err != nil {
			t.Fatal(err)
		}
		tail := s.must(t, "durable", 20)
		proof, err := lie.Verify(t.Context())
		if err != nil || !proof.Hit {
			t.Errorf("%+v, %v", proof, err)
		}
		s.losePower(t, nil)
		present := s.present(t)
		if gone := lost(before, present); len(gone) > 0 {
			t.Errorf("lost, though the disk did not lie yet: %v", gone)
		}
		if gone := lost(tail, present); len(gone) != len(tail) {
			t.Errorf("of %d writes that a lying disk acknowledged are lost %v", len(tail), gone)
		}
		if _, err := lie.Heal(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// A fault that no lab can inject is refused before the lab is asked.
func TestRefused(t *testing.T) {
	p := OfLab((*lab.Handle)(nil))
	if _, err := p.Fault(spec.Fault{Action: spec.ParseAction("kill:primary")}, -1); err == nil {
		t.Error("a negative limit is accepted")
	}
	if _, err := p.Fault(spec.Fault{Action: spec.ParseAction("kil:primary")}, 0); err == nil ||
		!strings.Contains(err.Error(), "did you mean kill?") {
		t.Errorf("an unknown action: %v", err)
	}
}

// What others break is marked.
func TestExternal(t *testing.T) {
	marks := make(chan time.Time, 2)
	e := External("pulled the cable", marks)
	if proof, err := e.Verify(t.Context()); proof.Hit || err != nil {
		t.Errorf("before the mark: %+v, %v", proof, err)
	}
	first, second := time.Now(), time.Now().Add(time.Second)
	marks <- first
	marks <- second
	done, err := e.Inject(t.Context())
	if err != nil || !done.Effective.Equal(first) || done.Mode != fault.Unknown {
		t.Errorf("%+v, %v", done, err)
	}
	if proof, err := e.Verify(t.Context()); !proof.Hit || err != nil {
		t.Errorf("after the mark: %+v, %v", proof, err)
	}
	for range 2 {
		if known, err := e.Heal(t.Context()); err != nil || !known.Healed.Equal(second) || !known.Hit {
			t.Errorf("healed: %+v, %v", known, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	never := External("nothing", make(chan time.Time))
	if _, err := never.Inject(ctx); !errors.Is(err, errNoMark) {
		t.Errorf("without a mark: %v", err)
	}
}
