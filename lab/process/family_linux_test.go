package process

import (
	"io"
	"os"
	"slices"
	"testing"
)

// A family has children and grandchildren, and those of threads other than the first.
func TestFamily(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	p, err := Start(t.Context(), Spec{Role: "family", Path: "/bin/sh", Args: []string{"-c", "sh -c 'sleep 600 & echo; wait' & wait"}, Log: w})
	w.Close()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Kill)
	if _, err := io.ReadFull(r, make([]byte, 1)); err != nil { // the grandchild runs
		t.Fatal(err)
	}
	family := Family(p.PID)
	want := append([]int{p.PID}, Descendants(p.PID)...)
	slices.Sort(want)
	got := slices.Clone(family)
	slices.Sort(got)
	if len(got) < 3 || family[0] != p.PID || !slices.Equal(got, want) {
		t.Errorf("the family is %v, want %v", family, want)
	}
	if !slices.Contains(Family(os.Getpid()), p.PID) {
		t.Error("a child of this program is not of its family")
	}
}
