package fleet

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll-bench/plimsoll/run"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// testDuties are what the clients of the tests know besides the load.
var testDuties = Duties{
	"write": func(brief json.RawMessage, o *run.Options) (HandOver, error) {
		return func(to io.Writer, last bool) error {
			_, err := fmt.Fprintf(to, "%s by %d of %d, last %t", brief, o.Share.Client, o.Share.Clients, last)
			if last {
				_, err = to.Write(bytes.Repeat([]byte{'.'}, 3*chunkBytes))
			}
			return err
		}, nil
	},
	"fail": func(json.RawMessage, *run.Options) (HandOver, error) {
		return func(io.Writer, bool) error { return errors.New("it cannot be handed over") }, nil
	},
}

// Each client hands over the results of its duty during its load and once after it.
func TestDuty(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "record")
	var started time.Time
	asked := testSpec(2)
	asked.Load.Pace, asked.Load.Duration, asked.Load.Operations = 0, 0, 2000
	got := map[int]string{}
	r, err := Execute(t.Context(), asked, run.Options{Dir: dir}, Options{Places: Processes(launcher("client")),
		Duty: Duty{Name: "write", Brief: "a word", Started: func(at time.Time) { started = at },
			Received: func(client int, _ time.Duration, data []byte) { got[client] = string(data) }}})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Clients) != 2 || started.IsZero() {
		t.Errorf("%d clients, started %v", len(r.Clients), started)
	}
	for i := range 2 {
		if want := fmt.Sprintf(`"a word" by %d of 2, last true`, i) + strings.Repeat(".", 3*chunkBytes); got[i] != want {
			t.Errorf("client %d handed over %.60q and %d bytes in all, want %.60q and %d", i, got[i], len(got[i]), want, len(want))
		}
	}
}

// What a client handed over before it was lost stays.
func TestDutyOfALostClient(t *testing.T) {
	t.Parallel()
	asked := testSpec(2)
	asked.Load.Duration, asked.Load.Warmup, asked.Load.Pace = spec.Duration(6*time.Second), 0, 40
	place := &memory{dir: t.TempDir()}
	dir := filepath.Join(t.TempDir(), "record")
	got := map[int][]string{}
	_, err := Execute(t.Context(), asked, run.Options{Dir: dir}, Options{Places: place.places(),
		Duty: Duty{Name: "write", Received: func(client int, _ time.Duration, data []byte) {
			if got[client] = append(got[client], string(data)); client == 1 {
				place.links[1].Break()
			}
		}}})
	if err != nil {
		t.Fatal(err)
	}
	if len(got[1]) == 0 || !strings.HasPrefix(got[1][0], "null by 1 of 2, last false") {
		t.Errorf("the lost client handed over %.60q", got[1])
	}
	if n := len(got[0]); n < 2 || !strings.HasPrefix(got[0][n-1], "null by 0 of 2, last true") {
		t.Errorf("the other handed over %.60q", got[0])
	}
}

// A duty that is not known, or not done, is an error that names the client.
func TestDutyFails(t *testing.T) {
	for duty, want := range map[string]string{"fail": "it cannot be handed over", "dance": `has no duty "dance" (known: fail, write)`} {
		asked := testSpec(2)
		asked.Load.Pace, asked.Load.Duration, asked.Load.Operations = 0, 0, 2000
		r, err := Execute(t.Context(), asked, run.Options{Dir: filepath.Join(t.TempDir(), "record")},
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
