package platform

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// A process that is killed when it has reverted its last fault, or before its first one, leaves a journal of which
// nothing is to be healed. The next one removes it, and leaves those that have faults or were just made.
func TestSpentJournals(t *testing.T) {
	journals := t.TempDir()
	long := time.Now().Add(-time.Hour)
	for _, name := range []string{"empty", "reverted", "fault", "new"} {
		dir := filepath.Join(journals, name)
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if name == "reverted" || name == "fault" {
			b, err := openHeld(dir)
			if err != nil {
				t.Fatal(err)
			}
			id, err := b.add(Entry{Fault: "kill:db1", Member: "db1", Kind: "command"}, nil)
			if name == "reverted" {
				err = errors.Join(err, b.gone(id))
			}
			b.release()
			if err := errors.Join(err, b.journal.Close()); err != nil {
				t.Fatal(err)
			}
		}
		if name == "new" {
			continue
		}
		if err := os.Chtimes(dir, long, long); err != nil {
			t.Fatal(err)
		}
	}
	d := &Deployment{journals: journals}
	b, err := d.openJournal()
	if err != nil {
		t.Fatal(err)
	}
	defer b.close()
	for name, kept := range map[string]bool{"empty": false, "reverted": false, "fault": true, "new": true, filepath.Base(b.dir): true} {
		if _, err := os.Stat(filepath.Join(journals, name)); (err == nil) != kept {
			t.Errorf("the journal %s: %v, want it kept: %v", name, err, kept)
		}
	}
}
