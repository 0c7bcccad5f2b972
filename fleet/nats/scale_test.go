package nats

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plimsoll-bench/plimsoll/fleet"
	"github.com/plimsoll-bench/plimsoll/fleet/fleettest"
	runs "github.com/plimsoll-bench/plimsoll/run"
)

// Many agents leave the record that is the sum of theirs, bucket by bucket.
func TestManyAgents(t *testing.T) {
	t.Parallel()
	c := open(t, Options{})
	startAgents(t, c.serverOf(), 30)
	asked := testSpec(30, 4*time.Second)
	asked.Load.Pace = 5
	if r := execute(t, c, asked, nil); len(r.Clients) != 30 {
		t.Errorf("%d clients", len(r.Clients))
	}
}

// Many agents that only play leave the record of one process with the same operations, bucket by bucket. A thousand are
// in bench.
func TestManyPlayers(t *testing.T) {
	t.Parallel()
	const agents = 100
	streams := fleettest.Streams{Seconds: 3, Rate: 200}
	player, err := streams.Player()
	if err != nil {
		t.Fatal(err)
	}
	c := open(t, Options{})
	tmp := t.TempDir()
	for i := range agents {
		start(t, AgentOptions{Server: c.serverOf(), Facts: fleet.Facts{Name: fmt.Sprintf("agent-%03d", i)}},
			fleet.Agent{Dir: tmp, Run: player}.Serve)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	dir := filepath.Join(t.TempDir(), "record")
	_, err = fleet.Execute(ctx, streams.Spec(agents), runs.Options{Dir: dir}, fleet.Options{Places: c.places()})
	if err != nil {
		t.Fatal(err)
	}
	merged, whole := map[bucket]int64{}, map[bucket]int64{}
	addBuckets(t, dir, merged)
	all, err := streams.Whole(agents)
	if err != nil {
		t.Fatal(err)
	}
	for _, iv := range all {
		addInterval(iv, whole)
	}
	if diff := cmp.Diff(whole, merged); diff != "" || len(whole) == 0 {
		t.Errorf("the record differs from that of one process (-one +record):\n%s", diff)
	}
}
