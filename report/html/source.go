package html

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/plimsoll-bench/plimsoll/internal/contain"
	"github.com/plimsoll-bench/plimsoll/internal/safeopen"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/report"
	"github.com/plimsoll-bench/plimsoll/report/html/course"
)

// Source is a record that was opened for a page. One of Run, Study and Comparison is set.
type Source struct {
	// Dir is its directory; Name is its name among others.
	Dir  string
	Name string

	Run    *record.Run
	Course *course.Course
	Events []measure.Event
	// Samples are the series of machines and servers, by source and name.
	Samples *Samples

	Study      *record.Study
	Comparison *record.ComparisonReport
	// kept are the distributions that a comparison was kept with.
	kept keptSpectra

	// Drill is a drill; its rounds are records of runs. Round is the run of the round that is shown over time, the one
	// under way or one with the verdict of the drill, nil if there is none. Standing is the state of a running drill.
	Drill       *record.Drill
	Round       *Source
	RoundNumber int
	Standing    *record.DrillStanding

	// Probe is a probe of storage, Seconds its timeline.
	Probe   *record.Probe
	Seconds []record.ProbeSecond

	// Suite is a suite with its parts, Parts are the records of those that can be read, by name.
	Suite *report.Suite
	Parts map[string]*Source

	// Trial is the record of a typical trial, preferably of the baseline; nil if there is none. TrialSums are the
	// checksums of the trials' own lists, in the format of sha256sum.
	Trial       *record.Run
	TrialNumber int
	TrialSums   string

	// other is a record of a kind that has no charts.
	other record.Result

	// again and command reproduce it, from before long texts were cut.
	again, command exact
	lab            exact // the specification of the lab that was loaded

	// Sums are the checksums of the files, as sha256sum prints them.
	Sums string
	// Problems are parts that could not be read, and why. The rest is shown.
	Problems []string
}

// Open reads a record of any kind that a page can show: the directory of a run or a study, or a comparison, as a
// file or in a directory.
func Open(path string) (*Source, error) {
	s := &Source{Dir: path, Name: visible(filepath.Base(filepath.Clean(path)))}
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("cannot open the record %s: %w", path, cause(err))
	}
	open := map[string]func(string) error{
		record.KindSuite: s.openSuite, record.KindStudy: s.openStudy, record.KindDrill: s.openDrill,
		record.KindProbe:      s.openProbe,
		record.KindComparison: s.openComparison, record.KindRun: s.openRun, "": s.openRun, // whose error says what is missing
	}[record.KindIn(path)]
	switch {
	case !info.IsDir():
		open = s.openComparison
	case open == nil:
		open = s.openOther
	}
	err = open(path)
	if err != nil {
		return nil, err
	}
	if sums, err := safeopen.ReadFile(path, record.SumsFile, 1<<16); err == nil {
		s.Sums = string(sums)
	}
	return s, nil
}

// result is the record, or the suite with its parts.
func (s *Source) result() any {
	switch {
	case s.Run != nil:
		return s.Run
	case s.Study != nil:
		return s.Study
	case s.Drill != nil:
		return s.Drill
	case s.Probe != nil:
		return s.Probe
	case s.Suite != nil:
		return s.Suite
	case s.Comparison != nil:
		return s.Comparison
	}
	return s.other
}

func (s *Source) openOther(dir string) error {
	r, err := record.Open(dir)
	if err != nil {
		return err
	}
	s.command = exactCommand(r.Common().Command)
	Tidy(r)
	s.other = r
	return nil
}

func cause(err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}

func (s *Source) openRun(dir string) error {
	early := courseOf(dir)
	r, err := record.OpenRun(dir)
	if err != nil {
		return err
	}
	s.Run = r
	s.note(func() (err error) {
		if early != nil {
			read := <-early
			s.Course, err = read.course, read.err
			return err
		}
		s.Course, err = course.Read(dir, r)
		return err
	})
	s.note(func() (err error) { s.Events, err = record.Events(dir); return err })
	if len(r.Series) > 0 {
		s.note(func() (err error) { s.Samples, err = readSamples(dir, r); return err })
	}
	spec := r.Specification
	spec.Out = ""
	s.again, s.command = exactSpec(spec), exactCommand(r.Command)
	if r.Lab != nil {
		l := r.Lab.Specification
		l.Labels = nil
		s.lab = exactSpec(l)
	}
	Tidy(r)
	Tidy(&s.Events)
	Tidy(s.Course)
	return nil
}

// readCourse is a course that was read beside something else.
type readCourse struct {
	course *course.Course
	err    error
}

// courseOf begins to read the course of a complete run while its checksums are verified, which takes as long for the
// record of a day. It returns nil if the record must be opened first, because opening recovers an incomplete run.
func courseOf(dir string) <-chan readCourse {
	b, err := safeopen.ReadFile(dir, record.RunFile, safeopen.MaxDocument)
	if err != nil {
		return nil
	}
	var r record.Run
	if safeopen.Unmarshal(b, &r) != nil || r.Kind != record.KindRun || r.Status == record.Running {
		return nil
	}
	done := make(chan readCourse, 1)
	go func() {
		var read readCourse
		read.err = contain.Panic("the course of the run", func() (err error) {
			read.course, err = course.Read(dir, &r)
			return err
		})
		done <- read
	}()
	return done
}

// note reads a part of a record that the rest can do without.
func (s *Source) note(read func() error) {
	if err := read(); err != nil {
		s.Problems = append(s.Problems, visible(err.Error()))
	}
}

func (s *Source) openStudy(dir string) error {
	study, err := record.OpenStudy(dir)
	if err != nil {
		return err
	}
	s.openTrials(study)
	spec := study.Specification
	spec.Out, spec.Run.Out = "", ""
	s.again, s.command = exactSpec(spec), exactCommand(study.Command)
	Tidy(study)
	s.Study = study
	return nil
}

// openComparison reads a comparison: a record, or a file by itself, which has no checksums.
func (s *Source) openComparison(path string) error {
	open := record.OpenComparison
	switch {
	case safeopen.Exists(path, record.ComparisonFile):
	case filepath.Base(path) == record.ComparisonFile:
		path = filepath.Dir(path)
	default:
		open = record.OpenComparisonFile
	}
	c, err := open(path)
	if err != nil {
		return err
	}
	s.openSpectra(c)
	s.Comparison = c
	return nil
}
