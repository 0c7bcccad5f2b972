package judge_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/report/recordtest"
	"github.com/plimsoll-bench/plimsoll/suite/judge"
)

// open writes a suite as an older plimsoll left it, and reads it.
func open(t *testing.T, o recordtest.Suite) (*record.Suite, string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "suite")
	if _, err := o.Write(dir); err != nil {
		t.Fatal(err)
	}
	r, err := record.OpenSuite(dir)
	if err != nil {
		t.Fatal(err)
	}
	if r.Judged() {
		t.Fatal("a suite of before has a judgement")
	}
	return r, dir
}

// A suite of before, one that is judged where it ends, and one that is read from its own JSON all say the same.
func TestTheSameIsFoundWhoeverReads(t *testing.T) {
	r, dir := open(t, recordtest.Suite{})
	want := judge.Of(dir, r)
	if len(want.Statements) == 0 || len(want.Headlines) == 0 || len(want.Practices) == 0 || len(want.Losses) == 0 ||
		len(want.Advice) == 0 {
		t.Fatalf("next to nothing was judged: %+v", want)
	}
	judge.Read(r, judge.PartIn(dir))
	if diff := cmp.Diff(want, r.SuiteJudgement); diff != "" {
		t.Errorf("read in the place of judged: %s", diff)
	}
	w, err := record.Continue[*record.Suite](dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if err := w.Write(r); err != nil {
		t.Fatal(err)
	}
	again, err := record.OpenSuite(dir)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, again.SuiteJudgement); diff != "" {
		t.Errorf("the stored judgement differs: %s", diff)
	}
	if err := os.RemoveAll(filepath.Join(dir, record.PartsDir)); err != nil {
		t.Fatal(err)
	}
	s := judge.Read(again, judge.PartIn(dir)) // its parts are gone, and it was judged when they were there
	if diff := cmp.Diff(want, s.Record.SuiteJudgement); diff != "" {
		t.Errorf("a stored judgement was not taken: %s", diff)
	}
	if s.Worst() != measure.Warning {
		t.Errorf("that parts cannot be read is %q", s.Worst())
	}
}

// What a suite said when it ended last does not hold for one that goes on.
func TestASuiteThatGoesOnIsJudgedAsFarAsItCame(t *testing.T) {
	r, dir := open(t, recordtest.Suite{Running: true})
	r.SuiteJudgement = &record.SuiteJudgement{Advice: []record.SuiteAdvice{{Says: "of before"}}}
	judge.Read(r, judge.PartIn(dir))
	if r.Counts[record.NotMeasured] == 0 || strings.Contains(r.Advice[0].Says, "of before") {
		t.Errorf("%+v", r.SuiteJudgement)
	}
}

// Each part that measured nothing says in a word why.
func TestGapsOfStatements(t *testing.T) {
	r, dir := open(t, recordtest.Suite{})
	at := &r.Parts[len(r.Parts)-1]
	for _, c := range []struct {
		problem, why string
		late         bool
		want         record.Gap
	}{
		{"there is no mongod here", "there is no mongod here", false, record.GapHere},
		{"there is no time left for it", "to be done in 10m: there is no time left for it", false, record.GapTime},
		{"ran late", "ran late", true, record.GapTime},
	} {
		at.Problem = c.problem
		left := &r.Left[len(r.Left)-1]
		left.Why, left.Late = c.why, c.late
		for _, st := range judge.Of(dir, r).Statements {
			switch {
			case st.Agreement != record.NotMeasured && st.Gap != "":
				t.Errorf("%s of %s is %s, and has a gap %q", st.Metric, st.Level, st.Agreement, st.Gap)
			case st.Agreement == record.NotMeasured && st.Gap == "":
				t.Errorf("%s of %s is not measured without a word for why (%s)", st.Metric, st.Level, st.Why)
			case st.Agreement == record.NotMeasured && st.Sweep == "figure-11" && st.Gap != c.want:
				t.Errorf("%s: %q, want %q", st.Why, st.Gap, c.want)
			}
		}
	}
}

// The order of what a suite comes to.
func TestWhatASuiteComesTo(t *testing.T) {
	done := func(c record.Conclusion) record.Part { return record.Part{Status: record.PartDone, Conclusion: c} }
	failed := func(c record.Conclusion) record.Part { return record.Part{Status: record.PartFailed, Conclusion: c} }
	for _, c := range []struct {
		status record.Status
		doubt  measure.Severity
		parts  []record.Part
		want   record.Conclusion
	}{
		{record.Complete, "", []record.Part{done(record.Satisfied)}, record.Satisfied},
		{record.Complete, "", []record.Part{done(record.Missed), done(record.Incredible)}, record.Incredible},
		{record.Complete, measure.Invalid, []record.Part{done(record.Missed)}, record.Incredible},
		{record.Complete, measure.Invalid, []record.Part{done(record.WritesLost)}, record.WritesLost},
		{record.Complete, "", []record.Part{done(record.Missed), failed(record.OutOfReach), failed(record.OutOfReach)},
			record.OutOfReach},
		{record.Complete, "", []record.Part{failed(record.Refused), failed(record.OutOfReach)}, record.NoResult},
		{record.Complete, "", []record.Part{failed(record.Refused), done(record.WritesLost)}, record.WritesLost},
		{record.Killed, "", []record.Part{done(record.WritesLost)}, record.Ended},
		{record.Failed, "", []record.Part{done(record.Satisfied)}, record.NoResult},
	} {
		r := &record.Suite{Head: record.Head{Status: c.status}, Parts: c.parts}
		if c.doubt != "" {
			r.Validity = []measure.Finding{{ID: "x", Severity: c.doubt}}
		}
		s := judge.Read(r, func(*record.Part) (judge.Part, error) { return judge.Part{}, errors.New("there is none") })
		if got := s.Conclude(); got != c.want {
			t.Errorf("%s, %+v: %s, want %s", c.status, c.parts, got, c.want)
		}
	}
}
