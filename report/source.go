package report

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/plimsoll-bench/plimsoll/internal/safeopen"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
)

// Source is a record that was opened for a page.
type Source struct {
	// Dir is its directory, or its file; Name is its name among others.
	Dir  string
	Name string
	// Result is the record, or a suite with its parts. Long texts and lists are cut.
	Result any
	// Inner are records within it that its page shows.
	Inner []*Source
	// files are what only a page of its kind needs, as its document takes it.
	files any

	// again and command reproduce it, from before long texts were cut.
	again, command exact

	// Sums are the checksums of the files, as sha256sum prints them.
	Sums string
	// Problems are parts that could not be read, and why. The rest is shown.
	Problems []string
}

// Open reads a record of any kind for a page: a directory, or a comparison in a file.
func Open(path string) (*Source, error) {
	s := &Source{Dir: path, Name: bounded(filepath.Base(filepath.Clean(path)))}
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("cannot open the record %s: %w", path, cause(err))
	}
	open := named(record.KindIn(path)).open
	switch {
	case !info.IsDir():
		open = openComparison
	case record.KindIn(path) == "":
		open = openRun // whose error says what is missing
	case open == nil:
		open = openOther
	}
	if err := open(s, path); err != nil {
		return nil, err
	}
	if sums, err := safeopen.ReadFile(path, record.SumsFile, 1<<16); err == nil {
		s.Sums = string(sums)
	}
	return s, nil
}

// Document is the document of the record, with figures and with everything that is needed to repeat it.
func (s *Source) Document() *Document {
	d := kindIn(s.Result).words(s.Result, s.files)
	if s.files == nil {
		d.Sections = append(d.Sections, s.repeat()...)
	}
	if s.Dir == "" || d.Next.Why == reportNext().Why { // the page is that
		d.Next = Next{}
	}
	d.Next = d.Next.in(filepath.Base(s.Dir))
	return d
}

// repeat is the command that made a record.
func (s *Source) repeat() []Section {
	if s.command.text == "" {
		return nil
	}
	return []Section{{ID: "again", Title: "Repeat it", Code: &Code{Label: "the command", Text: s.command.text}}}
}

// GoesOn takes back what reading the files of a record concludes from its having no end, because a process writes it.
func (s *Source) GoesOn() {
	if r, ok := s.Result.(*record.Run); ok && r.Status == record.Killed {
		r.Status = record.Running
		r.Validity = slices.DeleteFunc(r.Validity, func(f measure.Finding) bool {
			return f.ID == "incomplete" || f.ID == "too-short" // it is not measured yet
		})
	}
	for _, x := range s.Inner {
		x.GoesOn()
	}
}

func openOther(s *Source, dir string) error {
	r, err := record.Open(dir)
	if err != nil {
		return err
	}
	s.command = exactCommand(r.Common().Command)
	Tidy(r)
	s.Result = r
	return nil
}

func cause(err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}

// note reads a part of a record that the rest can do without.
func (s *Source) note(read func() error) {
	if err := read(); err != nil {
		s.Problems = append(s.Problems, bounded(err.Error()))
	}
}
