package kube

import (
	"slices"
	"testing"
)

// A reason is shown once, when it is there for the second time in a row.
func TestTeller(t *testing.T) {
	var told []string
	s := Teller{Tell: func(text string) { told = append(told, text) }}
	for _, reasons := range [][]string{{"creating"}, {"no image"}, {"no image", "no node"}, {"no image"}, {"no node"}, {"no node"}} {
		s.See(reasons)
	}
	if want := []string{"no image", "no node"}; !slices.Equal(told, want) {
		t.Errorf("told %q, want %q", told, want)
	}
	new(Teller).See([]string{"nobody hears it"})
}
