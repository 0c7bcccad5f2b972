package report

import (
	"fmt"
	"strings"
	"testing"

	"github.com/plimsoll-bench/plimsoll/fault"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
)

func TestShortFormsHaveTheirValue(t *testing.T) {
	x := 0.0301
	for want, f := range map[string]measure.Finding{
		"operations failed: 3.01 %":                 {ID: "failures", Value: &x, Unit: measure.UnitShare},
		"operations failed":                         {ID: "failures"},
		"the offered rate was not achieved":         {ID: "schedule-not-sustained"},
		"a planned event was an outage for clients": {ID: "event-outage-rolling-restart"},
		"": {ID: "no-such-finding"},
		"the load generator woke up late, by up to 0": {ID: "client-scheduler", Value: new(float64), Unit: measure.UnitTime},
	} {
		if got := shortOf(f); got != want {
			t.Errorf("%s: %q, want %q", f.ID, got, want)
		}
	}
	for id, text := range shorts {
		if n := strings.Count(text, "%"); n > 1 || n == 1 && !strings.Contains(text, "%s") {
			t.Errorf("%s: %q has a percent sign that is no value", id, text)
		}
	}
}

// An invalid result says so before its figures, and an objective that is met is no doubt.
func TestAnInvalidResultBeginsWithThat(t *testing.T) {
	r := &record.Run{Head: record.Head{Status: record.Complete, Validity: []measure.Finding{
		{ID: "embedded", Severity: measure.Note}, {ID: "corrupt", Severity: measure.Invalid}}},
		Objectives: []measure.ObjectiveResult{{Objective: "p99<1s", Met: true}},
		Phases:     []record.PhaseResult{{Phase: "measure", Workers: 4, Rates: record.Rates{Achieved: 100}}}}
	d := Of(r)
	if d.Answer != "INVALID: 1 of 1 objective met; 100 ok/s with 4 workers" ||
		!strings.HasPrefix(d.Sure, "do not use these figures, for 1 reason") {
		t.Errorf("%q, %q", d.Answer, d.Sure)
	}
	if len(d.Short) != 2 || d.Short[0].Grade != Bad || d.Short[1].Grade != Note {
		t.Errorf("%v", d.Short)
	}
}

// Lost writes are never green: amber with the setting that keeps them where the write concern allows the loss, red
// where it does not. A drill that lost nothing is green, and a disk that lied is named.
func TestLostWritesAreNeverGreen(t *testing.T) {
	drill := func(verdict record.DrillVerdict, lost int64, loss string, w string, action string) *record.Drill {
		d := &record.Drill{Head: record.Head{Status: record.Complete}, Verdict: verdict,
			Rounds: []record.DrillRound{{Number: 1, Status: record.Complete, Verdict: verdict, Expect: spec.Expect{Loss: loss},
				Faults: []record.DrillFault{{Fault: spec.ParseAction(action), Mode: fault.Crash, Injected: 1, Hit: true}},
				Ledger: &record.LedgerResult{Acknowledged: 100, Inserts: map[string]int64{record.WriteLost: lost}}}}}
		d.Specification.Run.Durability.W = w
		if lost > 0 {
			d.Reasons = []string{"writes were lost"}
		}
		return d
	}
	for name, c := range map[string]struct {
		drill        *record.Drill
		grade        Grade
		answer, says string
	}{
		"nothing lost": {drill(record.Holds, 0, spec.LossNone, "majority", "kill:primary"), Good, "holds: ", ""},
		"allowed":      {drill(record.Holds, 3, spec.LossAny, "1", "kill:primary"), Warn, "holds: ", "use w:majority"},
		"forbidden":    {drill(record.Violated, 3, spec.LossNone, "majority", "kill:primary"), Bad, "violated: ", "writes were lost"},
		"a lying disk": {drill(record.Violated, 3, spec.LossNone, "majority", "disk-lie:primary"), Bad,
			"violated on a LYING disk: ", ""},
	} {
		d := Of(c.drill)
		if d.Grade != c.grade || !strings.HasPrefix(d.Answer, c.answer) || !strings.Contains(fmt.Sprint(d.Short), c.says) {
			t.Errorf("%s: %s, %q, %v", name, d.Grade, d.Answer, d.Short)
		}
	}
	for verdict, want := range map[record.ProbeVerdict]bool{record.Lying: true, record.Honest: false} {
		p := &record.Probe{Head: record.Head{Status: record.Complete}, Verdict: verdict,
			Storage: record.ProbeStorage{Filesystem: "ext4"}}
		if d := Of(p); strings.HasPrefix(d.Answer, "LYING disk") != want {
			t.Errorf("%s: %q", verdict, d.Answer)
		}
	}
}

// A command needs the directory of the record, or it is not shown. Only the word is replaced.
func TestNextNamesTheRecord(t *testing.T) {
	for _, c := range []struct{ command, dir, want string }{
		{"plimsoll report DIR", "runs/a b", "plimsoll report 'runs/a b'"},
		{"plimsoll size DIR --need x", "a", "plimsoll size a --need x"},
		{"plimsoll report DIR", "", ""},
		{"plimsoll ab /data/DIR-A DIRS", "a", "plimsoll ab /data/DIR-A DIRS"},
		{"plimsoll ab A B", "", "plimsoll ab A B"},
	} {
		d := (&Document{Head: Head{Next: Next{Command: c.command}}}).In(c.dir)
		if d.Next.Command != c.want {
			t.Errorf("%q in %q: %q, want %q", c.command, c.dir, d.Next.Command, c.want)
		}
	}
}

// A size that the records do not give is refused, with the reasons, and is not called valid.
func TestARefusedSizeIsNotValid(t *testing.T) {
	d := Of(&record.Sizing{Verdict: record.SizeUnknown, Reasons: []string{
		"r1: another engine (embedded, not MongoDB) was measured. Its nodes carry another load"}})
	want := Point{Warn, "", "r1: another engine (embedded, not MongoDB) was measured"}
	if d.Sure != "refused: these records do not answer it" || d.Grade != Warn || len(d.Short) != 1 || d.Short[0] != want {
		t.Errorf("%s %q: %+v", d.Grade, d.Sure, d.Short)
	}
}

// Differences that forbid a comparison are counted in English.
func TestDifferencesThatForbid(t *testing.T) {
	r := &record.ComparisonReport{}
	for _, want := range []string{"1 difference that forbids a comparison", "2 differences that forbid a comparison"} {
		r.Differences = append(r.Differences, record.Difference{What: "environment.cpu", Severity: measure.Invalid})
		if got := Of(r).Checks[0].Text; got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
