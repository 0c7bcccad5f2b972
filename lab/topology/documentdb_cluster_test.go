package topology

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/plimsoll-bench/plimsoll/internal/wait"
	"github.com/plimsoll-bench/plimsoll/lab/engine"
	"github.com/plimsoll-bench/plimsoll/lab/engine/enginetest"
	"github.com/plimsoll-bench/plimsoll/lab/host"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// patience is long: the machine may be busy with other tests.
const patience = 10 * time.Minute

// event is one that a cluster told.
type event struct {
	kind, text string
	data       map[string]string
}

// underTest is a cluster with what the test knows of it.
type underTest struct {
	*documentDB
	dir   string
	hosts map[string]host.Host

	evMu   sync.Mutex
	events []event
}

// describe describes a cluster of documentdb on hosts of its own.
func describe(t *testing.T, mode string, change func(*spec.Lab)) *underTest {
	t.Helper()
	asked := spec.Lab{Name: "test", Engine: spec.Engine{Name: spec.LabDocumentDB, Connections: 16},
		Topology: spec.Topology{Kind: spec.LabReplicaSet, Election: "elect-fast"}}
	asked.Hosts.Mode = mode
	if change != nil {
		change(&asked)
	}
	asked.Defaults()
	layout, err := planDocumentDB(asked)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, h := range layout.Hosts {
		names = append(names, h.Name)
	}
	j, hosts := enginetest.LimitedHosts(t, mode, layout.Hosts[0].Limits, names...)
	home, err := engine.DefaultHome(os.Getenv)
	if err != nil {
		t.Fatal(err)
	}
	u := &underTest{dir: t.TempDir(), hosts: hosts}
	cluster, err := newDocumentDB(Site{Spec: asked, Layout: layout, Home: home, Dir: u.dir, Journal: j, Hosts: hosts,
		Volume: func(_ context.Context, member string) (string, error) {
			return filepath.Join(u.dir, "volumes", member), nil
		},
		Event: func(kind, text string, data map[string]string) {
			u.evMu.Lock()
			defer u.evMu.Unlock()
			u.events = append(u.events, event{kind, text, data})
		}})
	if err != nil {
		t.Fatal(err)
	}
	u.documentDB = cluster.(*documentDB)
	return u
}

// bringUp starts a cluster of documentdb and watches it until the test ends.
func bringUp(t *testing.T, mode string, change func(*spec.Lab)) *underTest {
	t.Helper()
	u := describe(t, mode, change)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := engine.PrepareTemplate(ctx, u.site.Home); err != nil {
		t.Fatal(err)
	}
	watch, end := context.WithCancel(context.Background())
	var watching sync.WaitGroup
	t.Cleanup(func() {
		end()
		watching.Wait()
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		begun := time.Now()
		if err := u.Stop(ctx); err != nil {
			t.Error(err)
		}
		t.Logf("down after %v", time.Since(begun).Round(time.Millisecond))
		if t.Failed() {
			u.logAll(t)
		}
	})
	begun := time.Now()
	if err := u.Start(ctx); err != nil {
		t.Fatal(err)
	}
	t.Logf("up after %v", time.Since(begun).Round(time.Millisecond))
	watching.Go(func() { u.Watch(watch) })
	return u
}

// logAll shows what happened, for a test that failed.
func (u *underTest) logAll(t *testing.T) {
	u.evMu.Lock()
	defer u.evMu.Unlock()
	for _, e := range u.events {
		t.Logf("event %s: %s %v", e.kind, e.text, e.data)
	}
	for _, n := range u.Nodes() {
		data, _ := os.ReadFile(n.Logs()[0])
		lines := strings.Split(string(data), "\n")
		t.Logf("%s:\n%s", n.Name(), strings.Join(lines[max(0, len(lines)-25):], "\n"))
	}
}

// told returns the events of a kind since a number.
func (u *underTest) told(kind string, since int) []event {
	u.evMu.Lock()
	defer u.evMu.Unlock()
	var all []event
	for _, e := range u.events[min(since, len(u.events)):] {
		if e.kind == kind {
			all = append(all, e)
		}
	}
	return all
}

func (u *underTest) now() int {
	u.evMu.Lock()
	defer u.evMu.Unlock()
	return len(u.events)
}

// promotion is the one in place of a member that was told since a number, if there was one. There may be others: on a
// busy machine a member can seem to be dead.
func (u *underTest) promotion(from string, since int) (event, bool) {
	for _, e := range u.told("promotion", since) {
		if e.data["from"] == from {
			return e, true
		}
	}
	return event{}, false
}

// eventually tries f until it succeeds.
func eventually(t *testing.T, what string, f func() error) {
	t.Helper()
	deadline := time.Now().Add(patience)
	for {
		err := f()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s: %v", what, err)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// whole waits until the cluster has a primary and all others stream from it.
func (u *underTest) whole(t *testing.T) string {
	t.Helper()
	primary := ""
	eventually(t, "the cluster is not whole again", func() error {
		var err error
		if primary, err = u.Primary(t.Context(), ""); err != nil {
			return err
		}
		for _, m := range u.Describe(t.Context(), Known) {
			if u.hosts[m.Host].State() == host.Off {
				continue
			}
			if m.State != "running" || m.Problem != "" || m.Kind == "postgres" && m.Name != primary && m.LagBytes == nil {
				return fmt.Errorf("%+v", m)
			}
		}
		return nil
	})
	return primary
}

// promoted waits until another member than old is primary.
func (u *underTest) promoted(t *testing.T, old string) string {
	t.Helper()
	now := ""
	eventually(t, "nothing was promoted", func() error {
		var err error
		if now, err = u.Primary(t.Context(), ""); err == nil && now == old {
			err = fmt.Errorf("%s is still primary", old)
		}
		return err
	})
	return now
}

func (u *underTest) pg(name string) *engine.Postgres { return u.member(name).node }

// collection opens the collection of a test at one durability level.
func (u *underTest) collection(t *testing.T, level, name string) *mongo.Collection {
	t.Helper()
	uri, ok := u.URIs()[level]
	if !ok {
		t.Fatalf("there is no level %q", level)
	}
	client, err := mongo.Connect(options.Client().ApplyURI(uri).SetServerSelectionTimeout(
		2 * time.Second).SetConnectTimeout(2 * time.Second))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Disconnect(t.Context()) }) // which has ended: nobody waits for a server that was killed
	return client.Database("test").Collection(name)
}

// insert inserts a document within a time, and says whether that was acknowledged. With as much time as there is it
// tries again and again, because one attempt may meet a gateway that is being started; that an earlier attempt has
// inserted it is success too.
func insert(ctx context.Context, c *mongo.Collection, id int, limit time.Duration) error {
	for begun := time.Now(); ; {
		try, cancel := context.WithTimeout(ctx, min(limit, 10*time.Second))
		_, err := c.InsertOne(try, bson.M{"_id": id})
		cancel()
		if limit < patience || err == nil || mongo.IsDuplicateKeyError(err) || time.Since(begun) > limit ||
			wait.Sleep(ctx, retryAfter) != nil {
			if limit == patience && mongo.IsDuplicateKeyError(err) {
				return nil
			}
			return err
		}
	}
}

// writer inserts documents one after another and remembers what was acknowledged.
type writer struct {
	acked []int
	next  int
}

// The pauses leave the processors to the servers: in an outage, each attempt starts several processes of PostgreSQL.
const (
	writeEvery = 10 * time.Millisecond
	retryAfter = 100 * time.Millisecond
)

// write goes on until ctx ends. Ids are not used again: what became of one that failed is not known.
func (w *writer) write(ctx context.Context, c *mongo.Collection) {
	for ctx.Err() == nil {
		id := w.next
		w.next++
		pause := retryAfter
		if insert(ctx, c, id, 2*time.Second) == nil {
			w.acked, pause = append(w.acked, id), writeEvery
		}
		_ = wait.Sleep(ctx, pause)
	}
}

// missing are the acknowledged ids that cannot be read.
func (w *writer) missing(t *testing.T, c *mongo.Collection) []int {
	t.Helper()
	var found []int
	eventually(t, "the documents cannot be read", func() error {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		cursor, err := c.Find(ctx, bson.M{}, options.Find().SetSort(bson.M{"_id": 1}))
		if err != nil {
			return err
		}
		var docs []struct {
			ID int `bson:"_id"`
		}
		err = cursor.All(ctx, &docs)
		found = nil
		for _, d := range docs {
			found = append(found, d.ID)
		}
		return err
	})
	var missing []int
	for _, id := range w.acked {
		if _, ok := slices.BinarySearch(found, id); !ok {
			missing = append(missing, id)
		}
	}
	return missing
}
