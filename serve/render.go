package serve

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/contain"
	"github.com/plimsoll-bench/plimsoll/internal/markup"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/report"
	"github.com/plimsoll-bench/plimsoll/report/html"
)

// The pause between two pictures of a running record, as a multiple of the time to make one, so that making them takes
// at most 1/61 of a core.
const (
	restFor  = 60
	shortest = time.Second
)

// maxKept bounds the bytes of pictures that are kept.
const maxKept = 64 << 20

// picture is the content of a page about a record: the report without its frame.
type picture struct {
	// id is different for each picture of this process and of any other one.
	id    string
	title string
	// body is the content of the element main, followed by the data of its script.
	body markup.HTML
	made time.Time
	took time.Duration
	// state is that of the files it was made of.
	state string
	// now is the line above the picture of a lab.
	now markup.HTML
}

// fresh says whether a picture of a running record need not be replaced yet.
func (p *picture) fresh(now time.Time, rest int) bool {
	return now.Sub(p.made) < max(shortest, time.Duration(rest)*p.took)
}

// pages makes pictures, one of a record at a time, and keeps them.
type pages struct {
	tool    record.Tool
	open    func(dir string) (*report.Source, error)
	compare report.Comparer
	rest    int // restFor, but in tests, which cannot wait
	slots   chan struct{}
	born    string
	count   atomic.Int64

	mu   sync.Mutex
	kept map[string]*keep // by id of the record
}

// keep is the last picture of a record; its lock is held while a new one is made.
type keep struct {
	mu   sync.Mutex
	last *picture
	used time.Time // guarded by pages.mu
	size int       // guarded by pages.mu
}

func newPages(o Options) *pages {
	open := o.Open
	if open == nil {
		open = report.Open
	}
	born := strconv.FormatInt(time.Now().UnixNano(), 36)
	return &pages{tool: o.Tool, open: open, compare: o.Compare, rest: restFor, slots: make(chan struct{}, atOnce),
		kept: map[string]*keep{}, born: born}
}

// of returns the picture of a record as it is now. While the record is being written the picture may be as old as
// [picture.fresh] allows.
func (p *pages) of(id, dir string) (*picture, error) {
	k := p.place(id)
	k.mu.Lock()
	defer k.mu.Unlock()
	_, held := record.Holder(dir) // before the files are looked at: what ends in between is shown by the next picture
	state := stateOf(dir, held)
	if k.last != nil && (k.last.state == state || held && k.last.fresh(time.Now(), p.rest)) {
		return k.last, nil
	}
	start := time.Now()
	pic, err := p.picture([]shown{{dir, held}})
	if err != nil {
		return nil, err
	}
	pic.made, pic.state = time.Now(), state
	pic.took = pic.made.Sub(start)
	k.last = pic
	p.forget(k, len(pic.body))
	return pic, nil
}

func (p *pages) place(id string) *keep {
	p.mu.Lock()
	defer p.mu.Unlock()
	k := p.kept[id]
	if k == nil {
		k = &keep{}
		p.kept[id] = k
	}
	k.used = time.Now()
	return k
}

// forget drops the least recently used pictures until the others fit. k has one of a new size.
func (p *pages) forget(k *keep, size int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	k.size = size
	sum := 0
	for _, x := range p.kept {
		sum += x.size
	}
	for sum > maxKept && len(p.kept) > 1 {
		oldest := ""
		for id, x := range p.kept {
			if x != k && (oldest == "" || x.used.Before(p.kept[oldest].used)) {
				oldest = id
			}
		}
		sum -= p.kept[oldest].size
		delete(p.kept, oldest)
	}
}

// shown is a record to show, and whether it is being written.
type shown struct {
	dir  string
	held bool
}

// write makes the page that `plimsoll report` makes.
func (p *pages) write(records []shown) (page []byte, err error) {
	var b bytes.Buffer
	err = p.make(records, func(page *report.Page) error { return html.WritePage(&b, page) })
	return b.Bytes(), err
}

// picture makes the picture of records.
func (p *pages) picture(records []shown) (pic *picture, err error) {
	err = p.make(records, func(page *report.Page) (err error) {
		pic, err = p.pictureOf(page)
		return err
	})
	return pic, err
}

func (p *pages) pictureOf(page *report.Page) (*picture, error) {
	body, err := html.Content(page)
	return &picture{id: fmt.Sprintf("%s-%d", p.born, p.count.Add(1)), title: page.Title, body: body}, err
}

// make calls do with the page of records. A record that somebody writes is not killed, although its files look so.
func (p *pages) make(records []shown, do func(*report.Page) error) error {
	p.slots <- struct{}{}
	defer func() { <-p.slots }()
	return contain.Panic("the page", func() error {
		sources := make([]*report.Source, len(records))
		for i, x := range records {
			s, err := p.open(x.dir)
			if err != nil {
				return err
			}
			if x.held {
				s.GoesOn()
			}
			sources[i] = s
		}
		page, err := report.NewPage(sources, report.PageOptions{Tool: p.tool, Compare: p.compare})
		if err != nil {
			return err
		}
		return do(page)
	})
}

// stateOf is a text that changes with the files of a record.
func stateOf(dir string, held bool) string {
	var b strings.Builder
	fmt.Fprint(&b, held)
	b.WriteString(stateOfFiles(dir))
	if held {
		b.WriteString(stateOfDrill(dir))
	}
	b.WriteString(stateOfParts(dir))
	return b.String()
}

// stateOfFiles changes with the files of one record.
func stateOfFiles(dir string) string {
	var b strings.Builder
	for _, name := range append(record.Files(), record.SumsFile) {
		b.WriteString(stateOfFile(dir, name))
	}
	return b.String()
}

// stateOfFile changes with a regular file; it is empty if there is none.
func stateOfFile(dir, name string) string {
	info, err := os.Lstat(filepath.Join(dir, name))
	if err != nil || !info.Mode().IsRegular() {
		return ""
	}
	return fmt.Sprintf(" %s %d %d", name, info.Size(), info.ModTime().UnixNano())
}

// stateOfDrill changes with the round of a drill that is under way.
func stateOfDrill(dir string) string {
	s, err := record.ReadStatus(dir)
	if err != nil || s == nil {
		return ""
	}
	stage := s.Stage()
	state := fmt.Sprint(" ", s.Round, stage, len(s.Notes), s.Writes)
	round, err := record.Below(dir, record.RoundsDir+"/"+strconv.Itoa(s.Round))
	if err != nil {
		return state
	}
	return state + stateOfFiles(round)
}
