package report

import (
	"slices"
	"strings"
	"testing"

	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
)

func tableOf(t *testing.T, sections []Section, title string) *Table {
	t.Helper()
	for i := range sections {
		if sections[i].Title == title {
			return sections[i].Table
		}
	}
	t.Fatalf("no table %q", title)
	return nil
}

// A level that is the same run as one of another factor is not run again, but has its row in each table.
func TestSameRunsAreInEveryTable(t *testing.T) {
	s := sampleStudy()
	s.Specification.Factors = append(s.Specification.Factors, spec.Factor{Path: "load", Name: "pressure",
		Levels: []spec.Level{{Name: "normal"}, {Name: "high"}, {Name: "low,slow"}, {Name: "as ever"}}})
	for i := range s.Configurations {
		s.Configurations[i].Levels["pressure"] = "normal"
	}
	s.Configurations[0].Same = []string{"pressure=as ever"}
	s.Configurations[1].Same = []string{"pressure=high"}
	s.Configurations[2].Same = []string{"pressure=low,slow", "pressure=unknown,workers=9"}
	table := tableOf(t, Of(s).Sections, "pressure")
	var names []string
	for _, row := range table.Rows {
		names = append(names, row[0])
	}
	want := []string{"normal (baseline)", "high (the same run as workers=32)", "low,slow (the same run as workers=8)", "as ever (the same run as baseline)"}
	if !slices.Equal(names, want) {
		t.Errorf("rows %q, want %q", names, want)
	}
	other := tableOf(t, Of(s).Sections, "workers")
	if got, have := table.Rows[1][1:], other.Rows[2][1:]; !slices.Equal(got, have) {
		t.Errorf("got %q, where it was run %q", got, have)
	}
	if n := len(other.Rows); n != 3 {
		t.Errorf("%d rows of workers", n)
	}
}

// An objective is held, missed, or nobody can tell.
func TestObjectivesHaveThreeStates(t *testing.T) {
	s := sampleStudy()
	s.Objectives = []record.ConfigurationObjective{{Configuration: "a", Objective: "p99<1s", N: 3, Met: 2, Unknown: 1},
		{Configuration: "b", Objective: "p99<1s", N: 3, Met: 1, Unknown: 1}, {Configuration: "c", Objective: "p99<1s"},
		{Configuration: "d", Objective: "p99<1s", N: 3, Met: 3, Holds: true}}
	points := Of(s).Objectives
	for i, want := range []string{"! unknown p99<1s at a: met by 2 of 3 trials, 1 undecided", "✗ missed p99<1s at b: met by 1 of 3 trials, 1 undecided",
		"! unknown p99<1s at c: met by 0 of 0 trials", "✓ holds p99<1s at d: met by 3 of 3 trials"} {
		if got := points[i].String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	s.Objectives = s.Objectives[:1]
	if d := Of(s); !strings.Contains(d.Answer, "unknown") || d.Grade == Bad {
		t.Errorf("%q, %s", d.Answer, d.Grade)
	}
}

// A study of procedures alone has no configurations, objectives or trials to count.
func TestProceduresAlone(t *testing.T) {
	s := &record.Study{Head: record.Head{Status: record.Complete, Validity: []measure.Finding{}},
		Configurations: []record.Configuration{{ID: "baseline", Baseline: true}},
		Trials: []record.Trial{{Number: 1, Attempt: 1, Configuration: "baseline", Kind: record.TrialSearch,
			Status: record.TrialDone}},
		Capacity: &record.CapacityResult{Objectives: []string{"p99<1s"}, Rate: 900, Confirmed: true}}
	if got := studyTitle(s); got != "study: load line in 1 trial" {
		t.Errorf("%q", got)
	}
	for _, section := range Of(s).Sections {
		if section.Title == "configurations" || section.Title == "objectives" {
			t.Errorf("%+v", section)
		}
	}
}
