package drill

import (
	"strings"
	"testing"

	"github.com/plimsoll-bench/plimsoll/record"
)

// TestBrokenPromisesAreViolations has what MongoDB promises make a round violated, with both operations named, and what
// it does not promise leave it as it is.
func TestBrokenPromisesAreViolations(t *testing.T) {
	first := record.ReadOperation{Kind: "write", Session: 3, Sent: 1_000_000_000, Ended: 1_002_000_000, Server: "a:1", Told: "acknowledged"}
	judged := func(promised bool) *record.LedgerResult {
		return &record.LedgerResult{Judged: &record.ReadsResult{Reads: 10,
			Guarantees: []record.ReadGuarantee{{Name: "read-your-writes", Promised: promised, Checked: 10, Broken: 2},
				{Name: "committed", Promised: true, Checked: 10}},
			Conflicts: []record.ReadConflict{{Guarantee: "read-your-writes", Promised: promised, Writer: 3, Sequence: 17, First: &first,
				Second: record.ReadOperation{Kind: "read", Session: 3, Sent: 1_003_000_000, Server: "b:2"}}}}}
	}
	wrong := readViolations(judged(true))
	if len(wrong) != 1 {
		t.Fatalf("violations: %q", wrong)
	}
	for _, part := range []string{"read-your-writes", "2 of 10", "update 17 of writer 3", "acknowledged by a:1 at 1.0020 s", "The read of session 3 from b:2 at 1.0030 s did not return it"} {
		if !strings.Contains(wrong[0], part) {
			t.Errorf("%q does not say %q", wrong[0], part)
		}
	}
	if wrong = readViolations(judged(false)); len(wrong) > 0 {
		t.Errorf("not promised, and violated: %q", wrong)
	}
	if n := judged(true).Judged.BrokenPromises(); n != 2 {
		t.Errorf("%d promises are broken", n)
	}
}

// TestShareOfReads gives each kind of operation its part.
func TestShareOfReads(t *testing.T) {
	p := ownParams(0.4)
	if sum := p.Insert + p.Update + p.Read; p.Read/sum < 0.399 || p.Read/sum > 0.401 || p.Insert != 2*p.Update {
		t.Errorf("%+v", p)
	}
}
