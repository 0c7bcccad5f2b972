package topology

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/plimsoll-bench/plimsoll/internal/notrun"
	"github.com/plimsoll-bench/plimsoll/lab/engine"
	"github.com/plimsoll-bench/plimsoll/lab/engine/enginetest"
	"github.com/plimsoll-bench/plimsoll/lab/host"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/server"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// use writes through the address that clients are given.
func use(t *testing.T, ctx context.Context, l *mongoLab) {
	t.Helper()
	client, err := mongo.Connect(options.Client().ApplyURI(l.URIs()[""]))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Disconnect(context.WithoutCancel(ctx))
	eventually(t, "a client of "+l.URIs()[""]+" cannot write", func() error {
		_, err := client.Database("plimsoll").Collection("usertable").InsertOne(ctx, bson.M{"_id": bson.NewObjectID()})
		return err
	})
}

func primaryOf(t *testing.T, ctx context.Context, l *mongoLab, set string) string {
	t.Helper()
	for {
		name, err := l.Primary(ctx, set)
		if err == nil {
			return name
		}
		select {
		case <-ctx.Done():
			t.Fatal(err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// roles are the roles of all members, by asking them.
func roles(ctx context.Context, l *mongoLab) map[string]string {
	all := map[string]string{}
	for _, m := range l.Describe(ctx, Settings) {
		all[m.Name] = m.State + " " + m.Role
	}
	return all
}

// eachMongo runs a test on the stand-in, and on a real mongod where there is one.
func eachMongo(t *testing.T, version string, misbehave []string, test func(t *testing.T, binary string)) {
	t.Run("stand-in", func(t *testing.T) {
		t.Parallel()
		test(t, enginetest.StandinMongo(t, version, misbehave...))
	})
	if binary, ok := enginetest.RealMongo(t); ok {
		t.Run("real", func(t *testing.T) { test(t, binary) })
	}
}

// A set goes through what a drill does to it: a planned hand-over, the death of its primary, its return.
func TestMongoSetLives(t *testing.T) {
	t.Parallel()
	eachMongo(t, "8.0.12", nil, func(t *testing.T, binary string) {
		l := newMongoLab(t, host.Plain, binary, func(s *spec.Lab) {
			s.Topology = spec.Topology{Members: 3, Election: "elect-fast"}
		})
		ctx := start(t, l)
		watching, stop := context.WithCancel(ctx)
		defer stop()
		go l.Watch(watching)
		use(t, ctx, l)
		first := primaryOf(t, ctx, l, "")
		if err := l.StepDown(ctx, "rs0"); err != nil {
			t.Fatal(err)
		}
		second := primaryOf(t, ctx, l, "rs0")
		if second == first {
			t.Errorf("%s is primary after it stepped down", first)
		}
		l.waitEvent(t, "election: "+second+" is primary of rs0")
		n, _ := l.Node(second)
		if err := n.Kill(); err != nil {
			t.Fatal(err)
		}
		l.waitEvent(t, second+" is not answering (") // the reason depends on how far the end of the process is
		third := ""
		for third == "" || third == second {
			third = primaryOf(t, ctx, l, "")
		}
		use(t, ctx, l)
		if got := roles(ctx, l)[second]; got != "dead unknown" {
			t.Errorf("the killed member is %q", got)
		}
		if err := l.Return(ctx, second); err != nil {
			t.Fatal(err)
		}
		// The others hear of it with the next heartbeat.
		for roles(ctx, l)[second] != "running secondary" && roles(ctx, l)[second] != "running primary" && ctx.Err() == nil {
			time.Sleep(20 * time.Millisecond)
		}
		for _, m := range l.Describe(ctx, Settings) {
			for m.State != "running" || m.Role != "primary" && m.Role != "secondary" || m.Term < 1 || len(m.Settings) == 0 || m.Problem != "" ||
				m.Role == "secondary" && m.LagSeconds == nil {
				if ctx.Err() != nil {
					t.Fatalf("%s is %+v", m.Name, m)
				}
				time.Sleep(20 * time.Millisecond)
				all := l.Describe(ctx, Settings)
				m = all[slices.IndexFunc(all, func(x record.LabMember) bool { return x.Name == m.Name })]
			}
		}
		stop()
	})
}

// An arbiter keeps no users, and its settings are known nevertheless.
func TestMongoArbiterSettings(t *testing.T) {
	eachMongo(t, "8.0.12", nil, func(t *testing.T, binary string) {
		l := newMongoLab(t, host.Plain, binary, func(s *spec.Lab) {
			s.Engine.Authentication = true
			s.Topology = spec.Topology{Members: 2, Arbiter: true, Election: "elect-fast"}
		})
		ctx := start(t, l)
		eventually(t, "not all settings are known", func() error {
			for _, m := range l.Describe(ctx, Settings) {
				if m.Problem != "" || m.Settings["storage engine"] != "wiredTiger" || m.Settings["parameter syncdelay"] == "" {
					return fmt.Errorf("%s (%s): problem %q, settings %v", m.Name, m.Role, m.Problem, m.Settings)
				}
			}
			return nil
		})
	})
}

// Members that were started on the data of a set find it again.
func TestMongoSetStartsAgain(t *testing.T) {
	t.Parallel()
	eachMongo(t, "7.0.24", nil, func(t *testing.T, binary string) {
		l := newMongoLab(t, host.Plain, binary, func(s *spec.Lab) {
			s.Topology = spec.Topology{Members: 3, Election: "elect-fast"}
			s.Engine.Authentication = true
		})
		ctx := start(t, l)
		use(t, ctx, l)
		if err := l.Stop(ctx); err != nil {
			t.Fatal(err)
		}
		if err := l.Start(ctx); err != nil {
			t.Fatal(err)
		}
		use(t, ctx, l)
	})
}

func TestMongoClusterLives(t *testing.T) {
	t.Parallel()
	eachMongo(t, "6.0.25", nil, func(t *testing.T, binary string) {
		l := newMongoLab(t, host.Plain, binary, func(s *spec.Lab) {
			s.Topology = spec.Topology{Kind: spec.LabSharded, Shards: 2, Members: 3, ConfigServers: 3, Routers: 2, Election: "elect-fast"}
			s.Engine.Authentication = true
		})
		ctx := start(t, l)
		use(t, ctx, l)
		if _, err := l.Primary(ctx, ""); err == nil || !strings.Contains(err.Error(), "shard1, shard2") {
			t.Errorf("error %v, want one that asks for a shard", err)
		}
		killed := primaryOf(t, ctx, l, "shard2")
		for _, name := range []string{killed, "router-1", "config-1"} {
			n, _ := l.Node(name)
			if err := n.Kill(); err != nil {
				t.Fatal(err)
			}
		}
		for primaryOf(t, ctx, l, "shard2") == killed {
			time.Sleep(20 * time.Millisecond)
		}
		eventually(t, "the other router does not know", func() error { // its config servers may elect
			got, err := l.Sharding(ctx)
			if err == nil && len(got.Chunks) != 2 {
				t.Errorf("the collection is spread like %+v", got)
			}
			return err
		})
		for _, name := range []string{"config-1", killed, "router-1"} {
			if err := l.Return(ctx, name); err != nil {
				t.Errorf("return of %s: %v", name, err)
			}
		}
		use(t, ctx, l)
		want := map[string]int{"running config": 3, "running router": 2, "running primary": 2, "running secondary": 4}
		for ; ; time.Sleep(20 * time.Millisecond) { // members hear of a change with the next heartbeat
			got := map[string]int{}
			for _, role := range roles(ctx, l) {
				got[role]++
			}
			diff := cmp.Diff(want, got)
			if diff == "" {
				break
			}
			if ctx.Err() != nil {
				t.Fatalf("roles (-want +got):\n%s", diff)
			}
		}
	})
}

// A primary that is cut off with a write that nobody else has gives it up when it comes back, and tells once where it
// is.
func TestMongoRollbackIsTold(t *testing.T) {
	if err := host.Check(host.Isolated); err != nil {
		notrun.Here(t, "a rollback needs hosts that can be cut off: %v", err)
		return
	}
	t.Parallel()
	eachMongo(t, "6.0.25", nil, func(t *testing.T, binary string) {
		l := newMongoLab(t, host.Isolated, binary, func(s *spec.Lab) {
			s.Topology = spec.Topology{Members: 3, Settings: map[string]string{"electionTimeoutMillis": "3000", "heartbeatTimeoutSecs": "1"}}
		})
		ctx := start(t, l)
		watching, stop := context.WithCancel(ctx)
		defer stop()
		go l.Watch(watching)
		use(t, ctx, l)
		old := writeAlone(t, ctx, l)
		use(t, ctx, l)
		if err := l.Return(ctx, old); err != nil {
			t.Fatal(err)
		}
		l.waitEvent(t, old+" rolled back unreplicated writes; 1 file in ")
		n := l.c.node(old)
		eventually(t, "the write is not in the rollback file", func() error { // which exists before it is complete
			if files := n.Rollbacks(); len(files) != 1 || !strings.Contains(readFile(t, files[0]), "written alone") {
				return fmt.Errorf("the rollback files are %q", files)
			}
			return nil
		})
		if err := n.Kill(); err != nil {
			t.Fatal(err)
		}
		if err := l.Return(ctx, old); err != nil {
			t.Fatal(err)
		}
		if told := slices.DeleteFunc(l.told(), func(e string) bool { return !strings.Contains(e, old+" rolled back unreplicated writes") }); len(told) != 1 {
			t.Errorf("told was %q", told)
		}
	})
}

// writeAlone cuts the primary off from the other members, writes to its journal, kills it when another member leads,
// and returns its name. A primary that heard of its cut before the write is written to again when it leads again.
func writeAlone(t *testing.T, ctx context.Context, l *mongoLab) string {
	t.Helper()
	for {
		old := l.c.node(primaryOf(t, ctx, l, ""))
		at := old.Host()
		fromOthers := func(change func(host.Host) error) {
			for _, h := range l.site.Hosts {
				if h != at {
					if err := change(h); err != nil {
						t.Fatal(err)
					}
				}
			}
		}
		fromOthers(func(h host.Host) error { return at.Cut(ctx, h, host.Both) })
		err := old.Command(ctx, engine.AsUser, "plimsoll", bson.D{{Key: "insert", Value: "usertable"},
			{Key: "documents", Value: bson.A{bson.D{{Key: "_id", Value: bson.NewObjectID()}, {Key: "text", Value: "written alone"}}}},
			{Key: "writeConcern", Value: bson.D{{Key: "w", Value: 1}, {Key: "j", Value: true}}}}, nil)
		if err == nil {
			for primaryOf(t, ctx, l, "") == old.Name() && ctx.Err() == nil {
				time.Sleep(20 * time.Millisecond)
			}
			err = old.Kill()
		}
		fromOthers(func(h host.Host) error { return at.Mend(ctx, h) })
		if err == nil {
			return old.Name()
		}
		t.Logf("once more: %v", err)
	}
}

func readFile(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// A member is behind by the age of the oldest write that it lacks. What an idle primary adds to its oplog is no write,
// and a former primary whose last entry the primary does not have is behind whatever the dates say.
func TestMongoLag(t *testing.T) {
	now := time.Unix(1010, 0)
	at := func(second, n uint32, term int64) (m server.Member) {
		m.Date, m.Optime.TS, m.Optime.Term = time.Unix(int64(second), 0), bson.Timestamp{T: second, I: n}, term
		return m
	}
	entry := func(of server.Member, wall time.Time) logEntry { return logEntry{of.Optime.TS, of.Optime.Term, wall} }
	primary, recent, old, other := at(1009, 7, 3), at(1009, 6, 3), at(999, 1, 2), at(1009, 8, 2)
	for name, c := range map[string]struct {
		primary, m server.Member
		next       []logEntry
		want       time.Duration
		idle       bool
	}{
		"level":                {primary, primary, nil, 0, false},
		"level and idle":       {old, old, nil, 0, true},
		"lacks a no-op":        {primary, old, []logEntry{entry(old, old.Date)}, 0, true},
		"lacks a recent no-op": {primary, recent, []logEntry{entry(recent, recent.Date)}, 0, false},
		"lacks a write": {primary, old, []logEntry{entry(old, old.Date),
			entry(primary, now.Add(-40*time.Millisecond))}, 40 * time.Millisecond, false},
		"lacks an old write": {primary, old, []logEntry{entry(old, old.Date), entry(recent, now.Add(-8*time.Second))},
			8 * time.Second, false},
		"clock of the write":  {primary, old, []logEntry{entry(old, old.Date), entry(primary, now.Add(time.Second))}, leastLag, false},
		"undecided":           {primary, old, nil, 10 * time.Second, false},
		"not told, same time": {primary, recent, nil, leastLag, false},
		"another log":         {primary, other, []logEntry{entry(at(1009, 8, 3), now)}, leastLag, false},
		"a log that was cut":  {primary, old, []logEntry{entry(recent, now)}, 10 * time.Second, false},
	} {
		lag, idle := lagOf(now, c.primary, c.m, c.next)
		if lag != c.want || idle != c.idle {
			t.Errorf("%s: the lag is %v and idle %v, want %v and %v", name, lag, idle, c.want, c.idle)
		}
	}
}

// What a member says itself counts for more than what its primary has heard of it.
func TestMongoLagIsTheMembersOwn(t *testing.T) {
	var m server.Member
	m.Optime = server.OpTime{TS: bson.Timestamp{T: 5, I: 1}, Term: 1}
	before := m
	applyOwnOptime(&m, answer{err: errors.New("no answer")})
	if m != before {
		t.Errorf("a member without an answer is %+v", m)
	}
	var a answer
	a.LastWrite.OpTime.TS, a.LastWrite.OpTime.Term = bson.Timestamp{T: 9, I: 2}, 3
	if applyOwnOptime(&m, a); m.Optime != (server.OpTime{TS: bson.Timestamp{T: 9, I: 2}, Term: 3}) || m.Date.Unix() != 9 {
		t.Errorf("it is %+v", m)
	}
}

// Members that have everything are called idle once nothing was written for a while, and a look asks for no settings.
func TestMongoIdle(t *testing.T) {
	eachMongo(t, "8.0.12", nil, func(t *testing.T, binary string) {
		l := newMongoLab(t, host.Plain, binary, func(s *spec.Lab) {
			s.Topology = spec.Topology{Members: 3, Election: "elect-fast"}
		})
		ctx := start(t, l)
		use(t, ctx, l)
		for {
			idle := 0
			for _, m := range l.Describe(ctx, Roles) {
				if m.Settings != nil {
					t.Fatalf("%s is %+v", m.Name, m)
				}
				if m.Idle && m.LagSeconds != nil && *m.LagSeconds == 0 { // no lag is known while the set elects
					idle++
				}
			}
			if idle == 2 {
				return
			}
			if ctx.Err() != nil {
				t.Fatalf("%d members are idle", idle)
			}
			time.Sleep(100 * time.Millisecond)
		}
	})
}

// A secondary that was held shows the age of what it lacks, which the primary's oplog tells.
func TestMongoLagIsMeasured(t *testing.T) {
	t.Parallel()
	eachMongo(t, "8.0.12", nil, func(t *testing.T, binary string) {
		l := newMongoLab(t, host.Plain, binary, func(s *spec.Lab) {
			s.Topology = spec.Topology{Members: 3, Settings: map[string]string{"electionTimeoutMillis": "20000"}}
		})
		ctx := start(t, l)
		use(t, ctx, l)
		primary := l.c.node(primaryOf(t, ctx, l, ""))
		s, err := status(ctx, primary)
		if err != nil {
			t.Fatal(err)
		}
		before := s.Member(primary.Address()).Optime
		use(t, ctx, l)
		next, err := logFrom(ctx, primary, before.TS)
		if err != nil || len(next) != 2 || next[0].TS != before.TS || next[0].Term != before.Term {
			t.Fatalf("the oplog from %v on is %v, error %v", before, next, err)
		}
		if age := time.Since(next[1].Wall); age < -time.Second || age > testLimit {
			t.Errorf("the write was made %v ago", age)
		}
	})
}

// A primary that closes the connection when it steps down has stepped down nevertheless.
func TestMongoStepDownClosesConnections(t *testing.T) {
	t.Parallel()
	l := newMongoLab(t, host.Plain, enginetest.StandinMongo(t, "4.4.29", "step-down-closes"), threeMembers)
	ctx := start(t, l)
	before := primaryOf(t, ctx, l, "")
	if err := l.StepDown(ctx, ""); err != nil {
		t.Fatal(err)
	}
	if now := primaryOf(t, ctx, l, ""); now == before {
		t.Errorf("%s is primary still", now)
	}
}

// A backup of a secondary has all that the set had, on a server of its own beside it. What ends the reading removes it.
func TestMongoRestore(t *testing.T) {
	t.Parallel()
	binary, real := enginetest.RealMongo(t)
	if !real {
		binary = enginetest.StandinMongo(t, "8.0.12")
	}
	l := newMongoLab(t, host.Plain, binary, threeMembers)
	ctx := start(t, l)
	use(t, ctx, l)
	primary := primaryOf(t, ctx, l, "")
	n := l.c.nodes[slices.IndexFunc(l.c.nodes, func(n *engine.MongoNode) bool { return n.Name() != primary })]
	if _, err := l.c.Restore(ctx, n.Name()); err == nil || !strings.Contains(err.Error(), "there is no backup of "+n.Name()) {
		t.Errorf("without a backup: %v", err)
	}
	eventually(t, n.Name()+" does not have the write", func() error { // a majority may be the two others
		s, err := status(ctx, l.c.node(primary))
		if err != nil {
			return err
		}
		has, written := s.Member(n.Address()).Optime.TS, s.Member(l.c.node(primary).Address()).Optime.TS
		if has.Before(written) {
			return fmt.Errorf("it has the oplog up to %v, the primary up to %v", has, written)
		}
		return nil
	})
	admin := func(command bson.D) {
		t.Helper()
		if err := n.Command(ctx, engine.AsUser, "admin", command, nil); err != nil {
			t.Fatal(err)
		}
	}
	admin(bson.D{{Key: "fsync", Value: 1}, {Key: "lock", Value: true}})
	if err := os.CopyFS(BackupOf(n), os.DirFS(n.DataDir())); err != nil {
		t.Fatal(err)
	}
	admin(bson.D{{Key: "fsyncUnlock", Value: 1}})
	use(t, ctx, l) // after the backup
	r, err := l.c.Restore(ctx, n.Name())
	if err != nil {
		t.Fatal(err)
	}
	client, err := mongo.Connect(options.Client().ApplyURI(r.URI))
	if err != nil {
		t.Fatal(err)
	}
	if found, err := client.Database("plimsoll").Collection("usertable").CountDocuments(ctx, bson.D{}); err != nil || found != 1 {
		t.Errorf("the backup has %d documents, %v", found, err)
	}
	if err := client.Disconnect(ctx); err != nil { // before its server ends
		t.Error(err)
	}
	r.Close()
	if _, err := os.Stat(BackupOf(n)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the backup is there still: %v", err)
	}
}

func TestMongoStepDownRefused(t *testing.T) {
	t.Parallel()
	alone := newMongoLab(t, host.Plain, enginetest.StandinMongo(t, "8.0.12"), func(*spec.Lab) {})
	ctx := start(t, alone)
	if err := alone.StepDown(ctx, ""); err == nil || !strings.Contains(err.Error(), "a standalone cannot step down") {
		t.Errorf("error %v of a standalone", err)
	}
	l := newMongoLab(t, host.Plain, enginetest.StandinMongo(t, "8.0.12"), func(s *spec.Lab) {
		s.Topology = spec.Topology{Members: 2, Priorities: []float64{1, 0}}
	})
	ctx = start(t, l)
	if err := l.StepDown(ctx, ""); err == nil || !strings.Contains(err.Error(), "No electable secondaries") {
		t.Errorf("error %v of a set without another candidate", err)
	}
	if err := l.StepDown(ctx, "rs7"); err == nil || !strings.Contains(err.Error(), `no replica set "rs7"; use one of rs0`) {
		t.Errorf("error %v of a set that is not there", err)
	}
}

// Secrets are made for each lab, and only their owner may read them.
func TestMongoSecrets(t *testing.T) {
	t.Parallel()
	passwords := map[string]bool{}
	for range 2 {
		l := newMongoLab(t, host.Plain, enginetest.StandinMongo(t, "8.0.12"), func(s *spec.Lab) {
			threeMembers(s)
			s.Engine.Authentication = true
		})
		u, err := url.Parse(l.URIs()[""])
		if err != nil {
			t.Fatal(err)
		}
		p, _ := u.User.Password()
		passwords[p] = true
		if u.User.Username() != "plimsoll" || len(p) < 30 || u.Query().Get("authSource") != "admin" || u.Query().Get("replicaSet") != "rs0" {
			t.Errorf("the address is %s", u.Redacted())
		}
		entries, err := os.ReadDir(l.site.Dir + "/secrets")
		if err != nil || len(entries) != 2 {
			t.Fatalf("secrets %v, error %v", entries, err)
		}
		for _, e := range entries {
			if fi, err := e.Info(); err != nil || fi.Mode().Perm() != 0o600 {
				t.Errorf("%s has mode %v", e.Name(), fi.Mode())
			}
		}
	}
	if len(passwords) != 2 {
		t.Error("two labs have the same password")
	}
}

// On hosts with addresses of their own, the first user is made over a socket, and a member that is started on another
// host is found by its set.
func TestMongoMovesBetweenHosts(t *testing.T) {
	t.Parallel()
	if err := host.Check(host.Isolated); err != nil {
		notrun.Here(t, "on isolated hosts: %v", err)
		return
	}
	eachMongo(t, "7.0.24", nil, func(t *testing.T, binary string) {
		l := newMongoLab(t, host.Isolated, binary, func(s *spec.Lab) {
			s.Hosts.Count = 4
			s.Topology = spec.Topology{Members: 3, Election: "elect-fast"}
			s.Engine.Authentication = true
		})
		ctx := start(t, l)
		use(t, ctx, l)
		name := primaryOf(t, ctx, l, "")
		n, _ := l.Node(name)
		before := n.Address()
		if err := n.Host().PowerOff(ctx); err != nil {
			t.Fatal(err)
		}
		for primaryOf(t, ctx, l, "") == name {
			time.Sleep(20 * time.Millisecond)
		}
		if err := n.Start(ctx); !errors.Is(err, host.ErrOff) {
			t.Errorf("error %v of a start on a host without power", err)
		}
		if err := n.Move(l.site.Hosts["host4"]); err != nil {
			t.Fatal(err)
		}
		if err := l.Return(ctx, name); err != nil {
			t.Fatal(err)
		}
		if n.Address() == before || n.Host().Name() != "host4" {
			t.Errorf("%s is at %s on %s", name, n.Address(), n.Host().Name())
		}
		use(t, ctx, l)
		for got := ""; got != "running primary" && got != "running secondary"; time.Sleep(20 * time.Millisecond) {
			if got = roles(ctx, l)[name]; ctx.Err() != nil {
				t.Fatalf("the moved member is %q", got)
			}
		}
	})
}

var _ engine.Node = (*engine.MongoNode)(nil)
