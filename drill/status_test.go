package drill

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plimsoll-bench/plimsoll/load"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
	"github.com/plimsoll-bench/plimsoll/store"
)

// What a drill is at can be read by others while it goes on, and is gone with it.
func TestStatus(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "drill")
	asked := spec.Drill{Run: spec.Run{Target: "mongodb://user:secret@db1/"}}
	w, err := record.CreateDrill(dir, asked)
	if err != nil {
		t.Fatal(err)
	}
	s := newStatusWriter(silent{}, w, time.Now, 3)
	s.round(2, time.Minute)
	s.loadBegan()
	s.enter(record.StageBroken)
	s.note("fault", "kill:primary of mongodb://user:secret@db1/ is broken")
	s.enter(record.StageHealing)
	s.healed(1)
	s.enter(record.StageHealing)
	s.healed(0)
	d := measure.Dims{Classes: []measure.Class{{Name: "insert"}, {Name: "find-by-city"}, {Name: "rmw-update", Part: true}}}
	counts := make([]int64, len(store.Outcomes()))
	counts[store.OK], counts[store.NotApplied], counts[store.Rejected] = 100, 3, 4
	counts[store.Indeterminate], counts[store.Unacknowledged] = 5, 6
	classes := []measure.ClassInterval{{Counts: counts}, {Counts: counts}, {Counts: counts}}
	s.Interval(d, &measure.Interval{Phase: load.PhaseLoad, Classes: classes})
	s.Interval(d, &measure.Interval{Phase: load.PhaseMeasure, Classes: classes})
	s.loadEnded()
	s.healed(0)

	got, err := record.ReadStatus(dir)
	if err != nil {
		t.Fatal(err)
	}
	var stages []string
	for _, stage := range got.Stages {
		stages = append(stages, stage.Stage)
	}
	want := []string{record.StagePrepare, record.StageLoad, record.StageBroken, record.StageHealing, record.StageBroken,
		record.StageHealing, record.StageHealed}
	if diff := cmp.Diff(want, stages); diff != "" || got.Round != 2 || got.Rounds != 3 {
		t.Errorf("round %d of %d, stages (want -, got +):\n%s", got.Round, got.Rounds, diff)
	}
	if diff := cmp.Diff(record.DrillWrites{Acknowledged: 100, NotApplied: 7, Indeterminate: 11}, got.Writes); diff != "" {
		t.Errorf("told (want -, got +):\n%s", diff)
	}
	if len(got.Notes) != 1 || got.Notes[0].Kind != "fault" || got.Notes[0].Text != "kill:primary of mongodb://user:***@db1/ is broken" {
		t.Errorf("notes %+v", got.Notes)
	}
	w.Ended()
	if got, err := record.ReadStatus(dir); got != nil || err != nil {
		t.Errorf("a drill that has ended stands at %+v (%v)", got, err)
	}
}
