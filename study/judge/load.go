package judge

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
)

// Source is one argument of a comparison: a record, a directory with several records, a study, or a configuration of a
// study (DIR#CONFIGURATION).
type Source struct {
	Name, Path string                 // the argument, and the directory
	Label      string                 // of a study in tables, instead of its path, if set
	Runs       []Run                  // records by directory; none for a study
	Skipped    []record.SkippedRecord // records that could not be read
	Study      *record.Study
	// Capacity is the record of a search for load lines, nil for others.
	Capacity *record.Capacity
	// Configuration is the one in the argument, or "".
	Configuration string

	trials map[string][]*record.Trial // of the study, begun, by configuration
	opened int                        // records that were read for facts
	level  float64                    // of the verdicts of the study, 0 if it has none yet
}

// Run is a record with its directory.
type Run struct {
	Dir string
	*record.Run
}

// Open reads an argument of a comparison.
func Open(name string) (Source, error) {
	s := Source{Name: name, Path: name}
	info, err := os.Stat(name)
	if err != nil {
		if i := strings.LastIndexByte(name, '#'); i > 0 {
			s.Path, s.Configuration = name[:i], name[i+1:]
		}
	} else if !info.IsDir() && record.KindOf(filepath.Base(name)) != "" {
		s.Path = filepath.Dir(name) // name is a file of the record
	}
	kind := record.KindIn(s.Path)
	if kind == record.KindStudy {
		return s.openStudy()
	}
	if kind == record.KindCapacity && s.Configuration == "" {
		return s.openCapacity()
	}
	if s.Configuration != "" {
		return s, fmt.Errorf("%s is not a study, so it has no configuration %q", s.Path, s.Configuration)
	}
	if kind == record.KindRun {
		r, err := record.OpenRun(s.Path)
		s.Runs = []Run{{s.Path, r}}
		return s, err
	}
	return s.openAll()
}

func (s Source) openStudy() (Source, error) {
	study, err := record.OpenStudy(s.Path)
	if err != nil {
		return s, err
	}
	s.Study, s.trials = study, map[string][]*record.Trial{}
	j := newJudgement(study)
	if j.look(); j.silent == "" {
		s.level = j.rules.level
	}
	for _, t := range j.final {
		if t.Kind == record.TrialCompared && t.Status.Begun() {
			s.trials[t.Configuration] = append(s.trials[t.Configuration], t)
		}
	}
	if s.Configuration == "" {
		return s, nil
	}
	var known []string
	for _, c := range study.Configurations {
		if c.ID == s.Configuration {
			return s, nil
		}
		known = append(known, c.ID)
	}
	return s, fmt.Errorf("study %s has no configuration %q (it has %s)", s.Path, s.Configuration, some(known))
}

// openAll reads every record below a directory.
func (s Source) openAll() (Source, error) {
	runs, studies, err := find(s.Path)
	switch {
	case err != nil:
		return s, err
	case len(runs) == 0 && len(studies) == 1:
		return Open(studies[0])
	case len(runs) == 0 && len(studies) > 1:
		return s, fmt.Errorf("%s has %d studies. Name one of them, for example %s", s.Path, len(studies), studies[0])
	}
	for _, dir := range runs {
		r, err := record.OpenRun(dir)
		if err != nil {
			s.Skipped = append(s.Skipped, record.SkippedRecord{Record: dir, Problem: err.Error()})
			continue
		}
		s.Runs = append(s.Runs, Run{dir, r})
	}
	if len(s.Runs) == 0 {
		return s, fmt.Errorf("none of the %d records in %s can be read: %s", len(runs), s.Path, s.Skipped[0].Problem)
	}
	return s, nil
}

// find returns the directories of runs, and those of studies and capacities, at or below a directory.
func find(top string) (runs, studies []string, err error) {
	all, err := record.Find(top, record.KindRun, record.KindStudy, record.KindCapacity)
	for _, dir := range all {
		if record.KindIn(dir) == record.KindRun {
			runs = append(runs, dir)
		} else {
			studies = append(studies, dir)
		}
	}
	const give = "Give the directory of a record, of a study, or of several records"
	switch info, _ := os.Stat(top); {
	case errors.Is(err, fs.ErrNotExist):
		err = fmt.Errorf("%s does not exist. %s", top, give)
	case err != nil:
		err = fmt.Errorf("cannot search %s for records: %w", top, err)
	case len(runs)+len(studies) > 0:
	case record.KindIn(top) != "":
		err = fmt.Errorf("%s is the record of a %s. Runs and studies are needed here, or two records of that kind", top, record.KindIn(top))
	case info != nil && !info.IsDir():
		err = fmt.Errorf("%s is a file. %s", top, give)
	default:
		err = fmt.Errorf("%s has no record: there is no %s and no %s in it or below. %s", top, record.RunFile, record.StudyFile, give)
	}
	return runs, studies, err
}

// Sides turns sources into the sides of a comparison. Studies are matched configuration by configuration. Next to a
// record, the side of a study is its baseline. Without metrics, the default ones are compared.
func Sides(sources []Source, metrics []string) []Side {
	matched := true
	for i := range sources {
		matched = matched && sources[i].Study != nil && sources[i].Configuration == ""
	}
	var sides []Side
	for i := range sources {
		s := &sources[i]
		switch {
		case s.Capacity != nil:
			sides = append(sides, s.capacity())
		case s.Study == nil:
			sides = append(sides, s.side(metrics))
		case matched:
			for _, c := range s.Study.Configurations {
				side := s.configuration(c.ID, metrics)
				side.Point = c.ID
				sides = append(sides, side)
			}
		case s.Configuration == "":
			sides = append(sides, s.configuration(s.Study.BaselineID(), metrics))
		default:
			sides = append(sides, s.configuration(s.Configuration, metrics))
		}
	}
	return sides
}

func (s *Source) side(metrics []string) Side {
	side := Side{Name: s.Name}
	for _, r := range s.Runs {
		side.Trials = append(side.Trials, newTrial(r.Dir, r.Run, metrics))
	}
	for _, skipped := range s.Skipped {
		side.Trials = append(side.Trials, Trial{Record: skipped.Record, Why: "unreadable"})
	}
	return side
}

func newTrial(dir string, r *record.Run, metrics []string) Trial {
	if len(metrics) == 0 {
		metrics = kept(classes(r))
	}
	t := Trial{
		Record: dir, Started: r.Started, Values: Values(r, metrics), NoAnswer: NoAnswer(r, metrics), Facts: newFacts(r),
	}
	t.Why, t.Doubts = reasonsOf(r.Validity)
	switch {
	case t.Why != "":
	case r.Status == record.Failed, r.Status == record.Killed:
		t.Why = string(r.Status)
	case len(t.Values) == 0:
		t.Why = "nothing was measured"
	}
	return t
}

// reasonsOf returns the first finding that makes a result invalid, and the ids of its warnings.
func reasonsOf(findings []measure.Finding) (why string, doubts []string) {
	for _, f := range findings {
		switch {
		case f.Severity == measure.Invalid && why == "":
			why = f.ID
		case f.Severity == measure.Warning && !slices.Contains(doubts, f.ID):
			doubts = append(doubts, f.ID)
		}
	}
	return why, doubts
}

func (s *Source) configuration(id string, metrics []string) Side {
	side := Side{Name: cmp.Or(s.Label, s.Path) + "#" + id, Study: s.Path}
	for _, c := range s.Study.Configurations {
		if c.ID == id {
			side.Batch = s.Study.Specification.BatchOf(c.Levels)
			for path := range c.Set {
				side.Varied = append(side.Varied, path)
			}
		}
	}
	slices.Sort(side.Varied)
	side.Level, side.Until = s.level, s.Study.Specification.UntilDecided
	facts := s.facts(id)
	if c := s.Study.Capacity; c != nil {
		facts["capacity.rate"] = figure.Rate(c.Rate) + "/s"
	}
	for _, t := range s.trials[id] {
		side.Trials = append(side.Trials, s.trial(t, facts, metrics))
	}
	return side
}

// trial takes the values from the list of trials and, if a metric is missing, from the record.
func (s *Source) trial(t *record.Trial, facts Facts, metrics []string) Trial {
	trial := Trial{Block: t.Block, Values: t.Values, NoAnswer: t.NoAnswer, Facts: facts}
	if t.Record != "" {
		trial.Record = filepath.Join(s.Path, t.Record)
	}
	if t.Started != nil {
		trial.Started = *t.Started
	}
	trial.Why, trial.Doubts = reasonsOf(t.Validity)
	if t.Status != record.TrialDone {
		trial.Why = string(t.Status)
	}
	lacks := func(name string) bool { _, ok := t.Values[name]; return !ok }
	if trial.Why == "" && filepath.IsLocal(t.Record) && slices.ContainsFunc(metrics, lacks) {
		if r, err := record.OpenBelow(s.Path, t.Record); err == nil {
			trial.Values, trial.NoAnswer = Values(r, metrics), NoAnswer(r, metrics)
		}
	}
	return trial
}

// maxOpened bounds the records of a study that are read for facts, because a study may have a thousand configurations.
const maxOpened = 100

// facts returns those of the first valid trial's record or, if that is gone, what the study knows.
func (s *Source) facts(id string) Facts {
	for _, t := range s.trials[id] {
		if !counts(t) || !filepath.IsLocal(t.Record) || s.opened >= maxOpened {
			continue
		}
		s.opened++
		if r, err := record.OpenBelow(s.Path, t.Record); err == nil {
			return newFacts(r)
		}
		break
	}
	f := Facts{partial: ""}
	f.put("", s.Study.Base)
	f.addEnvironment(s.Study.Environment)
	f.put("tool", s.Study.Tool)
	if l := s.Study.Specification.Lab; l != nil {
		f.addLab(*l)
	}
	for _, c := range s.Study.Configurations {
		if c.ID == id {
			f.setAll(c.Set)
		}
	}
	f.drop()
	return f
}
