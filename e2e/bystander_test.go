package e2e

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/readconcern"
	"go.mongodb.org/mongo-driver/v2/mongo/writeconcern"
)

// bystander is a client beside a drill that shares no code with it: 20 operations a second, inserts or finds, on
// connections to each member of its own. A member is asked who it is before each operation, so that no search for the
// primary adds to an outage.
type bystander struct {
	members []*mongo.Client
	all     *mongo.Client
	concern string // of its writes; "" for a reader
	name    string // of its collection
	done    chan struct{}
	ended   sync.WaitGroup

	mu      sync.Mutex
	latest  bson.ObjectID // the greatest id of an election
	success []time.Time   // when operations succeeded
	late    []lateness
	written map[int]time.Time // when each insert was acknowledged
}

// lateness is by how much an operation began after its moment, or how long the primary took to say that it is one.
type lateness struct {
	near time.Time
	by   time.Duration
}

const (
	bystanderEvery   = 50 * time.Millisecond
	bystanderTimeout = 2 * time.Second
)

func newBystander(t *testing.T, uri string, addresses []string, concern string) *bystander {
	t.Helper()
	b := &bystander{concern: concern, name: bson.NewObjectID().Hex(), done: make(chan struct{}),
		written: map[int]time.Time{}}
	connect := func(uri string) *mongo.Client {
		c, err := mongo.Connect(options.Client().ApplyURI(uri).SetRetryWrites(false).SetRetryReads(false).
			SetHeartbeatInterval(500 * time.Millisecond).SetServerSelectionTimeout(bystanderTimeout))
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	b.all = connect(uri)
	head, _, _ := strings.Cut(uri, addresses[0])
	for _, a := range addresses {
		b.members = append(b.members, connect(head+a+"/?directConnection=true"))
	}
	b.ended.Add(1)
	go b.run()
	return b
}

// run begins an operation every 50 ms, whatever became of the earlier ones.
func (b *bystander) run() {
	defer b.ended.Done()
	var under sync.WaitGroup
	defer under.Wait()
	began := time.Now()
	for n := 0; ; n++ {
		due := began.Add(time.Duration(n) * bystanderEvery)
		select {
		case <-time.After(time.Until(due)):
		case <-b.done:
			return
		}
		under.Go(func() { b.operation(n, due) })
	}
}

// operation does one operation at the member that says it is the primary.
func (b *bystander) operation(n int, due time.Time) {
	b.mu.Lock()
	b.late = append(b.late, lateness{due, time.Since(due)})
	b.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), bystanderTimeout)
	defer cancel()
	var once sync.Once
	var group sync.WaitGroup
	for _, m := range b.members {
		group.Go(func() {
			var hello struct {
				Primary  bool          `bson:"isWritablePrimary"`
				Election bson.ObjectID `bson:"electionId"`
			}
			err := m.Database("admin").RunCommand(ctx, bson.D{{Key: "hello", Value: 1}}).Decode(&hello)
			answered := time.Now()
			if err != nil || !hello.Primary || b.stale(hello.Election) || b.do(ctx, m, n) != nil {
				return
			}
			at := time.Now()
			once.Do(func() {
				b.mu.Lock()
				defer b.mu.Unlock()
				b.success = append(b.success, at)
				b.written[n] = at
				b.late = append(b.late, lateness{at, answered.Sub(due)})
			})
		})
	}
	group.Wait()
}

// stale reports whether a primary was elected before another one that was seen. A member that was paused believes to be
// the primary for a moment; drivers do not write to it (their specification "Server Discovery and Monitoring").
func (b *bystander) stale(election bson.ObjectID) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if bytes.Compare(election[:], b.latest[:]) < 0 {
		return true
	}
	b.latest = election
	return false
}

func (b *bystander) do(ctx context.Context, m *mongo.Client, n int) error {
	if b.concern == "" {
		err := m.Database("bystanders").Collection("none").FindOne(ctx, bson.D{{Key: "_id", Value: n}}).Err()
		if errors.Is(err, mongo.ErrNoDocuments) {
			return nil
		}
		return err
	}
	w := writeconcern.Majority()
	if b.concern == "1" {
		w = writeconcern.W1()
	}
	to := m.Database("bystanders").Collection(b.name, options.Collection().SetWriteConcern(w))
	_, err := to.InsertOne(ctx, bson.D{{Key: "_id", Value: n}})
	return err
}

// stop ends the operations. The connections stay for what is asked afterwards.
func (b *bystander) stop() {
	select {
	case <-b.done:
	default:
		close(b.done)
	}
	b.ended.Wait()
}

// close ends the connections.
func (b *bystander) close() {
	for _, c := range append(b.members, b.all) {
		ctx, cancel := context.WithTimeout(context.Background(), bystanderTimeout)
		_ = c.Disconnect(ctx) // nothing is under way
		cancel()
	}
}

// seen is the longest time without a success, and how late the client itself was around its ends.
type seen struct {
	gap, late time.Duration
	from      time.Time
}

// longest is the longest time without a success that ended after a moment and began before another one. A moment of
// successes between two such times does not end it, by the rule of docs/drill.md: this client asks each member who is
// the primary at every operation, and sees one that is the primary for a moment more often than others.
func (b *bystander) longest(since, until time.Time) *seen {
	b.mu.Lock()
	defer b.mu.Unlock()
	slices.SortFunc(b.success, time.Time.Compare)
	is := &seen{}
	var last seen // the last time of a second or more
	for i := 1; i < len(b.success); i++ {
		g := seen{gap: b.success[i].Sub(b.success[i-1]), from: b.success[i-1]}
		if g.gap >= time.Second {
			between := g.from.Sub(last.from.Add(last.gap))
			if last.gap > 0 && between < min(time.Second, g.gap/10, last.gap/10) {
				g = seen{gap: b.success[i].Sub(last.from), from: last.from}
			}
			last = g
		}
		if b.success[i].After(since) && g.from.Before(until) && g.gap > is.gap {
			is = &g
		}
	}
	for _, l := range b.late {
		for _, end := range []time.Time{is.from, is.from.Add(is.gap)} {
			if l.near.Sub(end).Abs() < time.Second {
				is.late = max(is.late, l.by)
			}
		}
	}
	return is
}

// missing are the times at which inserts were acknowledged that are not there.
func (b *bystander) missing(t *testing.T) []time.Time {
	t.Helper()
	lost := maps.Clone(b.written)
	for _, d := range b.find(t, "bystanders", b.name) {
		n, _ := d.Lookup("_id").AsInt64OK()
		delete(lost, int(n))
	}
	return slices.SortedFunc(maps.Values(lost), time.Time.Compare)
}

// count counts the documents of a drill's ledger that were inserted: those with the field _plimsoll.
func (b *bystander) count(t *testing.T, database string) (n int) {
	t.Helper()
	for _, d := range b.find(t, database, "plimsoll_ledger") {
		if _, err := d.LookupErr("_plimsoll"); err == nil {
			n++
		}
	}
	return n
}

func (b *bystander) find(t *testing.T, database, collection string) (list []bson.Raw) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	from := b.all.Database(database).Collection(collection, options.Collection().SetReadConcern(readconcern.Majority()))
	cursor, err := from.Find(ctx, bson.D{})
	if err == nil {
		err = cursor.All(ctx, &list)
	}
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// whole reports whether there is one primary and all other members are secondaries.
func (b *bystander) whole() bool {
	primaries, secondaries := 0, 0
	for _, m := range b.members {
		ctx, cancel := context.WithTimeout(context.Background(), bystanderTimeout)
		var hello struct {
			Primary   bool `bson:"isWritablePrimary"`
			Secondary bool
		}
		err := m.Database("admin").RunCommand(ctx, bson.D{{Key: "hello", Value: 1}}).Decode(&hello)
		cancel()
		switch {
		case err != nil:
		case hello.Primary:
			primaries++
		case hello.Secondary:
			secondaries++
		}
	}
	return primaries == 1 && secondaries == len(b.members)-1
}

// runCommand runs a command, which is JSON.
func runCommand(t *testing.T, uri, database, text string) {
	t.Helper()
	client, err := mongo.Connect(options.Client().ApplyURI(uri))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = client.Disconnect(t.Context()) }()
	var command bson.D
	if err := bson.UnmarshalExtJSON([]byte(text), false, &command); err != nil {
		t.Fatal(err)
	}
	if err := client.Database(database).RunCommand(t.Context(), command).Err(); err != nil {
		t.Fatal(err)
	}
}
