package capacity

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll-bench/plimsoll/capacity/sizetest"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// madeCapacity writes a capacity of a set of three with a line of 3,000 operations per second, of 2,000 while a
// secondary is down, and the runs of two steps.
func madeCapacity(t *testing.T, change func(*record.Capacity)) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "capacity")
	asked := spec.Capacity{Run: spec.Run{Target: "mongodb://db1/", Workload: spec.Workload{Name: "b"}}}
	line := func(name string, rate float64) record.LoadLine {
		low, high := rate*0.95, rate*1.05
		return record.LoadLine{Name: name, Counts: true, Status: record.LineFound, Rate: rate, Low: &low, High: &high,
			Confidence: 0.95, Trials: 5}
	}
	c := &record.Capacity{Head: record.Head{SchemaVersion: record.SchemaVersion, Kind: record.KindCapacity,
		Status: record.Complete, Started: time.Now(), Validity: []measure.Finding{}}, Specification: &asked,
		Objectives: []string{"p99<20ms"}, Lines: []record.LoadLine{line(spec.AllMembersUp, 3000), line("kill:secondary", 2000)}}
	c.Lines[0].Steps = []record.LineStep{
		{Number: 1, Phase: "narrow", Offered: 1900, Verdict: record.StepMet, Record: "steps/1"},
		{Number: 2, Phase: "confirm", Offered: 2950, Verdict: record.StepMet, Record: "steps/2"},
		{Number: 3, Phase: "confirm", Offered: 3100, Verdict: record.StepMissed, Record: "steps/3"}}
	c.FindSafe()
	if change != nil {
		change(c)
	}
	w, err := record.Create[*record.Capacity](dir, asked)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	target := record.Target{Address: "mongodb://db1/", Kind: "mongod", Topology: "replica set", Hosts: []string{"a", "b", "c"}}
	for name, rate := range map[string]float64{"1": 1900, "2": 2950} {
		err := sizetest.WriteRun(filepath.Join(dir, record.StepsDir, name), sizetest.Run{Rate: rate, Target: target})
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Write(c); err != nil {
		t.Fatal(err)
	}
	return dir
}

// A size takes the line with a member down where a node may fail, and that of all members up where none may.
func TestSizeTakesTheLine(t *testing.T) {
	dir := madeCapacity(t, nil)
	for asked, want := range map[string]struct {
		rate   float64
		record string
		nodes  int
	}{
		"ops=3800,p99<20ms":            {2000, "steps/1", 6},
		"ops=3800,p99<20ms,failures=0": {3000, "steps/2", 6},
		"ops=2500,p99<20ms,failures=0": {3000, "steps/2", 3},
		"ops=2500,p99<20ms":            {2000, "steps/1", 6},
	} {
		s := size(t, Input{Records: []string{dir}, Need: need(t, asked)})
		if s.Verdict != record.SizeAnswered || len(s.Workloads) != 1 {
			t.Fatalf("%s: %s", asked, text(s))
		}
		w := s.Workloads[0]
		if w.Rate != want.rate || w.Source != "capacity" || len(w.Records) != 1 ||
			!strings.HasSuffix(filepath.ToSlash(w.Records[0]), want.record) || *w.Low != 0.95*want.rate ||
			s.Answer.Nodes != want.nodes {
			t.Errorf("%s: %+v, %+v", asked, w, s.Answer)
		}
		if failures := !strings.Contains(asked, "failures=0"); strings.Contains(text(s), "line while kill:secondary") != failures {
			t.Errorf("%s: %s", asked, text(s))
		}
	}
	s := size(t, Input{Records: []string{filepath.Dir(dir)}, Need: need(t, "ops=2500,p99<1ms")})
	if s.Verdict == record.SizeAnswered {
		t.Errorf("an objective that the step missed is answered: %s", text(s))
	}
	for asked, answered := range map[string]bool{"ops=1500,p99<12ms": false, "ops=1500,p99<30ms": true, "ops=1500,p99.9<20ms": false,
		"ops=1500,p99<12ms,failures=0": true} {
		s := size(t, Input{Records: []string{dir}, Need: need(t, asked)})
		if (s.Verdict == record.SizeAnswered) != answered {
			t.Errorf("%s, where the search had p99<20ms and the step is one of all members up: %s", asked, text(s))
		}
	}
	alone := madeCapacity(t, func(c *record.Capacity) { c.Lines = c.Lines[:1] })
	if s := size(t, Input{Records: []string{alone}, Need: need(t, "ops=2500,p99<20ms")}); !strings.Contains(text(s), "no line for that") {
		t.Errorf("without a line for a failure: %s", text(s))
	}
	down := madeCapacity(t, func(c *record.Capacity) {
		c.Lines[1].Status, c.Lines[1].Rate, c.Lines[1].Reason = record.LineNone, 0, "writes were lost"
	})
	const doubt = "no rate is known that holds while kill:secondary (writes were lost)"
	for dir, doubted := range map[string]bool{down: true, dir: false} {
		s := size(t, Input{Records: []string{dir}, Need: need(t, "ops=2500,p99<20ms")})
		if strings.Contains(text(s), doubt) != doubted {
			t.Errorf("a line without a rate (%v): %s", doubted, text(s))
		}
	}
	none := madeCapacity(t, func(c *record.Capacity) {
		for i := range c.Lines {
			c.Lines[i].Status, c.Lines[i].Rate = record.LineNone, 0
		}
	})
	if s := size(t, Input{Records: []string{none}, Need: need(t, "ops=2500,p99<20ms")}); s.Verdict != record.SizeUnknown {
		t.Errorf("without a line: %s", text(s))
	}
}

// A main file that was copied alone gives no size, and the error names what is missing.
func TestSizeOfAMainFileAlone(t *testing.T) {
	dir := madeCapacity(t, nil)
	if err := os.RemoveAll(filepath.Join(dir, record.StepsDir)); err != nil {
		t.Fatal(err)
	}
	_, err := Size(Input{Records: []string{dir}, Need: need(t, "ops=2500,p99<20ms")})
	if err == nil || !strings.Contains(err.Error(), "lacks steps/2 (file does not exist). Copy the whole directory") {
		t.Errorf("%v", err)
	}
}
