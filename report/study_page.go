package report

import (
	"crypto/sha256"
	"fmt"
	"path"
	"path/filepath"
	"strings"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/internal/safeopen"
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

// maxSums is the largest number of trials with checksums on a page.
const maxSums = 1000

// openTrials reads what only the records of the trials say: against what they were made, and their checksums. A study
// whose trials are not beside it, or are not done, has neither.
func (s *studyFiles) openTrials(study *record.Study) {
	base := study.BaselineID()
	var sums strings.Builder
	listed, all := 0, 0
	for _, wanted := range []func(*record.Trial) bool{
		func(t *record.Trial) bool { return t.Configuration == base }, func(*record.Trial) bool { return true },
	} {
		for i := range study.Trials {
			if t := &study.Trials[i]; s.Trial == nil && t.Status == record.TrialDone && t.Kind == record.TrialCompared &&
				filepath.IsLocal(t.Record) && wanted(t) {
				if r, err := record.OpenBelow(s.Dir, t.Record); err == nil {
					Tidy(r)
					s.Trial, s.TrialNumber = r, t.Number
				}
			}
		}
	}
	for i := range study.Trials {
		t := &study.Trials[i]
		if t.Status != record.TrialDone || !filepath.IsLocal(t.Record) {
			continue
		}
		name := filepath.Join(t.Record, record.SumsFile)
		b, err := safeopen.ReadFile(s.Dir, filepath.ToSlash(name), 1<<20)
		if err != nil {
			continue
		}
		if all++; listed < maxSums {
			listed++
			fmt.Fprintf(&sums, "%x  %s\n", sha256.Sum256(b), bounded(filepath.ToSlash(name)))
		}
	}
	s.TrialSums = sums.String()
	if all > listed {
		s.Problems = append(s.Problems, fmt.Sprintf("the checksums of the first %d of %s are listed", listed, figure.Plural(all, "trial")))
	}
}

func studyDisclosure(src *studyFiles) Section {
	s := src.Study
	parts := []Section{
		reproduceBlock("Save the specification as study.yaml and run it; the same seed gives the same order of trials.", "cat > study.yaml", src.again, record.StudyFile),
		{Code: &Code{Label: "Command", Text: "plimsoll study run study.yaml"}},
		commandBlock("Exact command", src.command),
		{Title: "Settings of the base run that differ from their defaults", Table: changedSettings(s.Base)},
	}
	if r := src.Trial; r != nil {
		parts = append(parts,
			Section{Title: fmt.Sprintf("Target, as trial %d found it", src.TrialNumber),
				Facts: append(targetFacts(r), Facts("Durability", Durability(r), "Data", Data(r))...)},
			Section{Title: fmt.Sprintf("Effective settings of client and server, in trial %d", src.TrialNumber), Table: effectiveSettings(r)})
	}
	sec := src.disclosure(append(parts,
		Section{Title: "Environment of the load", Facts: environmentFacts(s.Environment)},
		Section{Title: "Record", Facts: Facts("Directory", bounded(src.Dir), "Status", string(s.Status), "Written by",
			Version(s.Tool), "Schema", s.SchemaVersion, "Seed", fmt.Sprint(s.Specification.Seed))})...)
	if src.TrialSums != "" {
		sec.Parts = append(sec.Parts, Section{Title: "Checksums of the trials (SHA-256)", Lines: []string{"Each trial has a list of the checksums of its files; these are the checksums of the lists."},
			Code: &Code{Label: "SHA-256 of the lists", Text: strings.TrimRight(src.TrialSums, "\n")}})
	}
	return sec
}
