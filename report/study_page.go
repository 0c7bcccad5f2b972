package report

import (
	"fmt"
	"path"
	"path/filepath"

	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/study/judge"
)

// studyFiles are what the page of a study shows besides its main file.
type studyFiles struct {
	*Source
	Study *record.Study
	// Trial is the record of a typical trial, preferably of the baseline; nil if there is none. TrialSums are the
	// checksums of the trials' own lists, in the format of sha256sum.
	Trial       *record.Run
	TrialNumber int
	TrialSums   string
}

func studyKind() *kind {
	k := kindOf("a study", studyDocument)
	k.name, k.open, k.csv, k.bench, k.all = record.KindStudy, openStudy, table(studyCSV), table(studyBench), "all trials"
	k.ready = func(_ string, r record.Result) any {
		s, _ := r.(*record.Study)
		if s.Status != record.Complete || len(s.Comparisons) == 0 {
			judge.Study(s) // an incomplete study has no verdicts yet
		}
		return s
	}
	k.loaded = typed(func(s *record.Study) []string { return []string{loadedBy(s)} })
	k.list = listed(func(s *record.Study, e *Entry) {
		e.Title, e.Labels, e.Lab = s.Specification.Name, s.Specification.Labels, labOf(s.Specification.Run.Target)
		e.loaded(s.Base.Target, s.Engine, s.Base.Workload)
	})
	k.parts, k.spark, k.seldom = typed(trialNames), studySpark, true
	k.now = func(dir string) (now Now, err error) {
		s, err := record.OpenStudy(dir)
		if err != nil {
			return now, err
		}
		return studyNow(s, dir), nil
	}
	return k
}

func openStudy(into *Source, dir string) error {
	study, err := record.OpenStudy(dir)
	if err != nil {
		return err
	}
	s := &studyFiles{Source: into, Study: study}
	into.Result, into.files = study, s
	s.openTrials(study)
	spec := study.Specification
	spec.Out, spec.Run.Out = "", ""
	s.again, s.command = exactSpec(spec), exactCommand(study.Command)
	Tidy(study)
	return nil
}

// trialNames returns the names of the trials of a study, by their records. While it runs its file is behind its trials,
// so each is also known by its future record.
func trialNames(s *record.Study) map[string]string {
	names := map[string]string{}
	for i := range s.Trials {
		t := &s.Trials[i]
		name := fmt.Sprintf("%s, trial %d", t.Configuration, t.Number)
		switch {
		case t.Kind == record.TrialSearch:
			name = fmt.Sprintf("%s, procedure %s", t.Configuration, path.Base(t.Record))
		case t.Kind == record.TrialCanary:
			name = fmt.Sprintf("%s, canary, trial %d", t.Configuration, t.Number)
		}
		if t.Kind != record.TrialSearch {
			names[path.Join(record.TrialsDir, fmt.Sprintf("%04d", t.Number))] = name
		}
		if t.Record != "" {
			names[path.Clean(t.Record)] = name
		}
	}
	return names
}

func studyNow(s *record.Study, dir string) (p Now) {
	last := lastAttempts(s)
	for i := range s.Trials {
		t := &s.Trials[i]
		if t.Status == record.TrialRunning && t.Record != "" {
			if _, held := record.Holder(filepath.Join(dir, filepath.FromSlash(t.Record))); held || len(p.Running) == 0 {
				p.Running = append(p.Running, NowPart{t.Record, fmt.Sprintf("trial %d (%s) is running", t.Number, t.Configuration)})
			}
		}
	}
	p.Text = trialsDone(last)
	return p
}
