package serve

import (
	"errors"
	"fmt"
	"html/template"
	"path"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/contain"
	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/internal/safeopen"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/report/html/chart"
)

// Bounds of the small lines in the list. A run of up to ten minutes is read in seconds, a longer one in the merged
// intervals of its record.
const (
	coursePoints   = 60     // of a line
	courseLines    = 600    // about how many intervals of a run are wanted
	mostOfRecord   = 12_000 // intervals of a run that has no merged ones
	mostOfPage     = 24_000 // intervals read for one page; what is missing then is drawn by the next one
	mostCourses    = 4_000  // courses kept
	mostWithCourse = 100    // rows of a page that have one
)

// course is how a record went over time, as the list shows it.
type course struct {
	Line template.HTML // empty if there is nothing to draw
	Last string        // the throughput of the newest interval, empty if it is not known
}

// courses keeps what was drawn, by the id of the record.
type courses struct {
	mu   sync.Mutex
	kept map[string]keptCourse
}

type keptCourse struct {
	state string // of the files
	course
}

// of returns the course of a record. lines is the number of intervals that may still be read for this page, and is
// reduced by those that were read.
func (c *courses) of(e Entry, dir string, lines *int) course {
	runDir := dir
	if e.Kind == record.KindDrill {
		runDir = filepath.Join(dir, record.RoundsDir, "1")
	}
	state := fmt.Sprint(e.Live) + stateOfFile(dir, record.StudyFile) + stateOfFile(dir, record.DrillFile) +
		stateOfFile(dir, record.TimelineFile) +
		stateOfFile(runDir, record.RunFile) + stateOfFile(runDir, record.IntervalsFile)
	c.mu.Lock()
	old, known := c.kept[e.ID]
	c.mu.Unlock()
	if known && old.state == state {
		return old.course
	}
	if *lines <= 0 {
		return course{}
	}
	drawn := course{}
	_ = contain.Panic("the small line of "+e.Place, func() (err error) { // a damaged record has none
		drawn, err = drawCourse(e, dir, lines)
		return err
	})
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.kept == nil || len(c.kept) >= mostCourses {
		c.kept = map[string]keptCourse{}
	}
	c.kept[e.ID] = keptCourse{state, drawn}
	return drawn
}

func drawCourse(e Entry, dir string, lines *int) (course, error) {
	switch e.Kind {
	case record.KindRun:
		return runCourse(dir, nil, lines)
	case record.KindDrill:
		return drillCourse(dir, lines)
	case record.KindStudy:
		return studyCourse(dir)
	case record.KindProbe:
		return probeCourse(dir, lines)
	}
	return course{}, nil
}

var errManyLines = errors.New("the run has too many intervals for a small line")

// runCourse draws the successful operations per second of a run. marks are moments of the run in nanoseconds.
func runCourse(dir string, marks []int64, lines *int) (course, error) {
	r, err := readMain[record.Run](dir, record.RunFile)
	if err != nil {
		return course{}, err
	}
	var read []*record.IntervalLine
	var end int64
	err = record.EachMergedLine(dir, lengthOf(dir, r), courseLines, func(l *record.IntervalLine) error {
		*lines--
		if len(read) == mostOfRecord {
			return errManyLines
		}
		end = max(end, l.End)
		read = append(read, l)
		return nil
	})
	if err != nil || len(read) == 0 {
		return course{}, err
	}
	c := courseOf(r, read, end)
	last := read[len(read)-1]
	if seconds := time.Duration(last.End - last.Start).Seconds(); seconds > 0 {
		c.last = float64(tallyOf(r, last).ok) / seconds
	}
	s := chart.Spark{Values: c.values, Measured: c.measured,
		Label: "successful operations per second over " + figure.Duration(time.Duration(end)) + ": " + extremes(c.values[c.measured:])}
	for _, at := range marks {
		s.Marks = append(s.Marks, float64(at)/float64(end)*float64(len(c.values))-0.5)
	}
	//nolint:gosec // package chart escapes every text it draws
	return course{Line: template.HTML(s.Draw()), Last: figure.Rate(c.last) + "/s"}, nil
}

// lengthOf is about how long a run was; one that has no end yet is as long as until its files were written last.
func lengthOf(dir string, r *record.Run) (length time.Duration) {
	for _, p := range r.Phases {
		length = max(length, time.Duration(p.End))
	}
	if length == 0 && safeopen.Exists(dir, record.IntervalsFile) {
		if f, err := safeopen.Open(dir, record.IntervalsFile); err == nil {
			defer f.Close()
			if info, err := f.Stat(); err == nil {
				length = info.ModTime().Sub(r.Started)
			}
		}
	}
	return length
}

// rates are operations per second in evenly long stretches of a run.
type rates struct {
	values   []float64
	measured int // the first stretch of the measured time
	last     float64
}

// courseOf spreads what succeeded in each interval evenly over its time, so that intervals of any length give stretches
// of the same one.
func courseOf(r *record.Run, lines []*record.IntervalLine, end int64) rates {
	n := min(coursePoints, max(2, len(lines)))
	c := rates{values: make([]float64, n), measured: -1}
	width := float64(end) / float64(n)
	for _, l := range lines {
		if l.End <= l.Start || l.Start < 0 {
			continue
		}
		rate := float64(tallyOf(r, l).ok) / float64(l.End-l.Start)
		first := max(0, min(n-1, int(float64(l.Start)/width)))
		if l.Phase == "measure" && c.measured < 0 {
			c.measured = first
		}
		for i := first; i < n; i++ {
			from, to := max(float64(l.Start), float64(i)*width), min(float64(l.End), float64(i+1)*width)
			if to <= from {
				break
			}
			c.values[i] += rate * (to - from) / width * 1e9
		}
	}
	c.measured = max(0, c.measured)
	return c
}

// extremes are the lowest and the highest value.
func extremes(values []float64) string {
	return fmt.Sprintf("lowest %s, highest %s", figure.Rate(slices.Min(values)), figure.Rate(slices.Max(values)))
}

// drillCourse draws the run of the first round, with the moments at which something was broken.
func drillCourse(dir string, lines *int) (course, error) {
	d, err := readMain[record.Drill](dir, record.DrillFile)
	if err != nil {
		return course{}, err
	}
	run, err := record.Below(dir, path.Join(record.RoundsDir, "1"))
	if err != nil {
		return course{}, nil // it has not begun
	}
	var marks []int64
	if len(d.Rounds) > 0 {
		for _, f := range d.Rounds[0].Faults {
			if f.Injected > 0 {
				marks = append(marks, f.Injected)
			}
		}
	}
	return runCourse(run, marks, lines)
}

// studyCourse has a dot for the throughput of each trial, in the order of the plan.
func studyCourse(dir string) (course, error) {
	s, err := readMain[record.Study](dir, record.StudyFile)
	if err != nil {
		return course{}, err
	}
	var values []float64
	for i := range s.Trials {
		t := &s.Trials[i]
		if v, ok := t.Values["throughput"]; ok && t.Status == record.TrialDone && t.Kind != record.TrialSearch {
			values = append(values, v)
		}
	}
	if len(values) < 2 {
		return course{}, nil
	}
	values = thinned(values)
	spark := chart.Spark{Values: values, Dots: true, Label: "throughput of " + figure.Plural(len(values), "trial") + ": " + extremes(values)}
	//nolint:gosec // package chart escapes every text it draws
	return course{Line: template.HTML(spark.Draw())}, nil
}

// probeCourse draws the operations per second of all steps of a probe, one after the other.
func probeCourse(dir string, lines *int) (course, error) {
	seconds, err := record.ProbeTimeline(dir)
	if err != nil {
		return course{}, err
	}
	*lines -= len(seconds)
	var values []float64
	for _, s := range seconds {
		if s.Length > 0 {
			values = append(values, float64(s.Operations)/time.Duration(s.Length).Seconds())
		}
	}
	if len(values) < 2 {
		return course{}, nil
	}
	values = thinned(values)
	spark := chart.Spark{Values: values, Label: "operations per second of all steps: highest " + figure.Rate(slices.Max(values))}
	//nolint:gosec // package chart escapes every text it draws
	return course{Line: template.HTML(spark.Draw())}, nil
}

// thinned are the means of as many stretches as a small line has room for.
func thinned(values []float64) []float64 {
	if len(values) <= coursePoints {
		return values
	}
	list := make([]float64, coursePoints)
	for i := range list {
		from, to := i*len(values)/coursePoints, (i+1)*len(values)/coursePoints
		for _, v := range values[from:to] {
			list[i] += v / float64(to-from)
		}
	}
	return list
}
