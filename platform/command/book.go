package command

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/redact"
	"github.com/plimsoll-bench/plimsoll/internal/visible"
	"github.com/plimsoll-bench/plimsoll/lab/journal"
	"github.com/plimsoll-bench/plimsoll/platform"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// kindFault is the kind of all entries of the journals of platforms.
const kindFault = "fault"

// healPauses are the pauses before a heal command that failed is tried again.
var healPauses = []time.Duration{time.Second, 2 * time.Second, 4 * time.Second}

// book is the journal of one process, in a directory of its own that the process holds.
type book struct {
	dir     string
	journal *journal.Journal
	release func()
}

// journal returns the journal of this process. The first call makes it.
func (p *Platform) journal() (*book, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.book != nil {
		return p.book, nil
	}
	if err := os.MkdirAll(p.journals, 0o700); err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(p.journals, time.Now().UTC().Format("20060102T150405-"))
	if err != nil {
		return nil, err
	}
	p.book, err = openBook(dir)
	return p.book, err
}

func openBook(dir string) (*book, error) {
	release, err := record.Hold(dir)
	if err != nil {
		return nil, err
	}
	j, err := journal.Open(dir)
	if err != nil {
		release()
		return nil, err
	}
	return &book{dir: dir, journal: j, release: release}, nil
}

// close removes the journal if nothing is left to heal.
func (b *book) close() error {
	left := len(b.journal.Live())
	err := b.journal.Close()
	if left == 0 {
		err = errors.Join(err, os.RemoveAll(b.dir))
	}
	b.release()
	return err
}

// Entry is a fault in a journal.
type Entry struct {
	Fault string    `json:"fault"`
	Since time.Time `json:"since"`
	// Heal is the command that reverts the fault, and Env what it gets to know.
	Heal    []string          `json:"heal"`
	Env     map[string]string `json:"env"`
	Timeout time.Duration     `json:"timeout"`

	Dir    string `json:"-"`
	ID     int    `json:"-"`
	Holder int    `json:"-"` // the process that injected it, 0 if it has ended
}

// Member is the name of the member that the fault struck.
func (e Entry) Member() string { return cmp.Or(e.Env["member"], "the deployment") }

// Command is the heal command as a person would type it, without credentials.
func (e Entry) Command() string { return visible.Line(e.hide(line(e.Heal))) }

// hide removes the credentials of the command and of its environment.
func (e Entry) hide(text string) string {
	var known redact.Known
	learnEnvironment(&known)
	learnWords(&known, spec.Commands{Heal: e.Heal})
	return known.Hide(redact.InText(redact.Named(text)))
}

// add writes a fault into the journal. It is on the disk when add returns.
func (b *book) add(what spec.Strike, c spec.Commands, env map[string]string) (id int, err error) {
	e := Entry{Fault: what.String(), Since: time.Now().UTC(), Heal: c.Heal, Env: env, Timeout: c.Timeout.Std()}
	text, err := json.Marshal(e)
	if err != nil {
		return 0, err
	}
	return b.journal.Add(kindFault, e.Member(), map[string]string{"entry": string(text)})
}

func (b *book) gone(id int) error { return b.journal.Gone(id) }

// entryOf reads an entry of a journal.
func entryOf(dir string, r journal.Resource) (Entry, error) {
	e := Entry{Dir: dir, ID: r.ID}
	if err := json.Unmarshal([]byte(r.Details["entry"]), &e); err != nil {
		return e, fmt.Errorf("%s: the entry of %s cannot be read: %w", dir, r.Name, err)
	}
	return e, nil
}

// heal reverts a fault, and takes it out of the journal. A command that fails is tried again. Then the fault stays in
// the journal.
func (b *book) heal(ctx context.Context, id int, hide func(string) string) (list []platform.Command, err error) {
	live := b.journal.Live()
	at := slices.IndexFunc(live, func(r journal.Resource) bool { return r.ID == id })
	if at < 0 {
		return nil, errors.New("the fault is not in the journal")
	}
	e, err := entryOf(b.dir, live[at])
	if err != nil {
		return nil, err
	}
	for try := 0; ; try++ {
		var c platform.Command
		c, err = execute(ctx, stepHeal, e.Heal, e.Env, e.Timeout, hide)
		if list = append(list, c); err == nil {
			return list, b.gone(id)
		}
		if try == len(healPauses) {
			return list, fmt.Errorf("%w. It was tried %d times. Run it by hand: %s. The fault stays in the journal: see plimsoll platform status",
				err, try+1, c.Text)
		}
		select {
		case <-time.After(healPauses[try]):
		case <-ctx.Done():
			return list, err
		}
	}
}

// Left returns the faults that are in the journals: those of running drills, and those that ended drills left behind.
func Left(journals string) (list []Entry, err error) {
	dirs, err := os.ReadDir(journals)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for _, d := range dirs {
		dir := filepath.Join(journals, d.Name())
		pid, held := record.Holder(dir)
		live, readErr := journal.Read(dir)
		err = errors.Join(err, readErr)
		for _, r := range live {
			e, readErr := entryOf(dir, r)
			err = errors.Join(err, readErr)
			if held {
				e.Holder = max(pid, 1)
			}
			list = append(list, e)
		}
	}
	return list, err
}

// HealAll heals what ended drills left behind, the newest fault first, and tells what it does. Faults of drills that
// run are left to them. The error names all faults that could not be healed.
func HealAll(ctx context.Context, journals string, tell func(string)) error {
	left, err := Left(journals)
	var opened = map[string]*book{}
	for _, e := range slices.Backward(left) {
		what := e.Fault + " on " + e.Member()
		if e.Holder != 0 {
			tell(fmt.Sprintf("%s: a running drill injected it and will revert it", what))
			continue
		}
		b := opened[e.Dir]
		if b == nil {
			var openErr error
			if b, openErr = openBook(e.Dir); openErr != nil {
				err = errors.Join(err, fmt.Errorf("%s: %w", what, openErr))
				continue
			}
			opened[e.Dir] = b
		}
		if len(e.Heal) == 0 {
			tell(what + ": it has no heal command, so it ends without one")
			err = errors.Join(err, b.gone(e.ID))
			continue
		}
		tell(fmt.Sprintf("%s: running %s", what, e.Command()))
		if _, healErr := b.heal(ctx, e.ID, e.hide); healErr != nil {
			err = errors.Join(err, fmt.Errorf("%s: %w", what, healErr))
			continue
		}
		tell(what + ": reverted")
	}
	for _, b := range opened {
		err = errors.Join(err, b.close())
	}
	return err
}
