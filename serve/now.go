package serve

import (
	"bytes"
	"context"
	"html/template"
	"path"

	"github.com/plimsoll-bench/plimsoll/internal/contain"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/report"
)

// newNow returns what says in one line what a record that is being written is at. It costs next to nothing, so it can
// be said every second. ready is called when there is something to say.
func newNow(ctx context.Context, e Entry, dir string, ready func()) func() template.HTML {
	if !report.Follows(e.Kind) {
		return (&otherNow{kind: e.Kind, dir: dir, path: e.Path, root: e.root}).text
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
	return escaped(report.NewestText(n.head, l))
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
	report.Tidy(&text)
	//nolint:gosec // escaped here
	return template.HTML(template.HTMLEscapeString(text))
}

// otherNow is what a record without intervals of its own is at.
type otherNow struct {
	kind, dir, path, root string
	state                 string
	last                  template.HTML
}

var nowTemplate = template.Must(template.New("").Parse(`{{.Text}}{{range .Running}}; <a href="/live/{{.ID}}">{{.Text}}</a>{{end}}`))

func (n *otherNow) text() template.HTML {
	state := stateOf(n.dir, true)
	if n.state != "" && state == n.state {
		return n.last
	}
	now, seldom := report.NowOf(n.kind, n.dir)
	if now.Text == "" {
		return n.last
	}
	type link struct{ ID, Text string }
	say := struct {
		Text    string
		Running []link
	}{Text: now.Text}
	for _, x := range now.Running {
		say.Running = append(say.Running, link{(&Folder{prefix: n.root}).idOf(path.Join(n.path, x.Path)), x.Text})
	}
	if n.last = filled(nowTemplate, say); seldom {
		n.state = state
	}
	return n.last
}
