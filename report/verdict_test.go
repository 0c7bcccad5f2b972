package report

import (
	"testing"

	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
)

func TestVerdictSaysFirstWhetherItHolds(t *testing.T) {
	met, missed, unknown := measure.ObjectiveResult{Met: true}, measure.ObjectiveResult{},
		measure.ObjectiveResult{Unknown: true}
	warned := []measure.Finding{{Severity: measure.Warning}}
	invalid := []measure.Finding{{Severity: measure.Invalid}}
	for _, c := range []struct {
		objectives []measure.ObjectiveResult
		findings   []measure.Finding
		status     record.Status
		want       string
	}{
		{nil, nil, record.Complete, "valid"},
		{nil, warned, record.Interrupted, "valid, with warnings (interrupted)"},
		{[]measure.ObjectiveResult{met}, nil, record.Complete, "holds: 1 of 1 objective met; valid"},
		{[]measure.ObjectiveResult{met, missed, unknown}, nil, record.Complete, "does not hold: 1 of 3 objectives missed; valid"},
		{[]measure.ObjectiveResult{met, unknown}, nil, record.Complete, "undecided: 1 of 2 objectives unknown; valid"},
		{[]measure.ObjectiveResult{met, missed}, invalid, record.Complete, "INVALID; 1 of 2 objectives met"},
	} {
		r := &record.Run{Objectives: c.objectives, Head: record.Head{Validity: c.findings, Status: c.status}}
		if got := Of(r).Brief; got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
	s := &record.Study{Head: record.Head{Status: record.Complete},
		Objectives: []record.ConfigurationObjective{{Holds: true, N: 3}, {N: 3}, {N: 3, Exploratory: true}}}
	if d, want := Of(s), "does not hold: 1 of 2 objectives missed; valid"; d.Brief != want || d.Grade != Bad {
		t.Errorf("got %q (%s), want %q", d.Brief, d.Grade, want)
	}
	s.Objectives, s.Validity = nil, invalid
	if got := Of(s).Brief; got != "INVALID" {
		t.Errorf("in a list: %q", got)
	}
}
