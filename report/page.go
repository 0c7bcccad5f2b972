package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/plimsoll-bench/plimsoll/record"
)

// Page is what a page about one or more records has, as data.
type Page struct {
	Title    string
	Answers  []Answer
	Sections []Section
	// MadeBy says which program made the page.
	MadeBy string
}

// Answer is the first part of a page. It is that of the document of a record.
type Answer struct {
	// ID links to it from elsewhere; Headline is the title, "" where the page has it.
	ID, Headline string
	*Document
}

// PageOptions are the options of a page.
type PageOptions struct {
	// Tool is the program that writes the page.
	Tool record.Tool
	// Title is that of the page; absent, it follows from the records.
	Title string
	// Compare compares several records; without it they are shown side by side.
	Compare Comparer
}

// NewPage makes one page about one or more records.
func NewPage(sources []*Source, o PageOptions) (*Page, error) {
	p := &Page{MadeBy: Version(o.Tool)}
	switch len(sources) {
	case 0:
		return nil, fmt.Errorf("a report needs a record: give the directory of one")
	case 1:
		p.add(sources[0], "")
		for i := range p.Answers {
			p.Answers[i].Headline = "" // it is the title of the page
		}
	default:
		p.several(sources, o.Compare)
	}
	if o.Title != "" {
		p.Title = bounded(o.Title)
	}
	return p, nil
}

// add adds everything about a record. Its IDs get a prefix, which makes them unique where a page has several records.
func (p *Page) add(s *Source, prefix string) { p.put(s.Document(), prefix) }

func (p *Page) put(d *Document, prefix string) {
	a := Answer{ID: prefix + "answer", Headline: d.Title, Document: d}
	if d.Sentence {
		a.Headline = Capitalised(d.Title)
	}
	if d.Drawn != nil {
		d.Drawn.Chart.About().ID = prefix + d.Drawn.Chart.About().ID
	}
	p.Title = cmp.Or(p.Title, a.Headline)
	p.Answers = append(p.Answers, a)
	p.Sections = append(p.Sections, arranged(d.Sections, prefix)...)
}

// arranged are the sections of a document under the headings of a page: those of one group are parts of one section.
func arranged(list []Section, prefix string) []Section {
	var page []Section
	for i := range list {
		s := list[i]
		if !s.filled() && s.Lead == "" {
			continue
		}
		if !s.Named {
			s.Title = Capitalised(s.Title)
		}
		s.prefix(prefix)
		if s.Parts != nil || s.Track != nil {
			page = append(page, s)
			continue
		}
		group := Section{ID: s.ID, Title: s.Title}
		part := s
		part.ID, part.Title = "", ""
		if s.Group != "" {
			group.ID, group.Title, part.Title = prefix+slug(s.Group), Capitalised(s.Group), s.Title
			if n := len(page); n > 0 && page[n-1].ID == group.ID {
				page[n-1].Parts = append(page[n-1].Parts, part.captioned(s.Title, group.Title))
				continue
			}
		}
		group.Parts = []Section{part.captioned(s.Title, group.Title)}
		page = append(page, group)
	}
	return page
}

// captioned gives the table of a section the name that the section has, and puts notes below it.
func (s Section) captioned(title, group string) Section {
	if s.Table == nil || len(s.Table.Rows) == 0 {
		s.Table = nil
		return s
	}
	t := *s.Table
	t.Caption, t.Folded, t.Quiet = cmp.Or(title, group), s.Long || s.Appendix, true
	t.Notes = nil
	for i, n := range s.Notes {
		t.Notes = append(t.Notes, fmt.Sprintf("[%d] %s", i+1, n))
	}
	s.Table = &t
	return s
}

// prefix puts a text before all IDs of a section.
func (s *Section) prefix(prefix string) {
	if s.ID != "" || s.Title != "" {
		s.ID = prefix + cmp.Or(s.ID, slug(s.Title))
	}
	if prefix == "" {
		return
	}
	for _, f := range s.Figures {
		f.Chart.About().ID = prefix + f.Chart.About().ID
		if f.Zoom != nil {
			f.Zoom.Data = prefix + f.Zoom.Data
		}
	}
	if s.Track != nil {
		s.Track.ID = prefix + s.Track.ID
	}
	s.Parts = slices.Clone(s.Parts)
	for i := range s.Parts {
		if part := &s.Parts[i]; part.ID == "" {
			title := part.Title
			part.Title = ""
			part.prefix(prefix)
			part.Title = title
		} else {
			part.prefix(prefix)
		}
	}
}

func slug(s string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(s) {
		switch {
		case r >= 'a' && r <= 'z' || r >= '0' && r <= '9':
			b.WriteRune(r)
		case b.Len() > 0 && !strings.HasSuffix(b.String(), "-"):
			b.WriteByte('-')
		}
		if b.Len() > 40 {
			break
		}
	}
	return strings.Trim(b.String(), "-")
}
