package report

import (
	"crypto/sha256"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/internal/safeopen"
	"github.com/plimsoll-bench/plimsoll/record"
)

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
	sec := Section{ID: "disclosure", Title: "Disclosure", Lead: "Everything needed to repeat and to judge the result."}
	sec.Parts = []Section{
		reproduceBlock("Save the specification as study.yaml and run it; the same seed gives the same order of trials.", "cat > study.yaml", src.again, record.StudyFile),
		{Code: &Code{Label: "Command", Text: "plimsoll study run study.yaml"}},
		commandBlock(src.command),
		{Title: "Settings of the base run that differ from their defaults", Table: changedSettings(s.Base)},
	}
	if r := src.Trial; r != nil {
		sec.Parts = append(sec.Parts,
			Section{Title: fmt.Sprintf("Target, as trial %d found it", src.TrialNumber),
				Facts: append(targetFacts(r), Facts("Durability", Durability(r), "Data", Data(r))...)},
			Section{Title: fmt.Sprintf("Effective settings of client and server, in trial %d", src.TrialNumber), Table: effectiveSettings(r)})
	}
	sec.Parts = append(sec.Parts,
		Section{Title: "Environment of the load", Facts: environmentFacts(s.Environment)},
		Section{Title: "Record", Facts: Facts("Directory", bounded(src.Dir), "Status", string(s.Status), "Written by",
			Version(s.Tool), "Schema", s.SchemaVersion, "Seed", fmt.Sprint(s.Specification.Seed))})
	if src.Sums != "" {
		sec.Parts = append(sec.Parts, Section{Title: "Checksums (SHA-256)", Code: &Code{Label: "SHA256SUMS", Text: visibleLines(src.Sums)}})
	}
	if src.TrialSums != "" {
		sec.Parts = append(sec.Parts, Section{Title: "Checksums of the trials (SHA-256)", Lines: []string{"Each trial has a list of the checksums of its files; these are the checksums of the lists."},
			Code: &Code{Label: "SHA-256 of the lists", Text: strings.TrimRight(src.TrialSums, "\n")}})
	}
	if len(src.Problems) > 0 {
		sec.Parts = append(sec.Parts, Section{Title: "What could not be read", Lines: slices.Clone(src.Problems)})
	}
	return sec
}
