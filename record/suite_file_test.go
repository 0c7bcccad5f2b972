package record

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// testSuite is a suite of four parts, in every state that a part can have.
func testSuite() *Suite {
	ended := testStart.Add(9 * time.Minute)
	began := testStart.Add(time.Second)
	scale := spec.Scale{Data: 1.0 / 128, Workers: 0.125}
	return &Suite{
		Head: Head{SchemaVersion: SchemaVersion, Kind: KindSuite, Status: Complete, Tool: Tool{Name: "plimsoll"},
			Started: testStart, Ended: &ended,
			Environment: Environment{Host: "db", OS: "linux", Arch: "amd64", Threads: 2, Cores: 2, Go: "go1.26", MaxProc: 2},
			Validity:    []measure.Finding{{ID: "scaled", Severity: measure.Note, Text: "data is 1/128 of the document's"}}},
		Specification: spec.Suite{
			Name: "policy-storage", Title: "sharded cluster on policy storage", Published: "policy-storage", Scale: &scale,
			Parts: []spec.Part{
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
		Left: []spec.Left{
			{Part: "client-a", What: "trials", From: "6", To: "2", Why: "to fit into ten minutes"},
			{Part: "rs1-host-failure", What: "the part", Why: "needs root"},
		},
	}
}

func writeSuite(t *testing.T, s *Suite) (string, *SuiteWriter) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "suite")
	w, err := Create[*Suite](dir, nil)
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
	if _, err := Create[*Suite](dir, nil); err == nil || !strings.Contains(err.Error(), "plimsoll suite resume "+dir) {
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
		{Event: EventSession, Session: &StudySession{Pid: 7}}, {Event: EventBegin, Part: &begun},
		{Event: EventEnd, Part: &done}, {Event: EventBegin, Part: &next},
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
	if got.Status != Killed || got.Parts[0].Status != PartDone || got.Parts[0].Record == "" ||
		got.Parts[1].Status != PartRunning || got.Parts[2].Status != PartPlanned {
		t.Errorf("%s %+v", got.Status, got.Parts)
	}
	if _, unreadable, err := ReadSuiteJournal(dir); unreadable != 1 || err != nil {
		t.Errorf("%d lines cannot be read, %v", unreadable, err)
	}
	temporary := filepath.Join(dir, "."+SuiteFile+".123") // of a process that was killed in replace
	if err := os.WriteFile(temporary, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	again, err := Continue[*Suite](dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if _, err := os.Lstat(temporary); err == nil {
		t.Error("the temporary file of a killed process is left")
	}
	if err := again.Append(SuiteEvent{Event: EventEnd, Part: &next}); err != nil {
		t.Fatal(err)
	}
	if events, _, _ := ReadSuiteJournal(dir); len(events) != 5 {
		t.Errorf("got %d events after a torn line", len(events))
	}
}

// Nothing that a suite keeps has the password of the deployment that it loads.
func TestSuiteKeepsNoCredentials(t *testing.T) {
	s := testSuite()
	s.Against = "mongodb://app:s3cret-word@db1/"
	s.Parts[2].Problem = "mongodb://app:s3cret-word@db1/ did not answer to s3cret-word"
	dir := filepath.Join(t.TempDir(), "suite")
	w, err := Create[*Suite](dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	w.AddSecrets(spec.Run{Target: s.Against})
	plan := []PartPlan{{Name: "client", Study: &spec.Study{Run: spec.Run{Target: s.Against}}}}
	for _, err := range []error{w.Write(s), WritePlan(w, plan), w.Append(SuiteEvent{Event: EventEnd, Part: &s.Parts[2]})} {
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
	parts, _, err := ReadSuitePlan(dir, nil)
	if err != nil || len(parts) != 1 || !HasHidden(*parts[0].Study) {
		t.Errorf("%+v, %v", parts, err)
	}
}

// A suite.json whose parts lie elsewhere is neither written nor read: what is not whole in the directory of a part is
// removed.
func TestSuiteStaysInItsDirectory(t *testing.T) {
	for _, change := range []func(*Suite){
		func(s *Suite) { s.Parts[1].Name = "../../elsewhere" },
		func(s *Suite) { s.Parts[1].Name = ".." },
		func(s *Suite) { s.Parts[1].Name = "" },
		func(s *Suite) { s.Parts[1].Name = s.Parts[0].Name },
		func(s *Suite) { s.Parts[1].Record = "/etc" },
		func(s *Suite) { s.Parts[1].Record = "parts/../../x" },
	} {
		s := testSuite()
		dir, w := writeSuite(t, s)
		change(s)
		if err := w.Write(s); err == nil {
			t.Errorf("%+v was written", s.Parts[1])
		}
		b, err := marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, SuiteFile), b, 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := OpenSuite(dir); err == nil || !strings.Contains(err.Error(), SuiteFile+" is damaged: part 2: ") {
			t.Errorf("%+v: %v", s.Parts[1], err)
		}
	}
	dir, w := writeSuite(t, testSuite())
	if err := w.Append(SuiteEvent{Event: EventEnd, Part: &Part{Name: "client-a", Kind: "study", Record: "../../x"}}); err != nil {
		t.Fatal(err)
	}
	if s, err := OpenSuite(dir); err != nil || s.Parts[1].Record != "parts/client-a" {
		t.Errorf("%v: %+v", err, s)
	}
}

// What sessions worked counts, the time between them does not, nor a clock that was set back.
func TestSuiteWorked(t *testing.T) {
	dir, w := writeSuite(t, testSuite())
	at := func(minutes int) time.Time { return testStart.Add(time.Duration(minutes) * time.Minute) }
	session := &StudySession{Pid: 7}
	long := "client-" + strings.Repeat("a", 80) // as parts are called that are repeated for long values
	for _, e := range []SuiteEvent{
		{At: at(0), Event: EventSession, Session: session},
		{At: at(1), Event: EventBegin, Part: &Part{Name: "baseline", Kind: KindStudy}},
		{At: at(3), Event: EventEnd, Part: &Part{Name: "baseline"}},
		{At: at(100), Event: EventSession, Session: session}, {At: at(90), Event: EventEnd, Part: &Part{Name: "baseline"}},
		{At: at(200), Event: EventSession, Session: session},
		{At: at(201), Event: EventBegin, Part: &Part{Name: long, Kind: KindStudy}},
	} {
		if err := w.Append(e); err != nil {
			t.Fatal(err)
		}
	}
	trials := filepath.Join(dir, PartsDir, long)
	if err := os.MkdirAll(trials, 0o755); err != nil {
		t.Fatal(err)
	}
	line := `{"at":"` + at(205).Format(time.RFC3339) + `","event":"begin","trial":{"number":1,"attempt":1}}` + "\n"
	if err := os.WriteFile(filepath.Join(trials, JournalFile), []byte(line), 0o644); err != nil {
		t.Fatal(err)
	}
	for now, want := range map[time.Time]time.Duration{{}: 8 * time.Minute, at(210): 13 * time.Minute} {
		if got, err := SuiteWorked(dir, now); err != nil || got != want {
			t.Errorf("at %v: %v, %v; want %v", now, got, err, want)
		}
	}
}

// FuzzReadSuiteSpec reads any suite.yaml: what is read can be stored and is the same afterwards.
func FuzzReadSuiteSpec(f *testing.F) {
	for _, s := range []string{"{name: x, scale: {data: 1/128, workers: 0.5}, parts: [{study: a.yaml, each: {workload.name: [a, 5]}, gives: [load.workers]}]}",
		"{name: x, parts: [{name: p, probe: {storage: {backend: directory}, threads: [1, 1k], size: 1GiB, duration: 1s}}]}",
		"parts: &a [*a]", "parts: [{each: {x: &a [*a]}}]", "{", "parts: [{each: {x: [{? [a] : b}]}}]", "labels: {1: 2}", "parts: [{needs: [~]}]", "parts: [{each: {0: [{00}]}}]", "parts: [{each: {x: [.nan]}}]"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		asked, err := spec.ReadSuite(strings.NewReader(s))
		if err != nil {
			return
		}
		b, err := json.Marshal(asked)
		if err != nil {
			t.Fatalf("%q was read, but cannot be stored: %v", s, err)
		}
		var again spec.Suite
		if err := json.Unmarshal(b, &again); err != nil {
			t.Fatalf("%q was stored as %s, but cannot be read again: %v", s, b, err)
		}
		if b2, err := json.Marshal(again); err != nil || string(b) != string(b2) {
			t.Fatalf("%q was stored as %s, and then as %s (%v)", s, b, b2, err)
		}
		_ = asked.Validate()
	})
}

// FuzzOpenSuite reads any suite.json beside any journal: an error, or parts that stay in their directories.
func FuzzOpenSuite(f *testing.F) {
	whole, err := os.ReadFile(filepath.Join("testdata", "suite", SuiteFile))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(whole, []byte(`{"event":"end","part":{"name":"client-a","record":"../x"}}`+"\n"))
	f.Add([]byte(`{"schema_version":"1.0","kind":"suite","parts":[{"name":"../x"}]}`), []byte(`{"event":"begin"}`))
	f.Add([]byte("{"), []byte("\x00"))
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, suite, journal []byte) {
		for name, b := range map[string][]byte{SuiteFile: suite, SuiteJournal: journal} {
			if err := os.WriteFile(filepath.Join(dir, name), b, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		_, _ = SuiteWorked(dir, time.Time{})
		s, err := OpenSuite(dir)
		if err != nil {
			return
		}
		for _, p := range s.Parts {
			if p.inside() != nil || !strings.HasPrefix(filepath.Join(dir, PartsDir, p.Name),
				filepath.Join(dir, PartsDir)+string(filepath.Separator)) {
				t.Errorf("a part called %q with the record %q", p.Name, p.Record)
			}
		}
	})
}
