package report

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plimsoll-bench/plimsoll/spec"
)

// What several parts are smaller by is said once, with their names; what is about all parts, and what differs, stays.
func TestTheSameIsSaidOnce(t *testing.T) {
	trials := func(part, to string) spec.Left {
		return spec.Left{Part: part, What: "trials", From: "6", To: to, Why: "to be done in 10m"}
	}
	got := together([]spec.Left{{What: "scale", From: "1", To: "workers=1/8"}, trials("a", "4"), trials("b", "4"),
		trials("c", "3"), trials("d", "4")})
	want := []spec.Left{{What: "scale", From: "1", To: "workers=1/8"}, trials("a, b, d", "4"), trials("c", "3")}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}
