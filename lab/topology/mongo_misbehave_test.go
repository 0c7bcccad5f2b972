package topology

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll-bench/plimsoll/lab/engine/enginetest"
	"github.com/plimsoll-bench/plimsoll/lab/host"
	"github.com/plimsoll-bench/plimsoll/record"
)

func threeMembers(s *record.LabSpec) { s.Topology.Members = 3 }

func smallCluster(s *record.LabSpec) {
	s.Topology = record.TopologySpec{Kind: record.LabSharded, Shards: 2, Members: 1, ConfigServers: 1, Routers: 1}
}

// Whatever servers do, a start ends within its deadline, with an error that has the last status in words. The limits
// are those after which the test looks whether it has ended; nothing is timed.
func TestMongoStartFails(t *testing.T) {
	for _, c := range []struct {
		misbehave string
		change    func(*record.LabSpec)
		limit     time.Duration // the start's own; 0 for those that end by themselves
		want      []string
	}{
		{"never-elects", threeMembers, 4 * time.Second, []string{"the replica set rs0 is not usable", "the election of a primary did not happen in time",
			"rs0-1 is secondary, rs0-2 is secondary, rs0-3 is secondary"}},
		{"not-initialized", threeMembers, 4 * time.Second, []string{"all members being well did not happen in time", "NotYetInitialized"}},
		{"no-majority", threeMembers, 4 * time.Second, []string{"a write of a majority did not happen in time", "waiting for replication timed out"}},
		{"initiate-refused", threeMembers, 0, []string{"initiating the set on rs0-1", "the stand-in refuses this configuration"}},
		{"dies-at-start", threeMembers, 0, []string{"rs0-1 at 127.0.0.1:", "has ended", "the stand-in was told to die"}},
		{"dies-after-initiate", threeMembers, 0, []string{"the replica set rs0 is not usable"}},
		{"hangs", threeMembers, 4 * time.Second, []string{"rs0-2 at 127.0.0.1:", "not usable yet"}},
		{"hangs", func(*record.LabSpec) {}, 4 * time.Second, []string{"mongod-1 at 127.0.0.1:", "not usable yet"}},
		{"router-dies", smallCluster, 0, []string{"router-1 at 127.0.0.1:", "the stand-in was told to die"}},
		{"add-shard-fails", smallCluster, 0, []string{"adding shard1 failed 10 times", "Could not find host matching read preference"}},
		{"wrong-chunks", smallCluster, 0, []string{"shard2 has no chunk of plimsoll.usertable: shard1 has 4 chunks; a load would miss it"}},
	} {
		t.Run(c.misbehave, func(t *testing.T) {
			t.Parallel()
			l := newMongoLab(t, host.Plain, enginetest.StandinMongo(t, "7.0.24", c.misbehave), c.change)
			limit := c.limit
			if limit == 0 {
				limit = testLimit
			}
			ctx, cancel := context.WithTimeout(t.Context(), limit)
			defer cancel()
			done := make(chan error, 1)
			go func() { done <- l.Start(ctx) }()
			select {
			case err := <-done:
				for _, want := range c.want {
					if err == nil || !strings.Contains(err.Error(), want) {
						t.Errorf("error %v, want one with %q", err, want)
					}
				}
				if c.limit == 0 && ctx.Err() != nil {
					t.Error("it ended only at its deadline")
				}
			case <-time.After(limit + testLimit):
				t.Fatal("the start goes on after its deadline")
			}
		})
	}
}

// A shard that is not ready at first is added later.
func TestMongoAddShardIsTriedAgain(t *testing.T) {
	t.Parallel()
	l := newMongoLab(t, host.Plain, enginetest.StandinMongo(t, "8.0.12", "add-shard-fails-twice"), smallCluster)
	ctx := start(t, l)
	got, err := l.Sharding(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if got.Namespace != "plimsoll.usertable" || got.Key != "_id" || got.Chunks["shard1"] != 1 || got.Chunks["shard2"] != 1 {
		t.Errorf("the collection is spread like %+v", got)
	}
}

// A lab without a deadline of its own and a context without one end as well.
func TestMongoStartHasALimit(t *testing.T) {
	t.Parallel()
	l := newMongoLab(t, host.Plain, enginetest.StandinMongo(t, "7.0.24", "never-elects"), func(s *record.LabSpec) {
		threeMembers(s)
		s.Deadline = record.Duration(2 * time.Second)
	})
	if err := l.Start(context.WithoutCancel(t.Context())); err == nil || !strings.Contains(err.Error(), "did not happen in time") {
		t.Errorf("error %v, want one that says that it did not happen in time", err)
	}
}
