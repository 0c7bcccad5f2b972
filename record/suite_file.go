package record

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/plimsoll-bench/plimsoll/spec"
)

// SuiteWriter writes what belongs to a suite as a whole: suite.json, plan.json and the journal of its parts. Each part
// is a record of its own below it.
type SuiteWriter = Store[*Suite]

// identity is what a resume depends on.
func (s *Suite) identity() []string {
	list := []string{string(s.Status)}
	for i := range s.Parts {
		p := &s.Parts[i]
		list = append(list, fmt.Sprint(p.Name, p.Kind, p.Status, p.Record))
	}
	return list
}

// complete takes over what the journal says of parts and suite.json does not say yet.
func (s *Suite) complete(dir string, held bool) error {
	if s.Status == Running && !held {
		s.Status = Killed
	}
	events, _, err := ReadSuiteJournal(dir)
	for _, e := range events {
		if e.Part == nil || e.Part.inside() != nil {
			continue
		}
		at := slices.IndexFunc(s.Parts, func(p Part) bool { return p.Name == e.Part.Name })
		if at >= 0 {
			s.Parts[at] = *e.Part
		}
	}
	return err
}

// check checks that the parts have different names and are below the suite.
func (s *Suite) check() error {
	seen := map[string]bool{}
	for i := range s.Parts {
		p := &s.Parts[i]
		if err := p.inside(); err != nil || seen[p.Name] {
			return fmt.Errorf("part %d: %w", i+1, cmp.Or(err, fmt.Errorf("two parts have the name %q", p.Name)))
		}
		seen[p.Name] = true
		spec.Plain(p.Set)
	}
	return nil
}

// inside checks that the files of a part are below the directory of its suite, because incomplete ones are removed.
func (p *Part) inside() error {
	switch {
	case p.Name == "" || p.Name == "." || p.Name == ".." || strings.ContainsAny(p.Name, "/\\\x00"):
		return fmt.Errorf("%q is not the name of a directory", p.Name)
	case p.Record != "" && !filepath.IsLocal(filepath.FromSlash(p.Record)):
		return fmt.Errorf("its record %q is not below the directory of the suite", p.Record)
	}
	return nil
}
