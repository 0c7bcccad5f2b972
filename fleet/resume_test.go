package fleet

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/mac"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/run"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// A specification says where agents are and which files are opened. A record of another user, or one that was changed,
// is resumed with the given specification only.
func TestResumeStartsNothingOfAnotherUser(t *testing.T) {
	mine, err := mac.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	other, err := mac.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	asked := testSpec(2)
	asked.Target, asked.Load.Place = "mongodb://user:hunter2@127.0.0.1:1/", spec.PlaceManual
	changed := asked
	changed.Load.Place = "ssh:elsewhere"
	for name, c := range map[string]struct {
		key    *mac.Key
		change string // what stands in the record instead of the place
		given  *spec.Run
		want   string
	}{
		"another user":                   {key: other, want: "not written by this user"},
		"no key":                         {want: "--file"},
		"a changed record":               {key: mine, change: "ssh:elsewhere", want: "not written by this user"},
		"another file":                   {key: mine, given: &changed, want: "not that of the unfinished run"},
		"the file of another record":     {key: other, change: "ssh:elsewhere", given: &asked, want: "not that of the unfinished run"},
		"my own":                         {key: mine, want: "the place manual is reached"},
		"of another user, with its file": {key: other, given: &asked, want: "the place manual is reached"},
	} {
		dir := filepath.Join(t.TempDir(), "record")
		w, err := record.CreateRun(dir, record.Tool{}, asked)
		if err != nil {
			t.Fatal(err)
		}
		w.Sign(mine)
		if err := w.Begin(measure.Dims{}, time.Now()); err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(dir, record.RunFile)
		text, err := os.ReadFile(file)
		if c.change != "" {
			text = []byte(strings.ReplaceAll(string(text), `"manual"`, `"`+c.change+`"`))
		}
		err = errors.Join(err, os.WriteFile(file, text, 0o644), os.Mkdir(filepath.Join(dir, CoordinatorDir), 0o700),
			os.WriteFile(filepath.Join(dir, CoordinatorDir, stateFile), []byte(`{"clients":[{},{}]}`), 0o600))
		if err != nil {
			t.Fatal(err)
		}
		places := func(place string) (Placer, error) { return nil, errors.New("the place " + place + " is reached") }
		_, err = Resume(t.Context(), asked.Target, c.given, run.Options{Dir: dir, Key: c.key}, Options{Places: places})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}
