package serve

import (
	"bytes"
	"context"
	"fmt"
	"html/template"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/contain"
	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/report"
	"github.com/plimsoll-bench/plimsoll/report/html"
)

// newNow returns what says in one line what a record that is being written is at. It costs next to nothing, so it can
// be said every second. ready is called when there is something to say.
func newNow(ctx context.Context, e Entry, dir string, ready func()) func() template.HTML {
	switch e.Kind {
	case record.KindSuite:
		return (&suiteNow{dir: dir, path: e.Path}).text
	case record.KindStudy:
		return (&studyNow{dir: dir, path: e.Path}).text
	case record.KindDrill:
		return (&drillNow{dir: dir, path: e.Path}).text
	case record.KindProbe:
		return (&probeNow{dir: dir}).text
	}
	r := &runNow{dir: dir}
	go func() {
		_ = contain.Panic("the newest line", func() error { r.last.follow(ctx, dir, ready); return nil })
	}()
	return r.text
}

// runNow is the newest interval of a run.
type runNow struct {
	dir  string
	last newest
	head *record.Run
}

func (n *runNow) text() template.HTML {
	l, known := n.last.interval()
	switch {
	case !known: // its past is being read
		return ""
	case l == nil:
		return "Nothing is measured yet."
	}
	if n.head == nil || len(n.head.Classes) == 0 {
		n.head, _ = readMain[record.Run](n.dir, record.RunFile) // it is tried again as long as it cannot be read
	}
	if n.head == nil {
		return ""
	}
	return escaped(nowText(n.head, l))
}

// filled is a template with its data, "" if it cannot be filled.
func filled(t *template.Template, data any) template.HTML {
	var b bytes.Buffer
	if t.Execute(&b, data) != nil {
		return ""
	}
	//nolint:gosec // html/template made it
	return template.HTML(b.String())
}

func escaped(text string) template.HTML {
	html.Tidy(&text)
	//nolint:gosec // escaped here
	return template.HTML(template.HTMLEscapeString(text))
}

// nowText says what happened in an interval. Percentiles stay those of each class: there is nothing here to merge.
func nowText(r *record.Run, l *record.IntervalLine) string {
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
		if x, ok := c.Times[timeKind(r)]; ok && x.Count >= measure.MinCount(0.99) && len(times) < 4 && !partOf(r, c.Class) {
			text := report.NoAnswer
			if x.P99 != record.NoAnswer {
				text = figure.Duration(time.Duration(x.P99))
			}
			times = append(times, c.Class+" "+text)
		}
	}
	if len(times) > 0 {
		text += "; p99 of " + strings.Join(times, ", ")
	}
	return report.Disclosed(text, r.Target.Kind)
}

// timeKind is the kind of latencies that count.
func timeKind(r *record.Run) string {
	if r.Scheduled {
		return "response"
	}
	return "service"
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

type studyNow struct {
	dir, path string
	state     string
	last      template.HTML
}

var studyTemplate = template.Must(template.New("").Parse(`{{.Text}}{{range .Running}}; <a href="/live/{{.ID}}">trial {{.Number}} ({{.Configuration}}) is running</a>{{end}}`))

type runningTrial struct {
	ID            string
	Number        int
	Configuration string
}

// text reads the study only if it has changed.
func (n *studyNow) text() template.HTML {
	state := stateOf(n.dir, true)
	if state == n.state {
		return n.last
	}
	s, err := record.OpenStudy(n.dir)
	if err != nil {
		return n.last
	}
	html.Tidy(s)
	n.state, n.last = state, filled(studyTemplate, studyProgress(s, n.path, n.dir))
	return n.last
}

type progress struct {
	Text    string
	Running []runningTrial
}

func studyProgress(s *record.Study, where, dir string) progress {
	var p progress
	last := map[int]*record.Trial{} // by number: an earlier attempt does not count
	for i := range s.Trials {
		t := &s.Trials[i]
		if l := last[t.Number]; t.Kind != record.TrialSearch && (l == nil || t.Attempt >= l.Attempt) {
			last[t.Number] = t
		}
		if t.Status == record.TrialRunning && t.Record != "" {
			if _, held := record.Holder(filepath.Join(dir, filepath.FromSlash(t.Record))); held || len(p.Running) == 0 {
				p.Running = append(p.Running, runningTrial{idOf(path.Join(where, t.Record)), t.Number, t.Configuration})
			}
		}
	}
	counts := map[record.TrialStatus]int{}
	for _, t := range last {
		counts[t.Status]++
	}
	p.Text = fmt.Sprintf("%d of %s done", counts[record.TrialDone], figure.Plural(len(last), "trial"))
	if n := counts[record.TrialFailed] + counts[record.TrialTimeout]; n > 0 {
		p.Text += fmt.Sprintf(", %d failed", n)
	}
	return p
}
