package record

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// A password may be any word or number. Whatever it is, a study is written so that it can be read and gone on with.
func TestOrdinaryPasswordsSpoilNoStudy(t *testing.T) {
	for _, password := range []string{"trial", "run", "123", "2026", "name", "load", "done", "running", "status", "baseline", "throughput", "study", "mongodb", "target"} {
		t.Run(password, func(t *testing.T) {
			s := ordinaryStudy(password)
			dir := filepath.Join(t.TempDir(), "study")
			w, err := Create[*Study](dir, s.Specification)
			if err != nil {
				t.Fatal(err)
			}
			if err := w.Write(s); err != nil {
				t.Fatal(err)
			}
			begun := s.Trials[1]
			begun.Status, begun.Record = TrialRunning, "trials/0002-1"
			event := StudyEvent{At: testStart, Event: EventBegin, Trial: &begun, Procedure: "",
				Data: &TrialData{Place: "mongodb://app:***@h/ " + password + " usertable", Ready: true}}
			if err := w.Append(event); err != nil {
				t.Fatal(err)
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			checkOrdinary(t, dir, s, event, password)
		})
	}
}

func ordinaryStudy(password string) *Study {
	ended := testStart.Add(time.Minute)
	s := testStudy()
	s.Specification = spec.Study{
		Name: "a study",
		Run: spec.Run{Target: "mongodb://app:" + password + "@h/", Out: "runs/" + password, Database: password,
			Workload: spec.Workload{Name: "load", Params: map[string]string{"fieldcount": "1234", "other": "20261"}}},
		Factors: []spec.Factor{{Name: "workers", Path: "load.workers",
			Levels: []spec.Level{{Name: "8", Value: 8}, {Name: "two", Set: map[string]any{"load.workers": 123, "target": "null:"}}}}},
		Combine: "grid", Metrics: []string{"throughput"}, Objectives: []string{"errors < 1%"},
	}
	s.Base = s.Specification.Run
	s.Configurations = []Configuration{{ID: "baseline", Baseline: true},
		{ID: "workers=123", Set: map[string]any{"load.workers": 123.0}, Levels: map[string]string{"workers": "123"}, Factor: "workers"}}
	for i := range s.Trials {
		s.Trials[i].Configuration = s.Configurations[i%2].ID
	}
	s.Trials[0].Status, s.Trials[0].Record, s.Trials[0].Started, s.Trials[0].Seconds = TrialDone, "trials/0001-1", &ended, 123
	s.Trials[0].Values = map[string]float64{"throughput": 2026, "read.p99": 123}
	s.Validity = []measure.Finding{{ID: "target-load", Severity: measure.Note, Text: "123456 operations in 20261 trials"}}
	return s
}

func checkOrdinary(t *testing.T, dir string, s *Study, event StudyEvent, password string) {
	t.Helper()
	release, err := Hold(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	got, err := OpenStudy(dir)
	if err != nil {
		t.Fatal(err)
	}
	events, unreadable, err := ReadJournal(dir)
	if err != nil || unreadable != 0 || len(events) != 1 {
		t.Fatalf("%d events, %d unreadable: %v", len(events), unreadable, err)
	}
	if e := events[0]; !e.At.Equal(event.At) || e.Event != EventBegin || e.Data.Place != event.Data.Place ||
		e.Trial.Record != event.Trial.Record {
		t.Errorf("the journal has %+v", e)
	}
	if got.Status != s.Status || !got.Started.Equal(s.Started) || len(got.Trials) != len(s.Trials) ||
		len(got.Configurations) != 2 {
		t.Fatalf("read %+v", got)
	}
	for i, tr := range got.Trials {
		want := s.Trials[i]
		if i == 1 {
			want.Status, want.Record = TrialRunning, event.Trial.Record
		}
		tr.Configuration, want.Configuration = "", ""
		if d := cmp.Diff(want, tr); d != "" {
			t.Errorf("trial %d (-written +read):\n%s", i+1, d)
		}
		if got.Trials[i].Configuration != got.Configurations[i%2].ID {
			t.Errorf("trial %d belongs to %s, not to %s", i+1, got.Trials[i].Configuration, got.Configurations[i%2].ID)
		}
	}
	spec := got.Specification
	if spec.Run.Database != password || spec.Run.Out != "runs/"+password || spec.Run.Workload.Name != "load" ||
		spec.Factors[0].Path != "load.workers" ||
		spec.Factors[0].Levels[1].Set["load.workers"] != 123 || spec.Run.Workload.Params["fieldcount"] != "1234" || spec.Combine != "grid" {
		t.Errorf("the specification became %+v", spec)
	}
	if f := got.Validity[0]; f.ID != "target-load" || f.Severity != measure.Note || !strings.HasPrefix(f.Text, "123456 operations in 20261") {
		t.Errorf("a finding became %+v", f)
	}
	for _, name := range []string{StudyFile, JournalFile} {
		if b, err := os.ReadFile(filepath.Join(dir, name)); err != nil || strings.Contains(string(b), ":"+password+"@") {
			t.Errorf("%s: %v, or it holds the password", name, err)
		}
	}
}

// What a program reads in run.json, events and samples stays as well.
func TestOrdinaryPasswordsSpoilNoRun(t *testing.T) {
	for _, password := range []string{"run", "2026", "host", "client", "measure", "complete"} {
		var r redactor
		asked := spec.Run{Target: "mongodb://app:" + password + "@h/", Out: "x/" + password, Database: password,
			Labels: map[string]string{"n": "12026"}}
		r.learn(asked)
		clean := Redacted(asked, asked)
		if clean.Out != asked.Out || clean.Database != password || clean.Labels["n"] != "12026" ||
			strings.Contains(clean.Target, ":"+password+"@") {
			t.Errorf("%s: %+v", password, clean)
		}
		for _, source := range []string{"host:box", "client", "server:h:27017"} {
			if got := r.source(source); got != source {
				t.Errorf("%s: the source %s became %s", password, source, got)
			}
		}
		e := redacted(&r, measure.Event{Kind: password, Text: "running 20261 with " + password})
		if e.Kind != password || e.Text != "running 20261 with ***" {
			t.Errorf("%s: %+v", password, e)
		}
	}
}
