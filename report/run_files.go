package report

import (
	"github.com/plimsoll-bench/plimsoll/internal/contain"
	"github.com/plimsoll-bench/plimsoll/internal/safeopen"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/report/course"
)

// runFiles are what the page of a run shows besides its main file.
type runFiles struct {
	*Source
	Run    *record.Run
	Course *course.Course
	Events []measure.Event
	// Samples are the series of machines and servers, by source and name.
	Samples *Samples
	lab     exact // the specification of the lab that was loaded
}

func openRun(into *Source, dir string) error {
	early := courseOf(dir)
	r, err := record.OpenRun(dir)
	if err != nil {
		return err
	}
	s := &runFiles{Source: into, Run: r}
	into.Result, into.files = r, s
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
