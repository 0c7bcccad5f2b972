package study

import (
	"strings"
	"testing"
)

// A deadline that a trial would miss in any case is refused, with the trial.
func TestDeadlinesThatAreTooShort(t *testing.T) {
	mistake(t, `
run: {target: "null:", load: {warmup: 5s, duration: 10s}}
deadline: 15s
trials: 2
factors: [{path: load.workers, levels: [1, 2]}]`, "deadline: 15s is too short for trial 1,", "takes at least 15s")
	mistake(t, `
run: {target: "null:", load: {duration: 1s}}
deadline: 30s
trials: 2
factors: [{path: load.duration, levels: [1s, 40s]}]`, "configuration duration=40s, which takes at least 40s")
	mistake(t, `
run: {target: "null:", load: {duration: 1s}}
deadline: 30s
procedures: {threads: {levels: [1, 2], duration: 1m}}`, "a trial of procedures.threads, which takes at least 1m")
	mistake(t, `
run: {target: "null:", load: {rate: 100, operations: 1000}}
deadline: 5s
trials: 2`, "takes at least 10s")
	for _, fits := range []string{"deadline: 16s", "run: {load: {operations: 100, duration: 1h}}\ndeadline: 16s"} {
		text := fits
		if !strings.HasPrefix(fits, "run") {
			text = "run: {target: \"null:\", load: {warmup: 5s, duration: 10s}}\n" + fits
		}
		plan(t, text+"\ntrials: 2\nfactors: [{path: load.workers, levels: [1, 2]}]")
	}
}

// Procedures that cannot come to a result are refused, with what would do.
func TestProceduresThatCannotSucceed(t *testing.T) {
	mistake(t, `
run: {target: "null:"}
procedures: {steady: {from: 5, to: 20, cycle: 60s}}`, "procedures.steady: up to 20s", "4 cycles of 1m", "Increase to: 480 (8m)")
	mistake(t, `
run: {target: "null:"}
procedures: {steady: {from: 240, to: 240, cycle: 60s}}`, "Increase to: 480")
	plan(t, `
run: {target: "null:"}
procedures: {steady: {from: 5, to: 480, cycle: 60s}}`)
	plan(t, `
run: {target: "null:"}
procedures: {steady: {from: 4, to: 16, cycle: 1s}}`)
	mistake(t, `
run: {target: "null:"}
objectives: [p99<1s, errors<1%]
procedures: {capacity: {from: 100, to: 400, duration: 500ms}}`, "procedures.capacity: p99<1s needs 368 operations", "at 400/s has about 200", "Set duration to 2s")
	p := plan(t, `
run: {target: "null:"}
objectives: [p99<1s]
procedures: {capacity: {from: 100, duration: 500ms}}`)
	if text := strings.Join(p.Notes, "\n"); !strings.Contains(text, "cannot confirm a load line below 736/s. A duration of 5s can") {
		t.Errorf("notes %q", text)
	}
}

// What is advised is accepted.
func TestAdviceOnProceduresHolds(t *testing.T) {
	for _, text := range []string{
		"procedures: {steady: {from: 5, to: 480, cycle: 60s}}",
		"procedures: {steady: {from: 240, to: 480, cycle: 60s}}",
		"objectives: [p99<1s]\nprocedures: {capacity: {from: 100, to: 400, duration: 2s}}",
	} {
		plan(t, "run: {target: \"null:\"}\n"+text)
	}
}

// The objectives of a study are those of its trials, as far as these have the operations.
func TestObjectivesOfTheStudyAreThoseOfItsTrials(t *testing.T) {
	p := plan(t, `
run: {target: "null:", objectives: [p95<2s]}
objectives: ["p97<1s, read.p99<1s", "find-by-tag.p99<1s", p95<2s]
trials: 2
factors: [{path: workload.name, levels: [a, catalog]}]`)
	for id, want := range map[string]string{
		"baseline": "p95<2s p97<1s read.p99<1s",
		"catalog":  "p95<2s p97<1s read.p99<1s find-by-tag.p99<1s",
	} {
		if id != "baseline" {
			id = p.Configurations[1].ID
		}
		if got := strings.Join(p.specs[id].Objectives, " "); got != want {
			t.Errorf("%s has the objectives %q, want %q", id, got, want)
		}
	}
}

// A level that is nothing would silently be the default.
func TestLevelsThatAreNothing(t *testing.T) {
	mistake(t, "factors: [{path: load.workers, levels: [0, 4]}]", `factor "workers", level "0": load.workers: 0 means the default, which is 16 here`)
	mistake(t, "factors: [{path: workload.records, levels: [100, 0]}]", "workload.records: 0 means the default, which is 100k here")
	mistake(t, "factors: [{path: load.duration, levels: [0s, 1s]}]", "load.duration: 0s means the default, which is 1m here")
	mistake(t, "factors: [{name: both, levels: [{name: x, set: {load.workers: 0}}, {name: y, set: {load.workers: 2}}]}]", "load.workers: 0 means")
	plan(t, "run: {target: 'null:', load: {operations: 100}}\nfactors: [{path: load.duration, levels: [0s, 1s]}]")
	plan(t, "run: {target: 'null:'}\nfactors: [{path: load.warmup, levels: [0s, 1s]}]")
	plan(t, "run: {target: 'null:'}\nfactors: [{name: end, levels: [{name: time, set: {load.operations: null, load.duration: 1s}}, {name: count, set: {load.operations: 10, load.duration: 0s}}]}]")
}
