package report

import (
	"bytes"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/internal/safeopen"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
)

// Now says in a line what a record that is being written is at.
type Now struct {
	Text string
	// Running are records below it that are being written, too.
	Running []NowPart
}

// NowPart is a record below another one: its path there, and words for a link to it.
type NowPart struct{ Path, Text string }

// Follows reports whether what a record of a kind is at is its newest interval (see [NewestText]).
func Follows(kind string) bool { return named(kind).follows }

// NowOf says what a record of a kind is at, empty if that is not known. If seldom is true, it changes only with the
// files of the record.
func NowOf(kind, dir string) (now Now, seldom bool) {
	k := named(kind)
	if k.now == nil {
		return now, false
	}
	now, err := k.now(dir)
	if err != nil {
		return Now{}, false
	}
	Tidy(&now.Text)
	for i := range now.Running {
		Tidy(&now.Running[i].Text)
	}
	return now, k.seldom
}

// NewestText says what happened in an interval of a run. Percentiles stay those of each class: there is nothing here to
// merge.
func NewestText(r *record.Run, l *record.IntervalLine) string {
	seconds := time.Duration(l.End - l.Start).Seconds()
	if seconds <= 0 {
		return ""
	}
	t := tallyOf(r, l)
	text := fmt.Sprintf("%s, %s: %s ok/s", l.Phase, clock(l.End), figure.Rate(float64(t.ok)/seconds))
	if r.Scheduled {
		text += fmt.Sprintf(" of %s/s offered", figure.Rate(float64(l.Offered)/seconds))
	}
	if t.bad > 0 {
		text += fmt.Sprintf(", %s not ok", figure.Count(t.bad))
	}
	if l.Dropped > 0 {
		text += fmt.Sprintf(", %s dropped", figure.Count(l.Dropped))
	}
	var times []string
	for _, c := range l.Classes {
		if x, ok := c.Times[TimeKind(r)]; ok && x.Count >= measure.MinCount(0.99) && len(times) < 4 && !partOf(r, c.Class) {
			times = append(times, c.Class+" "+durationOr(x.P99, NoAnswer))
		}
	}
	if len(times) > 0 {
		text += "; p99 of " + strings.Join(times, ", ")
	}
	return disclosed(text, r.Target.Software())
}

// TimeKind is the kind of latencies of a run that count.
func TimeKind(r *record.Run) string {
	if r.Scheduled {
		return "response"
	}
	return "service"
}

// timesOf are the latencies of a result of a run that count.
func timesOf(r *record.Run, c *record.ClassResult) *record.Latency {
	if r.Scheduled {
		return c.Response
	}
	return c.Service
}

func partOf(r *record.Run, class string) bool {
	return slices.ContainsFunc(r.Classes, func(c measure.Class) bool { return c.Name == class && c.Part })
}

func clock(ns int64) string {
	return time.Duration(ns).Round(time.Second).String()
}

type tally struct{ ok, bad int64 }

func tallyOf(r *record.Run, l *record.IntervalLine) (t tally) {
	for _, c := range l.Classes {
		if partOf(r, c.Class) {
			continue
		}
		for name, n := range c.Outcomes {
			if slices.ContainsFunc(r.Outcomes, func(o measure.Outcome) bool { return o.Name == name && o.Success }) {
				t.ok += n
			} else {
				t.bad += n
			}
		}
	}
	return t
}

// holds says whether the record in a directory below another one is being written.
func holds(top, name string) bool {
	dir, err := record.Below(top, name)
	if err != nil {
		return false
	}
	_, held := record.Holder(dir)
	return held
}

// lastLine returns the last complete line of a growing file, nil if there is none.
func lastLine(name string) []byte {
	f, err := safeopen.Open(filepath.Dir(name), filepath.Base(name))
	if err != nil {
		return nil
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil
	}
	b := make([]byte, min(info.Size(), lineAtMost))
	if _, err := f.ReadAt(b, info.Size()-int64(len(b))); err != nil {
		return nil
	}
	end := bytes.LastIndexByte(b, '\n')
	if end < 0 {
		return nil
	}
	start := bytes.LastIndexByte(b[:end], '\n') + 1
	if start == 0 && int64(len(b)) < info.Size() {
		return nil // its beginning is further back
	}
	return b[start:end]
}

// lineAtMost is the longest last line of a timeline.
const lineAtMost = 1 << 16
