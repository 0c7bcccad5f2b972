package judge

import (
	"testing"

	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/published"
	"github.com/plimsoll-bench/plimsoll/record"
)

// An invalid part confirms and contradicts nothing, so no advice of the document rests on it. The same part does if it
// is valid.
func TestAnInvalidPartGivesNoAdvice(t *testing.T) {
	source, err := published.Document("storage-io")
	if err != nil {
		t.Fatal(err)
	}
	for invalid, want := range map[bool]bool{false: true, true: false} {
		p := &record.Probe{Ramps: []record.ProbeRamp{{Operation: "mixed", Threads: 4, Rate: 10, Gain: 0.1}}}
		p.Kind = record.KindProbe
		if invalid {
			p.Validity = []measure.Finding{{ID: "other-load", Severity: measure.Invalid}}
		}
		for _, n := range []int{1, 4, 16, 64} {
			p.Steps = append(p.Steps, record.ProbeStep{Profile: "random", Operation: "mixed", Threads: n, Rate: float64(100 * n)})
		}
		part := &record.Part{Name: "ext4", Kind: record.KindProbe, Status: record.PartDone, Shows: []string{"ext4"}}
		s := &Suite{Record: &record.Suite{}, Source: source, Parts: []Part{{Part: part, Probe: p}}}
		measured := false
		for _, f := range s.exhibits() {
			for _, st := range f.statements {
				measured = measured || st.Counted() && st.Agreement != record.NotMeasured
				if invalid && st.Agreement == record.NotMeasured && st.Why == "" {
					t.Errorf("no reason for %+v", st)
				}
			}
		}
		if measured != want {
			t.Errorf("invalid %v: something was measured: %v", invalid, measured)
		}
	}
}
