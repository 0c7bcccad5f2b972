package nats

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plimsoll-bench/plimsoll/fleet"
	"github.com/plimsoll-bench/plimsoll/fleet/fleettest"
	runs "github.com/plimsoll-bench/plimsoll/run"
)

// lateWire is the agent's side of a wire that delivers the start some time after it.
type lateWire struct {
	fleet.Wire
	by time.Duration
}

func (l lateWire) Receive() ([]byte, error) {
	frame, err := l.Wire.Receive()
	var command struct{ Start int64 }
	if err == nil && json.Unmarshal(frame, &command) == nil && command.Start != 0 {
		time.Sleep(time.Until(time.Unix(0, command.Start).Add(l.by)))
	}
	return frame, err
}

// Many agents that only play leave the record of one process with the same operations, second by second and bucket by
// bucket. One of them begins late: it has its operations in later seconds. A thousand are in bench.
func TestManyPlayers(t *testing.T) {
	t.Parallel()
	const agents, late = 100, 7
	streams := fleettest.Streams{Seconds: 8, Rate: 80} // on a busy machine they begin some seconds apart
	player, err := streams.Player()
	if err != nil {
		t.Fatal(err)
	}
	c := open(t, Options{})
	agent := fleet.Agent{Dir: t.TempDir(), Run: player}
	for i := range agents {
		part := agent.Serve
		if i == late {
			part = func(ctx context.Context, w fleet.Wire) error {
				return agent.Serve(ctx, lateWire{w, 1200 * time.Millisecond})
			}
		}
		start(t, AgentOptions{Server: c.serverOf(), Facts: fleet.Facts{Name: fmt.Sprintf("agent-%03d", i)}}, part)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	dir := filepath.Join(t.TempDir(), "record")
	r, err := fleet.Execute(ctx, streams.Spec(agents), runs.Options{Dir: dir}, fleet.Options{Places: c.places()})
	if err != nil {
		t.Fatal(err)
	}
	if skew := time.Duration(r.Clients[late].StartSkew); skew < time.Second {
		t.Errorf("the late client began %v after the start", skew)
	}
	whole, merged, err := streams.Compare(dir)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(whole, merged); diff != "" || len(whole) == 0 {
		t.Errorf("the record differs from that of one process (-one +record):\n%s", diff)
	}
}
