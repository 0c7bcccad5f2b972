package platform

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/redact"
	"github.com/plimsoll-bench/plimsoll/internal/wait"
	"github.com/plimsoll-bench/plimsoll/lab/journal"
	"github.com/plimsoll-bench/plimsoll/record"
)

// kindFault is the kind of all entries of the journals of platforms.
const kindFault = "fault"

// healPauses are the pauses before a heal step that failed is tried again.
var healPauses = []time.Duration{time.Second, 2 * time.Second, 4 * time.Second}

// healWithin bounds a heal step of a journal that has no time limit for it.
const healWithin = time.Minute

// heldJournal is the journal of one process, in a directory of its own that the process holds.
type heldJournal struct {
	dir     string
	journal *journal.Journal
	release func()
}

// openJournal returns the journal of this process. The first call makes it.
func (d *Deployment) openJournal() (*heldJournal, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.held != nil {
		return d.held, nil
	}
	if err := os.MkdirAll(d.journals, 0o700); err != nil {
		return nil, err
	}
	if err := removeSpent(d.journals); err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(d.journals, time.Now().UTC().Format("20060102T150405-"))
	if err != nil {
		return nil, err
	}
	if d.held, err = openHeld(dir); err == nil && d.watch != nil {
		err = d.watch(dir)
	}
	return d.held, err
}

func openHeld(dir string) (*heldJournal, error) {
	release, err := record.Hold(dir)
	if err != nil {
		return nil, err
	}
	j, err := journal.Open(dir)
	if err != nil {
		release()
		return nil, err
	}
	return &heldJournal{dir: dir, journal: j, release: release}, nil
}

// close removes the journal if nothing is left to heal.
func (b *heldJournal) close() error {
	left := len(b.journal.Live())
	err := b.journal.Close()
	if left == 0 {
		err = errors.Join(err, removeAll(b.dir))
	}
	b.release()
	return err
}

// removeAll removes a journal, in which its watchdog may just make a file.
func removeAll(dir string) (err error) {
	for range 100 {
		if err = os.RemoveAll(dir); err == nil {
			return nil
		}
		time.Sleep(10 * time.Millisecond)
	}
	return err
}

// Entry is a fault in a journal.
type Entry struct {
	Fault string    `json:"fault"`
	Since time.Time `json:"since"`
	// Until is when it is to be reverted; zero for the end of the drill.
	Until time.Time `json:"until,omitzero"`
	// Member is the name of the member that the fault struck, and Addresses are those of all members of the deployment.
	Member    string   `json:"member"`
	Addresses []string `json:"addresses,omitempty"`
	// Kind is the kind of platform, and Undo what its [Healer] needs; absent if the fault ends by itself.
	Kind    string          `json:"kind"`
	Undo    json.RawMessage `json:"undo,omitempty"`
	Timeout time.Duration   `json:"timeout"`

	Dir    string `json:"-"`
	ID     int    `json:"-"`
	Holder int    `json:"-"` // the process that injected it, 0 if it has ended
	// Watched is true if a watchdog will revert it.
	Watched bool `json:"-"`
}

// Healers are the healers of all kinds of platforms.
type Healers map[string]Healer

// Step is the step that reverts the fault. Without one, the fault ends by itself.
func (h Healers) Step(e Entry) (Step, error) {
	if e.Undo == nil && e.Kind != "" { // without a kind, another version of plimsoll wrote it
		return Step{}, nil
	}
	healer := h[e.Kind]
	if healer == nil {
		return Step{}, fmt.Errorf("this plimsoll cannot heal faults of %q (it can: %s). Use the plimsoll that injected the fault", e.Kind,
			strings.Join(slices.Sorted(maps.Keys(h)), ", "))
	}
	return healer.Heal(e.Undo, func(text string) string { return redact.InText(redact.Named(text)) })
}

// add writes a fault into the journal. It is on the disk when add returns.
func (b *heldJournal) add(e Entry, undo any) (id int, err error) {
	e.Since = time.Now().UTC()
	if undo != nil {
		if e.Undo, err = json.Marshal(undo); err != nil {
			return 0, err
		}
	}
	text, err := json.Marshal(e)
	if err != nil {
		return 0, err
	}
	return b.journal.Add(kindFault, e.Member, map[string]string{"entry": string(text)})
}

func (b *heldJournal) gone(id int) error { return b.journal.Gone(id) }

// entryOf reads an entry of a journal.
func entryOf(dir string, r journal.Resource) (Entry, error) {
	e := Entry{Dir: dir, ID: r.ID}
	if err := json.Unmarshal([]byte(r.Details["entry"]), &e); err != nil {
		return e, fmt.Errorf("%s: the entry of %s cannot be read: %w", dir, r.Name, err)
	}
	return e, nil
}

// entry returns a fault that is in the journal.
func (b *heldJournal) entry(id int) (Entry, error) {
	live := b.journal.Live()
	at := slices.IndexFunc(live, func(r journal.Resource) bool { return r.ID == id })
	if at < 0 {
		return Entry{}, errors.New("the fault is not in the journal")
	}
	return entryOf(b.dir, live[at])
}

// heal reverts a fault, and takes it out of the journal. A step that fails is tried again. Then the fault stays in the
// journal.
func (b *heldJournal) heal(ctx context.Context, e Entry, step Step) (list []Command, err error) {
	for try := 0; ; try++ {
		var c Command
		c, err = perform(ctx, "heal", step, cmp.Or(e.Timeout, healWithin))
		if list = append(list, c); err == nil {
			return list, b.gone(e.ID)
		}
		if try == len(healPauses) {
			return list, fmt.Errorf("%w. It was tried %d times. Run it by hand: %s. The fault stays in the journal: see plimsoll platform status",
				err, try+1, c.Text)
		}
		if wait.Sleep(ctx, healPauses[try]) != nil {
			return list, err
		}
	}
}

// revert heals a fault of this process by what the journal has of it.
func (d *Deployment) revert(ctx context.Context, id int, by Healer) ([]Command, error) {
	held, err := d.openJournal()
	if err != nil {
		return nil, err
	}
	e, err := held.entry(id)
	if err != nil {
		return nil, err
	}
	step, err := by.Heal(e.Undo, d.hide)
	if err != nil {
		return nil, err
	}
	return held.heal(ctx, e, step)
}

// Keep writes into the journal how a change is reverted that is made next and is no fault. It is reverted by what it
// returns, or by [HealAll] after the end of this process.
func (d *Deployment) Keep(e Entry, undo any, by Healer) (revert func(context.Context) error, err error) {
	held, err := d.openJournal()
	if err != nil {
		return nil, err
	}
	id, err := held.add(e, undo)
	return func(ctx context.Context) error {
		_, err := d.revert(context.WithoutCancel(ctx), id, by)
		return err
	}, err
}

// Left returns the faults that are in the journals: those of running drills, and those that ended drills left behind.
func Left(journals string) (list []Entry, err error) {
	dirs, err := os.ReadDir(journals)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for _, d := range dirs {
		in, readErr := faultsIn(filepath.Join(journals, d.Name()))
		list, err = append(list, in...), errors.Join(err, readErr)
	}
	return list, err
}

// faultsIn returns the faults that are in one journal.
func faultsIn(dir string) (list []Entry, err error) {
	pid, held := record.Holder(dir)
	live, err := journal.Read(dir)
	for _, r := range live {
		e, readErr := entryOf(dir, r)
		err = errors.Join(err, readErr)
		if held {
			e.Holder = max(pid, 1)
		}
		e.Watched = Watched(dir)
		list = append(list, e)
	}
	return list, err
}

// HealAll heals what ended drills left behind, the newest fault first, and tells what it does. Faults of drills that
// run are left to them. The error names all faults that could not be healed.
func HealAll(ctx context.Context, journals string, healers Healers, tell func(string)) error {
	left, err := Left(journals)
	return errors.Join(err, heal(ctx, left, healers, tell), removeSpent(journals))
}

// heal is [HealAll] for some of the faults.
func heal(ctx context.Context, left []Entry, healers Healers, tell func(string)) (err error) {
	var opened = map[string]*heldJournal{}
	for _, e := range slices.Backward(left) {
		what := e.Fault + " on " + e.Member
		if e.Holder != 0 {
			tell(fmt.Sprintf("%s: a running drill injected it and will revert it", what))
			continue
		}
		b := opened[e.Dir]
		if b == nil {
			var openErr error
			if b, openErr = openHeld(e.Dir); openErr != nil {
				err = errors.Join(err, fmt.Errorf("%s: %w", what, openErr))
				continue
			}
			opened[e.Dir] = b
		}
		step, stepErr := healers.Step(e)
		switch {
		case stepErr != nil:
			err = errors.Join(err, fmt.Errorf("%s: %w", what, stepErr))
			continue
		case step.Run == nil:
			tell(what + ": it has no heal step, so it ends without one")
			err = errors.Join(err, b.gone(e.ID))
			continue
		}
		tell(fmt.Sprintf("%s: running %s", what, step.Text))
		if _, healErr := b.heal(ctx, e, step); healErr != nil {
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

// beingMade is how long a journal without an entry may belong to a process that has just made it.
const beingMade = time.Minute

// removeSpent removes the journals of ended processes in which nothing is left to heal: a process that is killed before
// its first fault, or after it has reverted the last one, leaves such a journal.
func removeSpent(journals string) error {
	dirs, err := os.ReadDir(journals)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, d := range dirs {
		dir := filepath.Join(journals, d.Name())
		info, infoErr := d.Info()
		if _, held := record.Holder(dir); held || infoErr != nil || time.Since(info.ModTime()) < beingMade {
			continue
		}
		if live, readErr := journal.Read(dir); readErr == nil && len(live) == 0 { // others are reported where they are read
			err = errors.Join(err, os.RemoveAll(dir))
		}
	}
	return err
}
