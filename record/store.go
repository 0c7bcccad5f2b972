package record

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/mac"
	"github.com/plimsoll-bench/plimsoll/internal/replace"
	"github.com/plimsoll-bench/plimsoll/measure"
)

// Store writes records of all kinds. It replaces the main file atomically, so readers, and crashes of the process or
// the machine, see the old or the new file. Kinds that can be resumed have a journal with a line for each event. It
// hides the credentials that it knows. One goroutine of the process that holds the directory ([Hold]) writes; any may
// add credentials.
type Store[R Result] struct {
	dir     string
	kind    *kind
	journal *os.File // nil for kinds without
	red     redactor
	key     *mac.Key // see [Store.Sign]
	now     func() time.Time
	took    time.Duration // of the last write of the main file
	written time.Time     // end of that write
}

// Create begins a record in a new or empty directory. It hides the credentials in asked, a specification or an address.
// If the directory already holds a record, the error is [ErrTaken].
func Create[R Result](dir string, asked any) (*Store[R], error) {
	k := kindOf[R]()
	if strings.TrimSpace(dir) == "" {
		return nil, fmt.Errorf("a %s needs a directory. Set one with --out", k.noun)
	}
	if err := k.begun(dir); err != nil {
		return nil, err
	}
	if err := vacate(dir); err != nil {
		return nil, err
	}
	s, err := Continue[R](dir, asked)
	if err == nil {
		// It is not allowed everywhere. The record is then as safe as any file.
		_ = replace.SyncDir(filepath.Dir(filepath.Clean(dir)))
	}
	return s, err
}

// Continue opens an existing record to write it further.
func Continue[R Result](dir string, asked any) (*Store[R], error) {
	s := &Store[R]{dir: dir, kind: kindOf[R](), now: time.Now}
	for _, below := range append([]string{"."}, s.kind.dirs...) {
		if err := os.MkdirAll(filepath.Join(dir, below), 0o755); err != nil {
			return nil, s.kind.explain(dir, err)
		}
	}
	removeTemporary(dir)
	err := unseal(dir)
	if err == nil && s.kind.journal != "" {
		s.journal, err = openLines(dir, s.kind.journal)
	}
	if err != nil {
		return nil, s.kind.explain(dir, err)
	}
	s.red.learn(asked)
	return s, nil
}

func (s *Store[R]) Dir() string { return s.dir }

// AddSecrets hides the credentials in an address or a specification in everything that is written.
func (s *Store[R]) AddSecrets(asked any) { s.red.learn(asked) }

// AddSecret hides a credential in everything that is written.
func (s *Store[R]) AddSecret(secret string) { s.red.add(secret) }

// Sign makes all later writes of a run, a study and the plan of a suite show who wrote them. A nil key does nothing.
func (s *Store[R]) Sign(k *mac.Key) { s.key = k }

// signed is a result whose specification may be started again from its record, by the user who wrote it.
type signed interface{ sign(k *mac.Key) error }

// Redacted returns a copy of a result without credentials, as [Store.Write] writes it.
func (s *Store[R]) Redacted(r R) (none R, err error) {
	out, dropped := written(&s.red, r)
	if len(dropped) > 0 {
		h := out.Common()
		h.Validity = append(h.Validity, notFinite(dropped))
		measure.SortFindings(h.Validity)
	}
	if m, ok := any(out).(signed); ok && s.key != nil {
		if err := m.sign(s.key); err != nil {
			return none, err
		}
	}
	if c, ok := any(out).(checked); ok {
		if err := c.check(); err != nil {
			return none, err
		}
	}
	if a, ok := any(r).(resumed); ok && !slices.Equal(a.identity(), any(out).(resumed).identity()) {
		return none, fmt.Errorf("the %[1]s was not written, because hiding its credentials would change it. This is a bug in plimsoll; "+
			"please report it", s.kind.noun)
	}
	return out, nil
}

// notFinite says which numbers of a result are missing.
func notFinite(places []string) measure.Finding {
	named := places[:min(len(places), mostNamed)]
	text := fmt.Sprintf("%d numbers are not finite, so they are not in the record: %s", len(places), strings.Join(named, ", "))
	if len(places) > len(named) {
		text += ", …"
	}
	return measure.Finding{ID: "not-finite", Severity: measure.Warning,
		Text: text + ". A value that was measured or configured is far too large. Look for it in the series and in the specification"}
}

// resumed is a result that is resumed from its record.
type resumed interface {
	// identity is what redaction must not change.
	identity() []string
}

// Write replaces the main file and, unless the status is Running, writes the checksums.
func (s *Store[R]) Write(r R) error {
	start := s.now()
	out, err := s.Redacted(r)
	if err != nil {
		return err
	}
	if err := s.replace(out, true); err != nil {
		return s.kind.explain(s.dir, err)
	}
	if r.Common().Status != Running {
		if err := Seal(s.dir); err != nil {
			return s.kind.explain(s.dir, err)
		}
	}
	s.written = s.now()
	s.took = s.written.Sub(start)
	return nil
}

func (s *Store[R]) replace(r R, durable bool) error {
	b, err := marshal(r)
	if err != nil {
		return err
	}
	return replace.File(filepath.Join(s.dir, s.kind.file), b, 0o644, durable)
}

// [Store.Update] writes a record that takes longer than alwaysBelow at most a 20th of the time. [Open] reads the events
// since then from the journal.
const (
	alwaysBelow = 50 * time.Millisecond
	atMostShare = 20
)

// Update is [Store.Write], less often for large records.
func (s *Store[R]) Update(r R) error {
	if s.took > alwaysBelow && s.now().Sub(s.written) < atMostShare*s.took {
		return nil
	}
	return s.Write(r)
}

// event is a line of a journal.
type event interface {
	// complete reports whether it has the fields that its kind needs. Incomplete events are not read.
	complete() bool
}

// Append adds an event to the journal and waits until it is on the disk.
func (s *Store[R]) Append(e event) error {
	if s.journal == nil {
		return fmt.Errorf("a %s has no journal. This is a bug in plimsoll; please report it", s.kind.noun)
	}
	if err := appendLine(s.journal, redacted(&s.red, e)); err != nil {
		return s.kind.explain(s.dir, err)
	}
	return nil
}

// SyncBelow makes the directory of a record below this one survive a crash of the machine.
func (s *Store[R]) SyncBelow(name string) error {
	if err := replace.SyncDir(filepath.Dir(filepath.Join(s.dir, name))); err != nil {
		return s.kind.explain(s.dir, err)
	}
	return nil
}

func (s *Store[R]) Close() error {
	if s.journal == nil {
		return nil
	}
	return s.journal.Close()
}

// writeFile replaces another file of the record.
func writeFile[R Result](s *Store[R], name string, v any, durable bool) error {
	b, err := marshal(redacted(&s.red, v))
	if err != nil {
		return err
	}
	if err := replace.File(filepath.Join(s.dir, name), b, 0o644, durable); err != nil {
		return s.kind.explain(s.dir, err)
	}
	return nil
}

func appendLine(journal *os.File, event any) error {
	b, err := json.Marshal(event)
	if err != nil {
		return err
	}
	if _, err := journal.Write(append(b, '\n')); err != nil {
		_ = endLine(journal) // a partial line must not spoil the next one
		return err
	}
	return journal.Sync()
}

// Unwritten is the finding of a result whose record could not be written completely.
func Unwritten(err error) measure.Finding {
	return measure.Finding{ID: "unwritten", Severity: measure.Invalid,
		Text: fmt.Sprintf("the record could not be written completely (%v). It does not hold this result. Free space or choose another "+
			"directory (--out), and measure again.", err)}
}

// begun refuses a directory with a record that can be resumed. An empty journal is left by a process that was killed
// before its first write.
func (k *kind) begun(dir string) error {
	if k.journal == "" {
		return nil
	}
	for _, name := range []string{k.file, k.journal} {
		if info, err := os.Lstat(filepath.Join(dir, name)); err == nil && (name != k.journal || info.Size() > 0) {
			return &takenError{fmt.Sprintf("%s already holds a %s (%s). Resume it (plimsoll %s resume %s), or choose another directory "+
				"(--out)", dir, k.noun, name, k.noun, dir)}
		}
	}
	return nil
}

// explain turns an error of the file system into one line with the next step.
func (k *kind) explain(dir string, err error) error {
	again, then := ", or write to another directory (--out)", ""
	if k.journal != "" {
		again, then = "", "; then resume with plimsoll "+k.noun+" resume "+dir
	}
	todo := "Check the directory"
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		todo = "The disk or quota is full: free space" + again
	case errors.Is(err, syscall.EROFS):
		todo = "The file system is read-only: write to another directory (--out)"
	case errors.Is(err, fs.ErrPermission):
		todo = "Choose a directory that you may write to (--out)"
	case errors.Is(err, syscall.ENOTDIR):
		todo = "A part of this path is a file: choose another directory (--out)"
	}
	text := strings.ReplaceAll(cause(err).Error(), "\n", "; ")
	return &writeError{fmt.Sprintf("cannot write the %s in %s: %s. %s%s", k.noun, dir, text, todo, then), err}
}

// explain is that of runs.
func explain(dir string, err error) error { return kindOf[*Run]().explain(dir, err) }
