package report

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// samplePlan is the plan of a study in batches, with a canary, a procedure, data and a note.
func samplePlan() *record.PlannedStudy {
	return &record.PlannedStudy{
		Spec: spec.Study{Name: "threads", Trials: 2, Order: spec.OrderBatched, Lab: &spec.Lab{Engine: spec.Engine{Name: "mongod"}},
			Procedures: &spec.Procedures{Threads: &spec.Threads{}, Capacity: &spec.CapacitySearch{}}},
		Configurations: []record.Configuration{{ID: "baseline"}, {ID: "workers=8", Exploratory: true,
			Set: map[string]any{"load.workers": 8, "durability.name": nil}}},
		Trials: []record.Trial{{Number: 1, Configuration: "baseline"}, {Number: 2, Block: 1, Configuration: "workers=8"}},
		Order:  []string{"one after the other"}, Notes: []string{"2 trials are few"},
		Estimate: record.Estimate{Seconds: 4000, Measuring: 3900, Loading: 100, Trials: 3, Starts: []float64{0, 61.4},
			DataBytes: 1 << 30,
			DataSets: []record.DataSet{{Target: "lab:x", Database: "d", Records: 1000, DocumentBytes: 1 << 20, Bytes: 1 << 30,
				Loads: 2}},
			RecordBytes: 1 << 20, Verdicts: 3, Power: []record.Power{{CV: 0.01, Effect: num(0.02)}}, Assumptions: []string{"it is quick"}},
		Command: "plimsoll study run x.yaml",
	}
}

func sampleSuitePlan() *record.PlannedSuite {
	part := func(name, kind string, status record.PartStatus, trials int, needs ...string) record.PlannedPart {
		return record.PlannedPart{Part: record.Part{Name: name, Kind: kind, Status: status, Estimate: 90,
			Shows: []string{"figure 1"}, Level: "8"}, Trials: trials, Needs: needs}
	}
	return &record.PlannedSuite{Specification: spec.Suite{Name: "folder", Title: "two studies"}, Limit: spec.Duration(10 * time.Minute),
		Against: "mongodb://h/", Engines: []string{"mongod"}, Seconds: 200,
		Parts: []record.PlannedPart{part("base", "study", record.PartPlanned, 4), part("kill", "drill", record.PartLeft, 0, "root", "loops")},
		Left: []spec.Left{{Part: "base", What: "trials", From: "6", To: "2", Why: "to be done in 10m"},
			{Part: "kill", What: spec.LeftPart, Why: "mkfs.xfs is not installed"}, {Part: "cut", What: spec.LeftPart, Why: "mkfs.xfs is not installed"},
			{What: "the canary", Why: "to be done in 10m"}},
		Install: "apt-get install xfsprogs", Command: "plimsoll suite run folder --quick"}
}

// The time of a suite is that of its sessions, and who has time left is told how to use it.
func TestProgressOfASuite(t *testing.T) {
	s := &record.Suite{Head: record.Head{Kind: record.KindSuite, Status: record.Interrupted, Started: time.Unix(0, 0)},
		Specification: spec.Suite{Name: "folder"}, Limit: spec.Duration(time.Minute), Parts: []record.Part{
			{Name: "a", Kind: "study", Status: record.PartDone, Seconds: 20, Record: "parts/a"},
			{Name: "b", Kind: "drill", Status: record.PartFailed, Exit: 3, Problem: "no\nroute"},
			{Name: "c", Kind: "study", Status: record.PartPlanned, Estimate: 75}}}
	var b bytes.Buffer
	if err := Write(&b, &Progress{Record: s, Dir: "dir"}, "md"); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"## suite folder: interrupted, started 1970", "- done: 1 of 3 parts done, 1 failed\n", "- left: about 1m15s\n",
		"| a | study | done | 20.0 s | 0 | parts/a |", "| b | drill | failed | - | 3 | no route |", "\ncontinue with:\n\n    plimsoll suite resume dir\n"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the status lacks %q:\n%s", want, b.String())
		}
	}
}

// A suite of which no part can run here has no time, and no command that would fail.
func TestPlanOfASuiteThatCannotRun(t *testing.T) {
	p := &record.PlannedSuite{Command: "plimsoll suite run folder", Limit: spec.Duration(time.Minute)}
	for seconds, want := range map[float64]string{0: "no part can run here", 90: "at least 1m30s, to be scaled to 1m"} {
		p.Seconds = seconds
		d := Of(p)
		if d.Facts[0] != (Fact{"time", want}) || (len(d.Sections) > 0) != (seconds > 0) {
			t.Errorf("%v s: %+v, %d sections", seconds, d.Facts, len(d.Sections))
		}
	}
}
