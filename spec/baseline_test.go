package spec

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The procedure baseline is threads and then steady, with their keys below it and defaults for what is absent.
func TestBaselineIsThreadsAndSteady(t *testing.T) {
	for text, want := range map[string]Procedures{
		"{}": {Threads: &Threads{}, Steady: &Steady{}},
		"{threads: {levels: [1, 8]}, steady: {by: operations}}": {Threads: &Threads{Levels: []Count{1, 8}}, Steady: &Steady{By: "operations"}},
		"{steady: {cycle: 10s}}":                                {Threads: &Threads{}, Steady: &Steady{Cycle: 10e9}},
	} {
		spec, err := ReadStudy(strings.NewReader("run: {target: 'null:'}\nprocedures: {baseline: " + text + ", capacity: {from: 9}}\nobjectives: [p99<1s]\n"))
		if err != nil {
			t.Fatal(err)
		}
		as := spec.Procedures.Baseline
		before := *as
		spec.Defaults()
		want.Capacity = &CapacitySearch{From: 9}
		want.defaults()
		if d := cmp.Diff(want, *spec.Procedures); d != "" {
			t.Errorf("%s (want -, got +):\n%s", text, d)
		}
		if d := cmp.Diff(before, *as); d != "" {
			t.Errorf("%s: what was given was changed:\n%s", text, d)
		}
		if err := spec.Validate(); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
	both := Study{Procedures: &Procedures{Baseline: &Baseline{}, Steady: &Steady{}}}
	both.Defaults()
	if err := both.Validate(); err == nil || !strings.Contains(err.Error(), "Put their keys below baseline") {
		t.Errorf("baseline beside steady: %v", err)
	}
}
