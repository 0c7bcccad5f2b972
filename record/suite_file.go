package record

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/plimsoll-bench/plimsoll/spec"
)

// SuiteWriter writes what belongs to a suite as a whole: suite.json and the journal of its parts. Its methods are called
// from one goroutine, of the process that holds the directory (see [Hold]). Each part is a record of its own below it.
type SuiteWriter struct {
	dir     string
	journal *os.File
	red     *studyRedactor
}

// CreateSuite begins the record of a suite in a directory that holds none.
func CreateSuite(dir string) (*SuiteWriter, error) {
	if strings.TrimSpace(dir) == "" {
		return nil, errors.New("a suite needs a directory: give one (--out)")
	}
	if err := begun(dir, "suite", SuiteFile, SuiteJournal); err != nil {
		return nil, err
	}
	if err := vacate(dir); err != nil {
		return nil, err
	}
	w, err := ContinueSuite(dir)
	if err == nil {
		_ = syncDir(filepath.Dir(filepath.Clean(dir))) // where that is not allowed, the suite is not worse off than any other file
	}
	return w, err
}

// ContinueSuite goes on writing a suite.
func ContinueSuite(dir string) (*SuiteWriter, error) {
	if err := os.MkdirAll(filepath.Join(dir, PartsDir), 0o755); err != nil {
		return nil, explainSuite(dir, err)
	}
	if err := unseal(dir); err != nil {
		return nil, explainSuite(dir, err)
	}
	f, err := openLines(dir, SuiteJournal)
	if err != nil {
		return nil, explainSuite(dir, err)
	}
	return &SuiteWriter{dir: dir, journal: f, red: newStudyRedactor(spec.Study{})}, nil
}

// explainSuite says what to do about an error of the file system.
func explainSuite(dir string, err error) error {
	e := explainStudy(dir, err)
	var w *writeError
	if !errors.As(e, &w) {
		return e
	}
	return &writeError{strings.Replace(w.text, "cannot write the study in", "cannot write the suite in", 1), err}
}

// AddSecrets keeps the credentials of a run out of everything that is written.
func (w *SuiteWriter) AddSecrets(asked spec.Run) { w.red.learn(asked) }

// Redacted returns a copy of the suite without credentials.
func (w *SuiteWriter) Redacted(s *Suite) (*Suite, error) {
	out, err := redactedCopy(w.red, *s)
	if err != nil {
		return nil, err
	}
	for i := range out.Parts {
		spec.Plain(out.Parts[i].Set) // whole numbers are int again
	}
	same := s.Status == out.Status && len(s.Parts) == len(out.Parts)
	for i := 0; same && i < len(s.Parts); i++ {
		a, b := &s.Parts[i], &out.Parts[i]
		same = a.Name == b.Name && a.Kind == b.Kind && a.Status == b.Status && a.Record == b.Record
	}
	if !same {
		return nil, errors.New("the suite without its credentials would not be the same suite, so it was not written: this is a mistake in plimsoll, please report it")
	}
	return &out, nil
}

// Write replaces suite.json: whoever reads, and whatever ends this process or machine, sees the old or the new one whole.
func (w *SuiteWriter) Write(s *Suite) error {
	clean, err := w.Redacted(s)
	if err != nil {
		return err
	}
	b, err := marshal(clean)
	if err != nil {
		return err
	}
	if err := replaceSealed(w.dir, SuiteFile, b, s.Status); err != nil {
		return explainSuite(w.dir, err)
	}
	return nil
}

// Append adds an event to the journal and waits until it is on the disk.
func (w *SuiteWriter) Append(e SuiteEvent) error {
	e, err := redactedCopy(w.red, e)
	if err != nil {
		return err
	}
	if err := appendLine(w.journal, e); err != nil {
		return explainSuite(w.dir, err)
	}
	return nil
}

// Close closes the journal.
func (w *SuiteWriter) Close() error { return w.journal.Close() }

func (s *Suite) complete(dir string, held bool) error {
	if s.Status == Running && !held {
		s.Status = Killed
	}
	return s.recall(dir)
}

// ReadHeldSuite is [OpenSuite] for the process that holds the suite (see [Hold]), also where the file system cannot say so.
func ReadHeldSuite(dir string) (*Suite, error) {
	var s Suite
	if err := readDocument(dir, SuiteFile, KindSuite, "suite", &s); err != nil {
		return nil, err
	}
	return &s, s.recall(dir)
}

// recall takes over what the journal says of parts and suite.json does not say yet.
func (s *Suite) recall(dir string) error {
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

// check makes sure that the parts have names of their own and are below the suite.
func (s *Suite) check() error {
	seen := map[string]bool{}
	for i := range s.Parts {
		p := &s.Parts[i]
		if err := p.inside(); err != nil || seen[p.Name] {
			return fmt.Errorf("part %d: %w", i+1, cmp.Or(err, fmt.Errorf("there are two parts called %q", p.Name)))
		}
		seen[p.Name] = true
		spec.Plain(p.Set)
	}
	return nil
}

// inside makes sure that the files of a part are below the directory of its suite: what is not whole there is removed.
func (p *Part) inside() error {
	switch {
	case p.Name == "" || p.Name == "." || p.Name == ".." || strings.ContainsAny(p.Name, "/\\\x00"):
		return fmt.Errorf("%q is not the name of a directory", p.Name)
	case p.Record != "" && !filepath.IsLocal(filepath.FromSlash(p.Record)):
		return fmt.Errorf("its record %q is not below the directory of the suite", p.Record)
	}
	return nil
}
