package command

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/plimsoll-bench/plimsoll/spec"
)

// A heal command may name files of the directory of the drill. The watchdog runs it from another one.
func TestHealInTheDirectoryOfTheFault(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "heal.sh"), []byte("#!/bin/sh\necho \"$1\" > healed\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	b := &backend{}
	f := spec.Fault{Action: spec.ParseAction("exec:db1"), Exec: &spec.Commands{Inject: []string{"true"},
		Heal: []string{"./heal.sh", "{member}"}, Timeout: spec.Duration(10 * time.Second)}}
	steps, err := b.Steps(t.Context(), f, &spec.PlatformMember{Name: "db1", Address: "db1:27017"})
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(steps.Undo)
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir("/")
	step, err := Healer{}.Heal(text, func(text string) string { return text })
	if err != nil {
		t.Fatal(err)
	}
	c, err := step.Run(t.Context())
	healed, _ := os.ReadFile(filepath.Join(dir, "healed"))
	if err != nil || string(healed) != "db1\n" {
		t.Errorf("%+v, %v, %q", c, err, healed)
	}
}
