package drill

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll-bench/plimsoll/lab/engine/enginetest"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// Each round strikes later by its own delay, which is in the record, and its load is longer by as much.
func TestRoundsStrikeAfterTheirDelays(t *testing.T) {
	t.Parallel()
	set := enginetest.StartSet(t, enginetest.StandinMongo(t, "8.0.12"), 1)
	h := newHanging(t, set.Addresses[0], hangCase{})
	asked, err := spec.ReadDrill(strings.NewReader(`
run: {target: "lab:h", load: {rate: 400, workers: 4, duration: 600ms}, database: rounds, workload: {name: ledger, seed: 42}}
faults: [{fault: "kill:rs0-1", at: 100ms, for: 100ms}]
repeat: 2
jitter: 1s`))
	if err == nil {
		err = asked.Complete()
	}
	if err != nil {
		t.Fatal(err)
	}
	var notes []string
	dir := filepath.Join(t.TempDir(), "record")
	d, err := Run(t.Context(), asked, Options{Dir: dir,
		Open:     func(context.Context, string) (Lab, error) { return h.lab, nil },
		Progress: begins{hang: func() {}, note: func(text string) { notes = append(notes, text) }}})
	if err != nil || len(d.Rounds) != 2 {
		t.Fatalf("the drill is %+v: %v", d, err)
	}
	for i, delay := range asked.Delays() {
		r := &d.Rounds[i]
		at := time.Duration(r.Faults[0].Injected - r.WindowStart)
		if r.Delay != int64(delay) || at < 100*time.Millisecond+delay {
			t.Errorf("round %d, %v later: it struck after %v, and its record has a delay of %v", i+1, delay, at, time.Duration(r.Delay))
		}
		load, err := record.OpenRun(filepath.Join(dir, filepath.FromSlash(r.Record)))
		if err != nil {
			t.Fatal(err)
		}
		if got := load.Specification.Load.Duration.Std(); got != 600*time.Millisecond+delay {
			t.Errorf("round %d, %v later: its load was to last %v", i+1, delay, got)
		}
		if note := fmt.Sprintf("round %d of 2, with its faults ", i+1); !strings.Contains(strings.Join(notes, "\n"), note) {
			t.Errorf("the progress lacks %q: %q", note, notes)
		}
	}
	if got := d.Specification.Run.Load.Duration.Std(); got != 600*time.Millisecond {
		t.Errorf("the record of the drill has the load of a round: %v", got)
	}
}
