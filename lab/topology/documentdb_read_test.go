package topology

import (
	"context"
	"errors"
	"syscall"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/plimsoll-bench/plimsoll/lab/engine"
	"github.com/plimsoll-bench/plimsoll/lab/host"
)

// reading reads a collection from one member alone, in batches, and tries to write there.
func (u *underTest) reading(t *testing.T, member, collection string) (documents int, behind int64) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	r, err := u.Read(ctx, member)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	client, err := mongo.Connect(options.Client().ApplyURI(r.URI))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = client.Disconnect(context.Background()) }()
	c := client.Database("test").Collection(collection)
	cursor, err := c.Find(ctx, bson.M{}, options.Find().SetBatchSize(7))
	if err != nil {
		t.Fatal(err)
	}
	var all []bson.M
	if err := cursor.All(ctx, &all); err != nil {
		t.Fatal(err)
	}
	counted, err := c.Aggregate(ctx, bson.A{bson.M{"$count": "n"}})
	var sum []struct{ N int }
	if err == nil {
		err = counted.All(ctx, &sum)
	}
	if err != nil || len(all) > 0 && (len(sum) != 1 || sum[0].N != len(all)) {
		t.Errorf("%s counts %+v of %d documents, error %v", member, sum, len(all), err)
	}
	if _, err := c.InsertOne(ctx, bson.M{"_id": "through " + member}); err == nil {
		t.Errorf("a write through the reading of %s was acknowledged", member)
	}
	return len(all), r.Behind
}

// Each member is read alone, and one whose replay stands still shows what it has, and how far behind it is.
func membersAreRead(t *testing.T, u *underTest) {
	primary := u.whole(t)
	c := u.collection(t, "majority", "alone")
	for id := range 20 {
		if err := insert(t.Context(), c, id, patience); err != nil {
			t.Fatal(err)
		}
	}
	var standbys []string
	for _, m := range u.members {
		if m.plan.Name != primary {
			standbys = append(standbys, m.plan.Name)
		}
		if n, behind := u.reading(t, m.plan.Name, "alone"); n != 20 || behind != 0 {
			t.Errorf("%s has %d of 20 documents and is %d bytes behind", m.plan.Name, n, behind)
		}
	}
	still := u.pg(standbys[0])
	signal(t, still, "postgres: rs0: startup", syscall.SIGSTOP) // Patroni would resume a paused replay
	for id := 20; id < 30; id++ {
		if err := insert(t.Context(), c, id, patience); err != nil {
			t.Fatal(err)
		}
	}
	if n, behind := u.reading(t, standbys[0], "alone"); n != 20 || behind <= 0 {
		t.Errorf("%s, whose replay stands still, has %d documents and is %d bytes behind; want 20 and more than none", standbys[0], n, behind)
	}
	if n, behind := u.reading(t, standbys[1], "alone"); n != 30 || behind != 0 {
		t.Errorf("%s has %d of 30 documents and is %d bytes behind", standbys[1], n, behind)
	}
	signal(t, still, "postgres: rs0: startup", syscall.SIGCONT)
	if n, behind := u.reading(t, standbys[0], "alone"); n != 30 || behind != 0 {
		t.Errorf("%s has %d of 30 documents and is %d bytes behind", standbys[0], n, behind)
	}
	if _, err := u.Read(t.Context(), "rs0-9"); err == nil {
		t.Error("a member that does not exist was read")
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if len(u.readers) != 1 {
		t.Errorf("%d gateways for readings that came one after another", len(u.readers))
	}
	for g, used := range u.readers {
		if used || g.Status().Running {
			t.Errorf("the gateway of a reading that has ended is left: %+v", g.Status())
		}
	}
}

// A standby that does not hear from its primary is read as it is.
func cutStandbyIsRead(t *testing.T, u *underTest) {
	primary := u.member(u.whole(t))
	var cut *pgMember
	for _, m := range u.members {
		if m != primary {
			cut = m
		}
	}
	c := u.collection(t, "majority", "cut-read")
	if err := insert(t.Context(), c, 0, patience); err != nil {
		t.Fatal(err)
	}
	if n, behind := u.reading(t, cut.plan.Name, "cut-read"); n != 1 || behind != 0 {
		t.Errorf("%s has %d of 1 documents and is %d bytes behind", cut.plan.Name, n, behind)
	}
	if err := cut.node.Host().Cut(t.Context(), primary.node.Host(), host.Both); err != nil {
		t.Fatal(err)
	}
	for id := 1; id < 10; id++ {
		if err := insert(t.Context(), c, id, patience); err != nil {
			t.Fatal(err)
		}
	}
	if n, behind := u.reading(t, cut.plan.Name, "cut-read"); n >= 10 || behind <= 0 {
		t.Errorf("%s, which was cut off from the primary, has %d documents and is %d bytes behind", cut.plan.Name, n, behind)
	}
	if err := cut.node.Host().Mend(t.Context(), primary.node.Host()); err != nil {
		t.Fatal(err)
	}
}

func TestApproach(t *testing.T) {
	at := engine.LSN(90)
	asked := 0
	missing := waitApplied(t.Context(), 100, func(context.Context) (engine.LSN, error) {
		if asked++; asked%2 == 1 {
			return 0, errors.New("busy")
		}
		at += 5
		return at, nil
	})
	if missing != 0 {
		t.Errorf("%d bytes are missing of one that came nearer", missing)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if missing := waitApplied(ctx, 100, func(context.Context) (engine.LSN, error) { return 60, nil }); missing != 40 {
		t.Errorf("%d bytes are missing, want 40", missing)
	}
	if missing := waitApplied(ctx, 100, func(context.Context) (engine.LSN, error) {
		return 0, errors.New("away")
	}); missing != -1 {
		t.Errorf("%d bytes are missing of one that never said anything", missing)
	}
}
