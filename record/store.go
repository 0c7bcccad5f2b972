package record

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/plimsoll-bench/plimsoll/measure"
)

// Store writes what records of all kinds have: the main file, which is replaced as a whole, and the journal, which grows by a
// line for each event, in the kinds that can be gone on with. Whoever reads, and whatever ends this process or machine, sees the
// old or the new main file whole. Nothing is written with a credential that the store knows of. One goroutine of the process
// that holds the directory (see [Hold]) writes; credentials may be added from any.
type Store[R Result] struct {
	dir     string
	kind    *kind
	journal *os.File // nil for kinds that have none
	mu      sync.Mutex
	red     redactor
	now     func() time.Time
	took    time.Duration // the last writing of the main file
	written time.Time
}

// Create begins a record in a new or empty directory. It keeps out of the record the credentials in asked, which is a
// specification or an address. A directory that holds a record of any kind is refused with an [ErrTaken].
func Create[R Result](dir string, asked any) (*Store[R], error) {
	k := kindOf[R]()
	if strings.TrimSpace(dir) == "" {
		return nil, fmt.Errorf("a %s needs a directory: give one (--out)", k.noun)
	}
	if err := k.begun(dir); err != nil {
		return nil, err
	}
	if err := vacate(dir); err != nil {
		return nil, err
	}
	s, err := Continue[R](dir, asked)
	if err == nil {
		_ = syncDir(filepath.Dir(filepath.Clean(dir))) // where that is not allowed, the record is not worse off than any other file
	}
	return s, err
}

// Continue goes on writing a record that was begun.
func Continue[R Result](dir string, asked any) (*Store[R], error) {
	s := &Store[R]{dir: dir, kind: kindOf[R](), now: time.Now}
	for _, below := range append([]string{"."}, s.kind.dirs...) {
		if err := os.MkdirAll(filepath.Join(dir, below), 0o755); err != nil {
			return nil, s.kind.explain(dir, err)
		}
	}
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

// Dir returns the directory of the record.
func (s *Store[R]) Dir() string { return s.dir }

// AddSecrets keeps the credentials in an address or a specification out of everything that is written. The address itself is
// not kept.
func (s *Store[R]) AddSecrets(asked any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.red.learn(asked)
}

// AddSecret keeps a credential that stands in no address out of everything that is written.
func (s *Store[R]) AddSecret(secret string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.red.known.Add(secret)
}

// clean returns a copy of a value without credentials.
func clean[R Result, T any](s *Store[R], v T) (T, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return redacted(&s.red, v)
}

// text, source and failures hide the credentials in what is written between two writings of the main file.
func (s *Store[R]) text(text string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.red.text(text)
}

func (s *Store[R]) source(name string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.red.source(name)
}

func (s *Store[R]) failures(list []measure.FailureCount) []measure.FailureCount {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.red.failures(list)
}

// Redacted returns a copy of a result without credentials: what [Store.Write] writes of it.
func (s *Store[R]) Redacted(r R) (none R, err error) {
	out, err := clean(s, r)
	if err != nil {
		return none, err
	}
	if c, ok := any(out).(checked); ok {
		if err := c.check(); err != nil {
			return none, err
		}
	}
	if a, ok := any(r).(resumed); ok && !slices.Equal(a.identity(), any(out).(resumed).identity()) {
		return none, fmt.Errorf("the %[1]s without its credentials would not be the same %[1]s, so it was not written: this is a mistake in plimsoll, please report it", s.kind.noun)
	}
	return out, nil
}

// resumed is a result that is gone on with by what was written of it.
type resumed interface {
	// identity is what must not change when credentials are hidden.
	identity() []string
}

// Write replaces the main file, and writes the checksums unless the record goes on.
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

// replace replaces the main file by a result without credentials.
func (s *Store[R]) replace(clean R, durable bool) error {
	b, err := marshal(clean)
	if err != nil {
		return err
	}
	return replace(s.dir, s.kind.file, b, durable)
}

// A large record is not written whole after each of its events: the journal has them, and [Open] reads it.
const (
	alwaysBelow = 50 * time.Millisecond
	atMostShare = 20 // of the time goes into writing
)

// Update is [Store.Write] but for a large record, which it writes less often.
func (s *Store[R]) Update(r R) error {
	if s.took > alwaysBelow && s.now().Sub(s.written) < atMostShare*s.took {
		return nil
	}
	return s.Write(r)
}

// event is a line of a journal.
type event interface {
	// whole reports whether it has what its kind needs: what is not whole is not read.
	whole() bool
}

// Append adds an event to the journal and waits until it is on the disk. Of a kind without a journal it is an error.
func (s *Store[R]) Append(e event) error {
	if s.journal == nil {
		return fmt.Errorf("a %s has no journal: this is a mistake in plimsoll, please report it", s.kind.noun)
	}
	e, err := clean(s, e)
	if err != nil {
		return err
	}
	if err := appendLine(s.journal, e); err != nil {
		return s.kind.explain(s.dir, err)
	}
	return nil
}

// SyncBelow makes sure that the directory of a record below this one is found after a crash of the machine.
func (s *Store[R]) SyncBelow(name string) error {
	if err := syncDir(filepath.Dir(filepath.Join(s.dir, name))); err != nil {
		return s.kind.explain(s.dir, err)
	}
	return nil
}

// Close closes the journal.
func (s *Store[R]) Close() error {
	if s.journal == nil {
		return nil
	}
	return s.journal.Close()
}

// writeFile replaces a file beside the main file by a value without credentials.
func writeFile[R Result](s *Store[R], name string, v any, durable bool) error {
	v, err := clean(s, v)
	if err != nil {
		return err
	}
	b, err := marshal(v)
	if err != nil {
		return err
	}
	if err := replace(s.dir, name, b, durable); err != nil {
		return s.kind.explain(s.dir, err)
	}
	return nil
}

// appendLine adds an event to a journal as one line of JSON and waits until it is on the disk.
func appendLine(journal *os.File, event any) error {
	b, err := json.Marshal(event)
	if err != nil {
		return err
	}
	if _, err := journal.Write(append(b, '\n')); err != nil {
		_ = endLine(journal) // what did get there must not spoil the next line
		return err
	}
	return journal.Sync()
}

// Unwritten is the finding of a result whose record could not be written completely.
func Unwritten(err error) measure.Finding {
	return measure.Finding{ID: "unwritten", Severity: measure.Invalid,
		Text: fmt.Sprintf("the record could not be written completely, so it does not hold this result: %v", err)}
}

// begun refuses a directory in which a record was begun that can be gone on with. An empty journal is what one leaves that was
// killed before it could write anything else.
func (k *kind) begun(dir string) error {
	if k.journal == "" {
		return nil
	}
	for _, name := range []string{k.file, k.journal} {
		if info, err := os.Lstat(filepath.Join(dir, name)); err == nil && (name != k.journal || info.Size() > 0) {
			return &takenError{fmt.Sprintf("%s already holds a %s (%s is there): go on with it (plimsoll %s resume %s), or choose another directory (--out)",
				dir, k.noun, name, k.noun, dir)}
		}
	}
	return nil
}

// explain turns an error of the file system into one line that says what to do about it.
func (k *kind) explain(dir string, err error) error {
	again, then := ", or write to another directory (--out)", ""
	if k.journal != "" {
		again, then = "", "; then go on with plimsoll "+k.noun+" resume "+dir
	}
	return explainAs(dir, k.noun, again, then, err)
}
