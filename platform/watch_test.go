package platform

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"
)

// notedHealer notes what it heals, and fails for some faults.
type notedHealer struct {
	mu     sync.Mutex
	healed []string
}

func (h *notedHealer) Heal(undo json.RawMessage, _ func(string) string) (Step, error) {
	return Step{Text: string(undo), Run: func(context.Context) (Command, error) {
		h.mu.Lock()
		defer h.mu.Unlock()
		if string(undo) == `"fails"` {
			return Command{}, errors.New("it fails")
		}
		h.healed = append(h.healed, string(undo))
		return Command{}, nil
	}}, nil
}

func (h *notedHealer) seen() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.healed)
}

// watched makes a journal with faults of this process, and its watchdog.
func watched(t *testing.T, faults map[string]time.Time) (*heldJournal, *notedHealer, chan error) {
	t.Helper()
	b, err := openHeld(filepath.Join(t.TempDir(), "journal"))
	if err != nil {
		t.Fatal(err)
	}
	for name, until := range faults {
		if _, err := b.add(Entry{Fault: name, Member: "db1", Kind: "noted", Until: until}, name); err != nil {
			t.Fatal(err)
		}
	}
	h, done := &notedHealer{}, make(chan error, 1)
	go func() {
		done <- Watch(t.Context(), b.dir, Healers{"noted": h}, func(string) {})
	}()
	return b, h, done
}

// A watchdog reverts nothing of a process that lives, and what is left of it after its end: each fault at its time, and
// at once what has none.
func TestWatchdog(t *testing.T) {
	long := time.Now().Add(time.Hour)
	b, h, done := watched(t, map[string]time.Time{"now": {}, "past": time.Now().Add(-time.Minute), "later": long})
	time.Sleep(3 * watchEvery)
	if got := h.seen(); len(got) > 0 {
		t.Errorf("it reverts %q of a process that lives", got)
	}
	left, err := Left(filepath.Dir(b.dir))
	if err != nil || len(left) != 3 || !left[0].Watched || left[0].Holder == 0 {
		t.Errorf("%+v, %v", left, err)
	}
	b.release() // as when the process ends
	for len(h.seen()) < 2 {
		time.Sleep(watchEvery)
	}
	left, err = Left(filepath.Dir(b.dir))
	if err != nil || len(left) != 1 || left[0].Fault != "later" || !left[0].Watched || left[0].Holder != 0 {
		t.Errorf("%+v, %v", left, err)
	}
	select {
	case err := <-done:
		t.Errorf("the watchdog ended before the time of the last fault: %v", err)
	default:
	}
	if got := h.seen(); slices.Contains(got, `"later"`) {
		t.Errorf("it reverted %q before its time", got)
	}
	if err := HealAll(t.Context(), filepath.Dir(b.dir), Healers{"noted": h}, func(string) {}); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil { // a person has done it
		t.Error(err)
	}
}

// A watchdog of a process that ends in order has nothing to do.
func TestWatchdogOfAnOrderlyEnd(t *testing.T) {
	b, h, done := watched(t, map[string]time.Time{})
	if err := b.close(); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil || len(h.seen()) > 0 {
		t.Errorf("%v, reverted %q", err, h.seen())
	}
}

// A fault that cannot be reverted does not keep the watchdog from reverting the others at their time.
func TestWatchdogAfterAFailure(t *testing.T) {
	pauses := healPauses
	healPauses = nil
	t.Cleanup(func() { healPauses = pauses })
	b, h, done := watched(t, map[string]time.Time{"fails": {}, "later": time.Now().Add(2 * time.Second)})
	b.release()
	if err := <-done; err == nil {
		t.Error("a fault is left, and the watchdog says nothing")
	}
	left, err := Left(filepath.Dir(b.dir))
	if err != nil || len(left) != 1 || left[0].Fault != "fails" || !slices.Equal(h.seen(), []string{`"later"`}) {
		t.Errorf("reverted %q, left %+v, %v", h.seen(), left, err)
	}
}
