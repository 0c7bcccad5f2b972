package conduct

import (
	"cmp"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/plimsoll-bench/plimsoll/campaign/campaigntest"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
	"github.com/plimsoll-bench/plimsoll/study"
	"github.com/plimsoll-bench/plimsoll/study/simulatedtest"
)

// killing is a study for [campaigntest.Killed]. Its trials do not depend on those before them.
func killing(target simulatedtest.Target, asked spec.Study) campaigntest.Subject {
	return campaigntest.Subject{Main: record.StudyFile, Journal: record.JournalFile,
		Perform: func(t *testing.T, dir string, step func(bool)) error {
			b := newBench(target)
			b.alike = true
			b.before = func(context.Context, study.Request) error { step(false); return nil }
			b.after = func(study.Request) { step(true) }
			o := b.options(dir)
			o.Progress = &watch{begin: func(Status) { step(false) }, end: func(record.Trial) { step(false) }}
			if _, err := os.Stat(filepath.Join(dir, record.StudyFile)); err == nil {
				_, err := Resume(t.Context(), dir, o)
				return err
			}
			_, err := runStudy(t.Context(), asked, o)
			return err
		},
		Check: func(t *testing.T, dir string) {
			s, err := record.OpenStudy(dir)
			if err != nil {
				t.Fatal(err)
			}
			finished(t, dir, s, 4)
		}}
}

func TestKilledStudy(t *testing.T) {
	k := killing(simulatedtest.Target{}, smallStudy(func(s *spec.Study) { s.Trials, s.Metrics = 2, []string{"throughput"} }))
	k.Jobs = 4
	campaigntest.Killed(t, k)
}

// anyAttempt matches the record of a trial of a procedure. A killed trial has another attempt.
var anyAttempt = regexp.MustCompile(`(procedures/\w+-\d+)-\d+`)

// A study with procedures that is killed ends with the same choices, from the same trials.
func TestKilledProcedures(t *testing.T) {
	k := killing(searchTarget(), searching())
	want, check := "", k.Check
	k.Check = func(t *testing.T, dir string) {
		check(t, dir)
		s, err := record.OpenStudy(dir)
		if err != nil {
			t.Fatal(err)
		}
		b, err := json.MarshalIndent([]any{s.Procedures, s.Capacity, s.Base}, "", " ")
		if err != nil {
			t.Fatal(err)
		}
		got := anyAttempt.ReplaceAllString(string(b), "$1")
		want = cmp.Or(want, got)
		if d := gocmp.Diff(want, got); d != "" {
			t.Errorf("the procedures found something else:\n%s", d)
		}
	}
	k.Every = 20
	campaigntest.Killed(t, k)
}
