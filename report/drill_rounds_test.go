package report

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// A drill with several rounds shows by how much the faults of each were to be later, and were.
func TestDelaysAreShown(t *testing.T) {
	jitter := spec.Duration(8 * time.Second)
	d := audited()
	d.Specification.Repeat, d.Specification.Jitter, d.Specification.Run.Workload.Seed = 12, &jitter, 7
	d.Rounds = append(d.Rounds, d.Rounds[0])
	for i := range d.Rounds {
		d.Rounds[i].Delay = int64(time.Duration(i+1) * 1500 * time.Millisecond)
	}
	shown := func() string {
		var b bytes.Buffer
		if err := Write(&b, d, "md"); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	for _, want := range []string{"later by a random time of up to 8.00 s (seed 7): ", " s, and 2 more", "faults later by", "| 1.50 s |", "| 3.00 s |"} {
		if !strings.Contains(shown(), want) {
			t.Errorf("%q is not in\n%s", want, shown())
		}
	}
	d.Specification.Jitter = nil // of a record of before
	d.Rounds = []record.DrillRound{d.Rounds[0], d.Rounds[0]}
	d.Rounds[0].Delay, d.Rounds[1].Delay = 0, 0
	if text := shown(); strings.Contains(text, "later by") {
		t.Errorf("rounds without delays have them:\n%s", text)
	}
}
