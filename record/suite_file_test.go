package record

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plimsoll-bench/plimsoll/measure"
)

// testSuite is a suite of four parts, in every state that a part can have.
func testSuite() *Suite {
	ended := testStart.Add(9 * time.Minute)
	began := testStart.Add(time.Second)
	scale := ScaleSpec{Data: 1.0 / 128, Workers: 0.125}
	return &Suite{
		SchemaVersion: SchemaVersion, Kind: KindSuite, Status: Complete, Tool: Tool{Name: "plimsoll"}, Started: testStart, Ended: &ended,
		Specification: SuiteSpec{
			Name: "policy-storage", Title: "sharded cluster on policy storage", Published: "policy-storage", Scale: &scale,
			Parts: []PartSpec{
				{Study: "baseline.yaml", Gives: []string{"load.workers"}, Shows: []string{"table-5"}, Vital: true},
				{Study: "client.yaml", Each: map[string][]any{"workload.name": {"a", "b"}}, Shows: []string{"figure-2"}},
				{Drill: "../drill/rs1-host-failure.yaml", Shows: []string{"table-7"}, Level: "RS=1, host"},
			}},
		Source: "examples/policy-storage", Budget: BudgetQuick, Scale: scale,
		Parts: []Part{
			{Name: "baseline", Kind: "study", Status: PartDone, Record: "parts/baseline", Shows: []string{"table-5"}, Started: &began, Seconds: 80, Estimate: 75},
			{Name: "client-a", Kind: "study", Status: PartDone, Record: "parts/client-a", Shows: []string{"figure-2"},
				Set: map[string]any{"workload.name": "a", "load.workers": 16}, Started: &began, Seconds: 200, Estimate: 210},
			{Name: "client-b", Kind: "study", Status: PartFailed, Problem: "three trials failed one after the other", Record: "parts/client-b",
				Shows: []string{"figure-2"}, Set: map[string]any{"workload.name": "b", "load.workers": 16}, Started: &began, Seconds: 30, Estimate: 210, Exit: 1},
			{Name: "rs1-host-failure", Kind: "drill", Status: PartLeft, Problem: "needs root", Shows: []string{"table-7"}, Level: "RS=1, host"},
		},
		Left: []Left{
			{Part: "client-a", What: "trials", From: "6", To: "2", Why: "to fit into ten minutes"},
			{Part: "rs1-host-failure", What: "the part", Why: "needs root"},
		},
		Validity: []measure.Finding{{ID: "scaled", Severity: measure.Note, Text: "data is 1/128 of the document's"}},
	}
}

func writeSuite(t *testing.T, s *Suite) (string, *SuiteWriter) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "suite")
	w, err := CreateSuite(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	if err := w.Write(s); err != nil {
		t.Fatal(err)
	}
	return dir, w
}

func TestSuiteGoesToDiskAndBack(t *testing.T) {
	dir, _ := writeSuite(t, testSuite())
	got, err := OpenSuite(dir)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(testSuite(), got); diff != "" {
		t.Error(diff)
	}
	golden := filepath.Join("testdata", "suite", SuiteFile)
	b, err := os.ReadFile(filepath.Join(dir, SuiteFile))
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(golden, b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(b)); diff != "" {
		t.Errorf("suite.json changed; if it should, run with -update (-want +got):\n%s", diff)
	}
	if _, err := CreateSuite(dir); err == nil || !strings.Contains(err.Error(), "plimsoll study resume "+dir) {
		t.Errorf("a second suite in the same directory: %v", err)
	}
}

// What the journal says is believed over a suite.json that was not written any more, and a torn last line is no harm.
func TestSuiteOfAJournal(t *testing.T) {
	s := testSuite()
	s.Status, s.Ended = Running, nil
	for i := range s.Parts {
		s.Parts[i].Status, s.Parts[i].Record = PartPlanned, ""
	}
	dir, w := writeSuite(t, s)
	begun := s.Parts[0]
	begun.Status = PartRunning
	done := begun
	done.Status, done.Seconds, done.Record = PartDone, 3, "parts/baseline"
	next := s.Parts[1]
	next.Status = PartRunning
	for _, e := range []SuiteEvent{
		{Event: EventSession, Session: &StudySession{Pid: 7}}, {Event: EventBegin, Part: &begun}, {Event: EventEnd, Part: &done}, {Event: EventBegin, Part: &next},
	} {
		if err := w.Append(e); err != nil {
			t.Fatal(err)
		}
	}
	f, err := os.OpenFile(filepath.Join(dir, SuiteJournal), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString(`{"event":"end","part":{"name":"client-a","stat`); err != nil {
		t.Fatal(err)
	}
	f.Close()
	got, err := OpenSuite(dir)
	if err != nil {
		t.Fatal(err)
	}
	if got.Status != Killed || got.Parts[0].Status != PartDone || got.Parts[0].Record == "" || got.Parts[1].Status != PartRunning || got.Parts[2].Status != PartPlanned {
		t.Errorf("%s %+v", got.Status, got.Parts)
	}
	if _, unreadable, err := ReadSuiteJournal(dir); unreadable != 1 || err != nil {
		t.Errorf("%d lines cannot be read, %v", unreadable, err)
	}
	again, err := ContinueSuite(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if err := again.Append(SuiteEvent{Event: EventEnd, Part: &next}); err != nil {
		t.Fatal(err)
	}
	if events, _, _ := ReadSuiteJournal(dir); len(events) != 5 {
		t.Errorf("after a torn line there are %d events", len(events))
	}
}

// Nothing that a suite keeps has the password of the deployment that it loads.
func TestSuiteKeepsNoCredentials(t *testing.T) {
	s := testSuite()
	s.Against = "mongodb://app:s3cret-word@db1/"
	s.Parts[2].Problem = "mongodb://app:s3cret-word@db1/ did not answer to s3cret-word"
	dir := filepath.Join(t.TempDir(), "suite")
	w, err := CreateSuite(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	w.AddSecrets(RunSpec{Target: s.Against})
	plan := []PartPlan{{Name: "client", Study: &StudySpec{Run: RunSpec{Target: s.Against}}}}
	for _, err := range []error{w.Write(s), w.WritePlan(plan), w.Append(SuiteEvent{Event: EventEnd, Part: &s.Parts[2]})} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{SuiteFile, SuitePlan, SuiteJournal} {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(b), "s3cret-word") {
			t.Errorf("%s keeps the password:\n%s", name, b)
		}
	}
	parts, err := ReadSuitePlan(dir)
	if err != nil || len(parts) != 1 || !parts[0].Study.HasHidden() {
		t.Errorf("%+v, %v", parts, err)
	}
}
