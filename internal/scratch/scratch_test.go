package scratch

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/plimsoll-bench/plimsoll/internal/procid"
)

// The directory of a process that has ended is removed. Those of running processes, of other programs, and of processes
// of another machine or container, which may still run although nothing here has their ID, stay.
func TestMake(t *testing.T) {
	parent := t.TempDir()
	self := procid.Self()
	gone := procid.ID{PID: 1 << 30, Boot: self.Boot, Namespace: self.Namespace}
	container, machine := gone, gone
	container.Namespace, machine.Boot = "pid:[1]", "00000000-0000-0000-0000-000000000000"
	for name, maker := range map[string]*procid.ID{
		"kind-gone": &gone, "kind-container": &container, "kind-machine": &machine, "kind-nobody": nil, "other-gone": &gone,
	} {
		dir := filepath.Join(parent, name)
		err := os.Mkdir(dir, 0o700)
		if maker != nil {
			b, wrong := json.Marshal(maker)
			err = errors.Join(err, wrong, os.WriteFile(filepath.Join(dir, makerFile), b, 0o600))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	first, err := Make(parent, "kind-", nil)
	if err != nil {
		t.Fatal(err)
	}
	second, err := Make(parent, "kind-", func(dir string) { t.Errorf("%s is removed", dir) })
	if err != nil || second == first {
		t.Fatal(second, err)
	}
	for name, want := range map[string]bool{
		filepath.Base(first): true, filepath.Base(second): true, "kind-gone": false, "kind-container": true,
		"kind-machine": true, "kind-nobody": true, "other-gone": true,
	} {
		if _, err := os.Stat(filepath.Join(parent, name)); (err == nil) != want {
			t.Errorf("%s is there: %t, want %t", name, err == nil, want)
		}
	}
	if _, err := Make(filepath.Join(parent, "missing"), "kind-", nil); err == nil {
		t.Error("a directory was made in one that does not exist")
	}
}
