package serve

import (
	"html/template"
	"sync"

	"github.com/plimsoll-bench/plimsoll/internal/contain"
	"github.com/plimsoll-bench/plimsoll/report"
)

// Bounds of the small lines in the list.
const (
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
	state := stateOf(dir, e.Live)
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
		s, err := report.SparkOf(e.Kind, dir, lines)
		if err == nil {
			//nolint:gosec // package chart escapes every text it draws
			drawn = course{Line: template.HTML(s.Draw()), Last: s.Last}
		}
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
