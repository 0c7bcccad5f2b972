package topology

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll-bench/plimsoll/lab/engine"
	"github.com/plimsoll-bench/plimsoll/lab/engine/enginetest"
	"github.com/plimsoll-bench/plimsoll/lab/host"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
)

func threeMembers(s *spec.Lab) { s.Topology.Members = 3 }

func smallCluster(s *spec.Lab) {
	s.Topology = spec.Topology{Kind: spec.LabSharded, Shards: 2, Members: 1, ConfigServers: 1, Routers: 1}
}

// Whatever servers do, a start ends when its time is over, with an error that has the last status in words. The time
// of each case is over when a server has been told something several times, so that nothing depends on how fast the
// machine is; those without such a word end by themselves.
func TestMongoStartFails(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		misbehave string
		change    func(*spec.Lab)
		told      string
		want      []string
	}{
		{"never-elects", threeMembers, "replSetInitiate", []string{"the replica set rs0 is not usable", "the election of a primary was not complete in time",
			"rs0-1 is secondary, rs0-2 is secondary, rs0-3 is secondary"}},
		{"not-initialized", threeMembers, "replSetGetStatus", []string{"the health check of all members was not complete in time", "NotYetInitialized"}},
		{"no-majority", threeMembers, "insert", []string{"a majority write was not complete in time", "waiting for replication timed out"}},
		{"initiate-refused", threeMembers, "", []string{"the initiation of the set on rs0-1", "the stand-in refuses this configuration"}},
		{"dies-at-start", threeMembers, "", []string{"rs0-1 at 127.0.0.1:", "has ended", "the stand-in was told to die"}},
		{"dies-after-initiate", threeMembers, "", []string{"the replica set rs0 is not usable"}},
		{"hangs", threeMembers, "started", []string{"rs0-1 at 127.0.0.1:", "not usable yet"}},
		{"hangs", func(*spec.Lab) {}, "started", []string{"rs0-1 at 127.0.0.1:", "not usable yet"}},
		{"router-dies", smallCluster, "", []string{"router-1 at 127.0.0.1:", "the stand-in was told to die"}},
		{"add-shard-refused", smallCluster, "", []string{"the addition of shard1 failed 10 times", "a shard of that name exists"}},
		{"add-shard-fails", smallCluster, "addShard",
			[]string{"the addition of shard1 was not complete in time", "Could not find host matching read preference"}},
		{"wrong-chunks", smallCluster, "", []string{"shard2 has no chunk of plimsoll.usertable (shard1 has 4 chunks), so it would get no load"}},
	} {
		t.Run(c.misbehave, func(t *testing.T) {
			t.Parallel()
			l := newMongoLab(t, host.Plain, enginetest.StandinMongo(t, "7.0.24", c.misbehave), c.change)
			ctx, over := context.WithCancelCause(t.Context())
			defer over(nil)
			done := make(chan error, 1)
			go func() { done <- l.Start(ctx) }()
			if c.told != "" {
				waitTold(t, l, c.told, done)
				over(context.DeadlineExceeded)
			}
			select {
			case err := <-done:
				for _, want := range c.want {
					if err == nil || !strings.Contains(err.Error(), want) {
						t.Errorf("error %v, want one with %q", err, want)
					}
				}
			case <-time.After(testLimit):
				t.Fatal("the start goes on")
			}
		})
	}
}

// waitTold waits until a server has been told something, and has been asked what the case is about.
func waitTold(t *testing.T, l *mongoLab, word string, done <-chan error) {
	t.Helper()
	often := map[string]int{"started": 1, "replSetInitiate": 1, "insert": 2, "addShard": 2, "replSetGetStatus": 2}[word]
	told := func(n engine.Node) bool {
		text, err := os.ReadFile(filepath.Join(filepath.Dir(n.Logs()[0]), "conversation.ndjson"))
		return err == nil && strings.Count(string(text), `"`+word+`"`) >= often
	}
	for end := time.Now().Add(testLimit); !slices.ContainsFunc(l.Nodes(), told); time.Sleep(20 * time.Millisecond) {
		select {
		case early := <-done:
			t.Fatalf("nobody said %s, and the start ended: %v", word, early)
		default:
		}
		if time.Now().After(end) {
			t.Fatalf("nobody said %s", word)
		}
	}
	notSecondary := func(m record.LabMember) bool { return m.Role != "secondary" }
	for word == "replSetInitiate" && slices.ContainsFunc(l.Describe(t.Context(), Roles), notSecondary) {
		time.Sleep(20 * time.Millisecond)
	}
	if often == 1 {
		time.Sleep(2 * time.Second) // the start asks several times a second
	}
}

// A shard that is not ready at first is added later, and a collection that cannot be sharded yet is sharded later: what
// the config servers say after an election is no reason to give up.
func TestMongoShardingIsTriedAgain(t *testing.T) {
	t.Parallel()
	l := newMongoLab(t, host.Plain, enginetest.StandinMongo(t, "8.0.12", "sharding-not-yet"), smallCluster)
	ctx := start(t, l)
	got, err := l.Sharding(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if got.Namespace != "plimsoll.usertable" || got.Key != "_id" || got.Chunks["shard1"] != 1 || got.Chunks["shard2"] != 1 {
		t.Errorf("the collection is spread like %+v", got)
	}
}

// A member that copies its data is waited for as long as that takes, and one that does not get on is given up.
func TestMongoReturnTakesWhatItNeeds(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ misbehave, want string }{{"slow-initial-sync", ""}, {"stalled-initial-sync", "no progress for 6s"}} {
		t.Run(c.misbehave, func(t *testing.T) {
			t.Parallel()
			l := newMongoLab(t, host.Plain, enginetest.StandinMongo(t, "8.0.12", c.misbehave), threeMembers)
			ctx := start(t, l)
			l.c.patience = 6 * time.Second // less than the slow one takes, and more than a busy machine needs
			name := ""
			for _, m := range l.Describe(ctx, Roles) {
				if m.Role == "secondary" {
					name = m.Name
				}
			}
			n := l.c.node(name)
			if err := n.Kill(); err != nil {
				t.Fatal(err)
			}
			err := l.Return(ctx, name)
			switch {
			case c.want == "" && err != nil:
				t.Error(err)
			case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), name)):
				t.Errorf("error %v, want one with %q", err, c.want)
			}
			l.waitEvent(t, name+" copies all data from another member (initial sync)")
		})
	}
}

// A lab without a deadline of its own and a context without one end as well.
func TestMongoStartHasALimit(t *testing.T) {
	t.Parallel()
	l := newMongoLab(t, host.Plain, enginetest.StandinMongo(t, "7.0.24", "never-elects"), func(s *spec.Lab) {
		threeMembers(s)
		s.Deadline = spec.Duration(2 * time.Second)
	})
	if err := l.Start(context.WithoutCancel(t.Context())); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v, want one that says that its time is over", err)
	}
}
