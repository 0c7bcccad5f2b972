package main

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/plimsoll-bench/plimsoll/drill"
	"github.com/plimsoll-bench/plimsoll/fault"
	"github.com/plimsoll-bench/plimsoll/lab"
	"github.com/plimsoll-bench/plimsoll/lab/engine/enginetest"
	"github.com/plimsoll-bench/plimsoll/loadline"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/report/recordtest"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// A check knows by its keys which command runs a specification.
func TestCommandOfASpecification(t *testing.T) {
	run := map[string]any{"target": "null:"}
	for want, keys := range map[string]map[string]any{
		"run -f":      run,
		"study run":   {"run": run, "objectives": []any{"p99<5ms"}, "trials": 3},
		"capacity -f": {"run": run, "objectives": []any{"p99<5ms"}, "within": "5m"},
	} {
		if got := strings.Join(commandOf(keys), " "); got != want {
			t.Errorf("%v: %s, want %s", keys, got, want)
		}
	}
}

// A check runs a file of a capacity, and compares its line, whatever a busy machine makes of it.
func TestCIOfACapacityFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "capacity.yaml")
	write(t, file, `
run: {target: "null:", workload: {name: c, records: 1k}}
objectives: ["p90<1s"]
search: {from: 300, to: 350, duration: 1s}
within: 20s
`)
	_, output := plimsoll(t, "ci", file, "--store", filepath.Join(dir, "store"), "--dir", filepath.Join(dir, "ci"))
	records, _ := filepath.Glob(filepath.Join(dir, "ci", "*", record.CapacityFile))
	if len(records) != 1 || !strings.Contains(output, "main against main") {
		t.Fatalf("%q: %s", records, output)
	}
	c, err := record.OpenCapacity(filepath.Dir(records[0]))
	if err != nil || c.Specification.Search.To != 350 || len(c.Lines) != 1 || len(c.Lines[0].Steps) == 0 {
		t.Errorf("%v, %+v", err, c)
	}
}

// A line that holds at all rates counts as at least that.
func TestCIOfALineThatHoldsAtAllRates(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	code, output := gated(t, dir, recordtest.Capacity{}, func(c *record.Capacity) {
		l := &c.Lines[0]
		l.Status, l.High = record.LineAtLeast, nil
	})
	if code != exitSuccess || !strings.Contains(output, "a line is only known to be at least so high") {
		t.Errorf("exit code %d: %s", code, output)
	}
	code, output = gated(t, t.TempDir(), recordtest.Capacity{}, func(*record.Capacity) {})
	if strings.Contains(output, "at least so high") {
		t.Errorf("a line with two ends, exit code %d: %s", code, output)
	}
}

// gated checks a changed record of a capacity against those in the store below dir, and stores it there.
func gated(t *testing.T, dir string, made recordtest.Capacity, change func(*record.Capacity)) (int, string) {
	t.Helper()
	at := filepath.Join(t.TempDir(), "line")
	c := made.Record()
	change(c)
	c.FindSafe()
	w, err := record.Create[*record.Capacity](at, *c.Specification)
	if err == nil {
		err = w.Write(c)
	}
	if err != nil {
		t.Fatal(err)
	}
	w.Close()
	return plimsoll(t, "ci", "--record", at, "--store", filepath.Join(dir, "store"), "--dir", filepath.Join(dir, "ci"))
}

// A line at which no rate holds any more is worse than those before it, also beside one that did not change.
func TestCIOfLines(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	check := func(change func(*record.Capacity)) (int, string) {
		return gated(t, dir, recordtest.Capacity{Events: []string{"kill:secondary"}}, change)
	}
	for i := range 4 {
		code, output := check(func(c *record.Capacity) { c.Lines[0].Rate += float64(i % 2) })
		if code != exitSuccess {
			t.Fatalf("record %d: exit code %d, %s", i, code, output)
		}
	}
	if code, output := check(func(c *record.Capacity) {
		l := &c.Lines[1]
		l.Status, l.Rate, l.Low, l.High, l.Limit = record.LineNone, 0, nil, nil, record.LimitWrites
	}); code != exitObjective || !strings.Contains(output, "kill:secondary.line") || !strings.Contains(output, "worse") {
		t.Errorf("a line at no rate: exit code %d, %s", code, output)
	}
	if code, output := check(func(c *record.Capacity) { c.Lines[0].Rate /= 2 }); code != exitObjective {
		t.Errorf("half of the line: exit code %d, %s", code, output)
	}
}

// The present load of the target and its line are in one answer.
func TestMongoCapacityWithPresentLoad(t *testing.T) {
	t.Parallel()
	binary, ok := enginetest.RealMongo(t)
	if !ok {
		return
	}
	uri, dir := startServer(t, binary, t.TempDir()), filepath.Join(t.TempDir(), "line")
	code, output := plimsoll(t, "capacity", uri, "--now", "--now-for", "10s", "--records", "1000", "--slo", "p90<2s", "--from", "200",
		"--to", "250", "--step", "6s", "--within", "3m", "--out", dir, "--verbose")
	c, err := record.OpenCapacity(dir)
	if err != nil || code != exitSuccess || c.Safe != spec.AllMembersUp || c.Now == nil || c.Now.Line != c.Safe ||
		c.Now.Share == nil {
		t.Fatalf("exit code %d, %v, %+v: %s", code, err, c, output)
	}
	for _, want := range []string{"250", "there is no load"} {
		if !strings.Contains(output, want) {
			t.Errorf("the output does not have %q: %s", want, output)
		}
	}
	// The second answer is one of the record, beside the first.
	code, output = plimsoll(t, "capacity", dir, "--now", uri, "--now-for", "10s", "--format", "md")
	if code != exitSuccess || !slices.Contains(strings.Fields(output), "250") {
		t.Errorf("exit code %d: %s", code, output)
	}
}

// Which events a line can be searched with, and the words with which the others are refused before anything is
// measured.
func TestEventsOfALine(t *testing.T) {
	three := spec.Topology{Kind: spec.LabReplicaSet, Members: 3}
	labs := map[string]spec.Lab{"lab:plain": {Topology: three}, "lab:virtual": {Topology: three,
		Hosts: spec.Hosts{Mode: spec.LabIsolated}, Storage: spec.Storage{Size: 1 << 30, Tolerate: 1, Faults: true}}}
	const commands = "needs the commands that inject"
	for _, x := range []struct{ event, plain, virtual, mongodb string }{ // the words of a refusal, "" for none
		{"kill:primary", "", "", commands},
		{"kill:secondary", "", "", commands},
		{"initial-sync:secondary", "", "", commands},
		{"rolling-restart", "", "", commands},
		{"index-build", "", "", ""},
		{"compaction:secondary", "", "", ""},
		{"compaction", "compaction needs a target", "compaction needs a target", "compaction needs a target"},
		{"backup:secondary", "", "", commands},
		{"step-down", "", "", ""},
		{"cut:secondary", "isolated hosts", "", commands},
		{"disk-slow:secondary", "--faults", "", commands},
		{"rebuild:secondary/d1", "", "", commands},
		{"meteor:primary", `no action "meteor"`, `no action "meteor"`, `no action "meteor"`},
	} {
		for target, words := range map[string]string{"lab:plain": x.plain, "lab:virtual": x.virtual, "mongodb://db1/": x.mongodb} {
			c := spec.Capacity{Run: spec.Run{Target: target}, While: []spec.Action{spec.ParseAction(x.event)}, YesBreakIt: true}
			err := c.Complete()
			var d spec.Drill
			if err == nil {
				d, err = loadline.DrillOf(c, c.Run, c.While[0])
			}
			if err == nil {
				err = drill.Check(d)
			}
			if l, ok := labs[target]; err == nil && ok {
				l.Defaults()
				err = lab.CheckNeeds(record.Lab{Engine: l.Engine.Name, Specification: l}, fault.Find(d.Faults[0].Action.Name))
			}
			if (err == nil) != (words == "") || err != nil && !strings.Contains(err.Error(), words) {
				t.Errorf("%s on %s: %v, want %q", x.event, target, err, words)
			}
		}
	}
	code, output := plimsoll(t, "capacity", "lab:three", "--while", "meteor:primary")
	if code == exitSuccess || strings.Contains(output, "all members up") {
		t.Errorf("exit code %d: %s", code, output)
	}
	code, output = plimsoll(t, "capacity", "null:", "--yes-break-it", "--while", "meteor:primary")
	if code != exitUsage || !strings.Contains(output, `while meteor:primary: fault: "meteor:primary": there is no action "meteor"`) {
		t.Errorf("exit code %d: %s", code, output)
	}
}
