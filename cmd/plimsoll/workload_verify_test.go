package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/plimsoll-bench/plimsoll/workload/recorded"
)

// A verification claims only what the source says: captured commands have no results to compare.
func TestVerificationClaimsWhatItCompared(t *testing.T) {
	for known, want := range map[int64]string{
		0:  "verified in part: weights are within 10 % of what was recorded, but the source does not say what 1 of 1 kind found",
		10: "verified: weights, results and plans are within 10 %",
	} {
		var out bytes.Buffer
		v := &verification{recording: &recording{recordFlags: &recordFlags{out: "shop.yaml"}, env: &environment{stdout: &out}}}
		v.print([]recorded.Check{{Shape: "find orders", Recorded: recorded.Found{Known: known, Share: 1},
			Replayed: recorded.Found{Known: 10, Share: 1}}})
		if !strings.HasPrefix(out.String(), want) {
			t.Errorf("%d known: %s", known, &out)
		}
	}
}
