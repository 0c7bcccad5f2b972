package serve

import (
	"context"
	"path"

	"github.com/plimsoll-bench/plimsoll/internal/contain"
	"github.com/plimsoll-bench/plimsoll/internal/markup"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/report"
)

// newNow returns what says in one line what a record that is being written is at. It costs next to nothing, so it can
// be said every second. ready is called when there is something to say.
func newNow(ctx context.Context, e Entry, dir string, ready func()) func() markup.HTML {
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

func (n *runNow) text() markup.HTML {
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

func escaped(text string) markup.HTML {
	report.Tidy(&text)
	return markup.Text(text)
}

// otherNow is what a record without intervals of its own is at.
type otherNow struct {
	kind, dir, path, root string
	state                 string
	last                  markup.HTML
}

func (n *otherNow) text() markup.HTML {
	state := stateOf(n.dir, true)
	if n.state != "" && state == n.state {
		return n.last
	}
	now, seldom := report.NowOf(n.kind, n.dir)
	if now.Text == "" {
		return n.last
	}
	var w markup.Writer
	w.Add("%s", now.Text)
	for _, x := range now.Running {
		w.Add(`; <a href="/live/%s">%s</a>`, (&Folder{prefix: n.root}).idOf(path.Join(n.path, x.Path)), x.Text)
	}
	if n.last = w.HTML(); seldom {
		n.state = state
	}
	return n.last
}
