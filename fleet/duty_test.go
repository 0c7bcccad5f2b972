package fleet

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll-bench/plimsoll/run"
)

// testDuties are what the clients of the tests know besides the load.
var testDuties = Duties{
	"write": func(brief json.RawMessage, o *run.Options) (func() error, error) {
		return func() error {
			return os.WriteFile(filepath.Join(o.Dir, "duty"), fmt.Appendf(nil, "%s by %d of %d", brief, o.Client, o.Clients), 0o600)
		}, nil
	},
	"fail": func(json.RawMessage, *run.Options) (func() error, error) {
		return func() error { return errors.New("it cannot be handed over") }, nil
	},
}

// Each client does its duty after its load, beside its record.
func TestDuty(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "record")
	var started time.Time
	spec := testSpec(2)
	spec.Load.Pace, spec.Load.Duration, spec.Load.Operations = 0, 0, 2000
	r, err := Execute(t.Context(), spec, run.Options{Dir: dir}, Options{Places: Processes(launcher("client")),
		Duty: Duty{Name: "write", Brief: "a word", Started: func(at time.Time) { started = at }}})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Clients) != 2 || started.IsZero() {
		t.Errorf("%d clients, started %v", len(r.Clients), started)
	}
	for i := range 2 {
		b, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(recordOf(i)), "duty"))
		if want := fmt.Sprintf(`"a word" by %d of 2`, i); err != nil || string(b) != want {
			t.Errorf("client %d left %q (%v), want %q", i, b, err, want)
		}
	}
}

// A duty that is not known, or not done, is an error that names the client.
func TestDutyFails(t *testing.T) {
	for duty, want := range map[string]string{"fail": "it cannot be handed over", "dance": `has no duty "dance" (known: fail, write)`} {
		spec := testSpec(2)
		spec.Load.Pace, spec.Load.Duration, spec.Load.Operations = 0, 0, 2000
		r, err := Execute(t.Context(), spec, run.Options{Dir: filepath.Join(t.TempDir(), "record")},
			Options{Places: Processes(launcher("client")), Duty: Duty{Name: duty}, Strict: true})
		text := fmt.Sprint(err)
		if r != nil {
			for _, c := range r.Clients {
				text += " " + c.Problem
			}
		}
		if !strings.Contains(text, want) {
			t.Errorf("the duty %q ends with %q, want %q", duty, text, want)
		}
	}
}
