package drill

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

	"github.com/plimsoll-bench/plimsoll/lab/engine/enginetest"
	"github.com/plimsoll-bench/plimsoll/platform"
	commands "github.com/plimsoll-bench/plimsoll/platform/command"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/run"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// ownClient reads and writes beside a drill, every 25 ms each, and keeps the longest times without a success.
type ownClient struct {
	client *mongo.Client
	cancel context.CancelFunc
	group  sync.WaitGroup
	mu     sync.Mutex
	gaps   map[string]time.Duration
}

func startOwn(t *testing.T, uri string) *ownClient {
	t.Helper()
	c, err := mongo.Connect(options.Client().ApplyURI(uri).SetRetryReads(false).SetRetryWrites(false).
		SetServerSelectionTimeout(200 * time.Millisecond).SetHeartbeatInterval(500 * time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	o := &ownClient{client: c, cancel: cancel, gaps: map[string]time.Duration{}}
	coll := c.Database("own").Collection("probe")
	for kind, do := range map[string]func(context.Context) error{
		"reads": func(ctx context.Context) error {
			err := coll.FindOne(ctx, bson.D{{Key: "_id", Value: 1}}).Err()
			if err == mongo.ErrNoDocuments {
				return nil
			}
			return err
		},
		"writes": func(ctx context.Context) error {
			_, err := coll.UpdateOne(ctx, bson.D{{Key: "_id", Value: 1}}, bson.D{{Key: "$inc", Value: bson.D{{Key: "n", Value: 1}}}},
				options.UpdateOne().SetUpsert(true))
			return err
		},
	} {
		o.group.Go(func() {
			var last time.Time
			ticker := time.NewTicker(25 * time.Millisecond)
			defer ticker.Stop()
			for {
				select {
				case <-ticker.C:
				case <-ctx.Done():
					return
				}
				one, stop := context.WithTimeout(ctx, 300*time.Millisecond)
				err := do(one)
				stop()
				if now := time.Now(); err == nil {
					o.mu.Lock()
					if !last.IsZero() {
						o.gaps[kind] = max(o.gaps[kind], now.Sub(last))
					}
					o.mu.Unlock()
					last = now
				}
			}
		})
	}
	return o
}

// end returns the longest times without a success.
func (o *ownClient) end() (reads, writes time.Duration) {
	o.cancel()
	o.group.Wait()
	_ = o.client.Disconnect(context.Background())
	return o.gaps["reads"], o.gaps["writes"]
}

// secureSet is a set with a key file and authentication.
func secureSet(t *testing.T, binary string) string {
	t.Helper()
	dir := t.TempDir()
	key, wrapper := filepath.Join(dir, "key"), filepath.Join(dir, "mongod")
	if err := os.WriteFile(key, []byte(strings.Repeat("plimsoll", 20)), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(wrapper, fmt.Appendf(nil, "#!/bin/sh\nexec %s --auth --keyFile %s \"$@\"\n", binary, key), 0o700); err != nil {
		t.Fatal(err)
	}
	set := enginetest.StartSet(t, wrapper, 3)
	c, err := mongo.Connect(options.Client().ApplyURI(set.URI))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Disconnect(context.Background()) }()
	if err := c.Database("admin").RunCommand(t.Context(), bson.D{{Key: "createUser", Value: "root"}, {Key: "pwd", Value: "secret"},
		{Key: "roles", Value: bson.A{"root"}}, {Key: "writeConcern", Value: bson.D{{Key: "w", Value: "majority"}}}}).Err(); err != nil {
		t.Fatal(err)
	}
	return strings.Replace(set.URI, "mongodb://", "mongodb://root:secret@", 1)
}

func runDrill(t *testing.T, text string, o Options) *record.Drill {
	t.Helper()
	asked, err := spec.ReadDrill(strings.NewReader(text))
	if err == nil {
		err = asked.Complete()
	}
	if err != nil {
		t.Fatal(err)
	}
	o.Dir = filepath.Join(t.TempDir(), "record")
	d, err := Run(t.Context(), asked, o)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// plainPlatform is a set that only commands of MongoDB break.
func plainPlatform(t *testing.T, uri string) platform.Platform {
	t.Helper()
	d, err := commands.New(commands.Options{URI: uri, Journals: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	return d
}

// near says whether a stated outage is that of the own client: both look every 25 ms, at times of their own, and a busy
// machine delays either.
func near(stated int64, own time.Duration) bool {
	return stated >= 0 && (time.Duration(stated)-own).Abs() <= 100*time.Millisecond
}

// A step-down of a real set with authentication, under a load of 64 workers that all log in again, is as long as
// another client sees it.
func TestStepDownOfASecureSet(t *testing.T) {
	binary, ok := enginetest.RealMongo(t)
	if !ok {
		return
	}
	uri := secureSet(t, binary) + "&w=1"
	for attempt := 1; ; attempt++ {
		own := startOwn(t, uri)
		d := runDrill(t, fmt.Sprintf("run: {target: '%s', load: {rate: 500, workers: 64, duration: 8s}, durability: {w: '1'}}\n"+
			"faults: [{fault: step-down, at: 4s}]\nexpect: {loss: any}\n", uri), Options{Platform: plainPlatform(t, uri)})
		reads, writes := own.end()
		r := d.Rounds[0]
		stated := [2]int64{-1, -1} // without an effect, if the load ended before the fault
		for i, kind := range []string{record.KindReads, record.KindWrites} {
			if e := r.Of(kind, ""); e != nil {
				stated[i] = e.Outage
			}
		}
		if near(stated[0], reads) && near(stated[1], writes) {
			return
		}
		t.Logf("attempt %d: reads %v, writes %v; stated are %v, %v; %s %q", attempt, reads, writes, time.Duration(stated[0]),
			time.Duration(stated[1]), d.Verdict, d.Reasons)
		if attempt == 10 {
			t.Fatal("the outages are never those of another client")
		}
	}
}

// While both secondaries are locked, no majority acknowledges a write, and reads go on. Workers that wait for writes
// are no outage of reads, however many there are.
func TestBusyWorkersOnASet(t *testing.T) {
	binary, ok := enginetest.RealMongo(t)
	if !ok {
		return
	}
	for _, workers := range []int{64, 1000} {
		t.Run(fmt.Sprint(workers), func(t *testing.T) {
			for attempt := 1; ; attempt++ { // a busy machine makes a set elect in between
				wrong := busyWorkers(t, binary, workers)
				if wrong == "" {
					return
				}
				t.Logf("attempt %d: %s", attempt, wrong)
				if attempt == 3 {
					t.Fatal("the outages are never those of another client")
				}
			}
		})
	}
}

// busyWorkers returns what a drill states wrongly, or nothing.
func busyWorkers(t *testing.T, binary string, workers int) (wrong string) {
	t.Helper()
	set := enginetest.StartSet(t, binary, 3)
	own := startOwn(t, set.URI)
	marks, began := make(chan time.Time, 2), make(chan struct{})
	var members []*mongo.Database
	for _, address := range set.Addresses {
		members = append(members, admin(t, address))
	}
	var locking sync.WaitGroup
	locking.Go(func() {
		<-began
		time.Sleep(3 * time.Second)
		marks <- time.Now()
		locked := slices.DeleteFunc(members, func(member *mongo.Database) bool { return !lockIfSecondary(t, member) })
		time.Sleep(4 * time.Second)
		for _, member := range locked {
			if err := member.RunCommand(t.Context(), bson.D{{Key: "fsyncUnlock", Value: 1}}).Err(); err != nil {
				t.Error(err)
			}
		}
		marks <- time.Now()
	})
	d := runDrill(t, fmt.Sprintf("run: {target: '%s', load: {rate: 500, workers: %d, duration: 12s}, "+
		"durability: {w: majority}}\nexternal: true\n", set.URI, workers), Options{Mark: marks,
		Progress: beginning{began: sync.OnceFunc(func() { close(began) })}})
	locking.Wait()
	longest, _ := own.end()
	r := d.Rounds[0]
	reads, writes := r.Of(record.KindReads, ""), r.Of(record.KindWrites, "")
	if reads.Outage < 0 || time.Duration(reads.Outage) > longest+500*time.Millisecond {
		wrong += fmt.Sprintf("reads were out for %v at most, stated are %v. ", longest, time.Duration(reads.Outage))
	}
	if writes.Outage < int64(3*time.Second) {
		wrong += fmt.Sprintf("writes were out for 4 s, stated are %v. ", time.Duration(writes.Outage))
	}
	if share := writes.During / writes.Before; share > 0.6 {
		wrong += fmt.Sprintf("%.0f %% of the writes that were due came in time, although none was acknowledged for 4 s.", 100*share)
	}
	t.Logf("reads %v (own %v), writes %v, %.1f %% of the throughput", time.Duration(reads.Outage), longest,
		time.Duration(writes.Outage), 100*r.Whole().During/r.Whole().Before)
	return wrong
}

// admin is the admin database of one member.
func admin(t *testing.T, address string) *mongo.Database {
	t.Helper()
	c, err := mongo.Connect(options.Client().ApplyURI("mongodb://" + address + "/?directConnection=true"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Disconnect(context.Background()) })
	return c.Database("admin")
}

// lockIfSecondary locks a member for writes if it is a secondary, and says whether it did.
func lockIfSecondary(t *testing.T, member *mongo.Database) bool {
	t.Helper()
	var hello struct {
		Secondary bool `bson:"secondary"`
	}
	err := member.RunCommand(t.Context(), bson.D{{Key: "hello", Value: 1}}).Decode(&hello)
	if err == nil && hello.Secondary {
		err = member.RunCommand(t.Context(), bson.D{{Key: "fsync", Value: 1}, {Key: "lock", Value: true}}).Err()
	}
	if err != nil {
		t.Error(err)
	}
	return err == nil && hello.Secondary
}

// beginning tells when the measured load begins.
type beginning struct {
	silent
	began func()
}

func (b beginning) Begin(run.Plan) { b.began() }
