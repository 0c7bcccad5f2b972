package drill

import (
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/plimsoll-bench/plimsoll/drill/ledger"
	"github.com/plimsoll-bench/plimsoll/lab/engine/enginetest"
	"github.com/plimsoll-bench/plimsoll/record"
)

// The load goes on until a planned event has ended, however late that is, and until reads and writes succeed again.
func TestLoadGoesOnUntilTheEventHasEnded(t *testing.T) {
	set := enginetest.StartSet(t, enginetest.StandinMongo(t, "8.0.12"), 1)
	builds := func(c bson.Raw) bool {
		name, collection := commandOf(c)
		return name == "createIndexes" && collection == ledger.DefaultCollection
	}
	const length = 5 * time.Second
	start := func(t *testing.T) *hanging {
		h := newHanging(t, set.Addresses[0], hangCase{fault: `{fault: index-build, at: 3s}`, length: length})
		h.lab.proxy.hangs(builds)
		return h
	}
	t.Run("ends", func(t *testing.T) {
		t.Parallel()
		h := start(t)
		h.said = func(text string) {
			if strings.HasPrefix(text, "the load continues until") {
				h.lab.proxy.releases()
			}
		}
		d, notes := h.drill(t, t.Context(), time.Minute)
		r := d.Rounds[0]
		if !strings.Contains(notes, "the load continues until") || d.Verdict != record.Holds || r.Status != record.Complete {
			t.Fatalf("the drill is %s, %q, %q\n%s", d.Verdict, d.Reasons, r.Problem, notes)
		}
		f := r.Faults[0]
		// A busy machine begins its measured time later, so the end of the event is compared with the planned one.
		if f.Event == nil || f.Event.Outcome != record.EventCompleted || f.Done < int64(length) ||
			r.WindowEnd < f.Done+int64(spanMost) {
			t.Errorf("the event %+v ended at %v, the load at %v", f.Event, time.Duration(f.Done), time.Duration(r.WindowEnd))
		}
		if (r.WindowEnd-r.WindowStart)%int64(time.Second) != 0 {
			t.Errorf("the load ended within an interval: after %v", time.Duration(r.WindowEnd-r.WindowStart))
		}
	})
	t.Run("never", func(t *testing.T) {
		t.Parallel()
		d, _ := start(t).drill(t, t.Context(), 2*time.Second)
		r := d.Rounds[0]
		if d.Verdict != record.Unknown || !strings.Contains(strings.Join(d.Reasons, "\n"), "index-build") ||
			r.WindowEnd-r.WindowStart != int64(length+2*time.Second) {
			t.Errorf("the drill is %s, %q, and the load took %v", d.Verdict, d.Reasons, time.Duration(r.WindowEnd-r.WindowStart))
		}
	})
}

// The load of a drill of a fault ends when its measured time is over, because the fault is reverted then.
func TestLoadOfAFaultDoesNotGoOn(t *testing.T) {
	set := enginetest.StartSet(t, enginetest.StandinMongo(t, "8.0.12"), 1)
	h := newHanging(t, set.Addresses[0], hangCase{fault: `{fault: "kill:rs0-1", at: 1s, for: 100ms}`, length: 2 * time.Second})
	d, _ := h.drill(t, t.Context(), time.Minute)
	if r := d.Rounds[0]; r.WindowEnd-r.WindowStart != int64(2*time.Second) {
		t.Errorf("the load took %v", time.Duration(r.WindowEnd-r.WindowStart))
	}
}
