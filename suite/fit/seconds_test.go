package fit

import (
	"testing"
	"time"

	"github.com/plimsoll-bench/plimsoll/spec"
)

// A probe that names no profile does the random one: what it takes depends on its threads, so that fewer of them save
// time.
func TestProbeWithoutProfilesIsRandom(t *testing.T) {
	for _, threads := range [][]spec.Count{{1, 2, 4}, {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024}} {
		asked := spec.PartProbe{Operations: []string{"mixed"}, Threads: threads, Duration: spec.Duration(3 * time.Second)}
		named := asked
		named.Profiles = []string{spec.ProbeRandom}
		if got, want := probeSeconds(&asked), probeSeconds(&named); got != want {
			t.Errorf("%d steps without a profile take %v s, with it %v s", len(threads), got, want)
		}
		if got, want := probeSeconds(&asked), fitVolume+3*float64(len(threads)); got != want {
			t.Errorf("%d steps of 3 s take %v s, not %v s", len(threads), got, want)
		}
	}
}

// The ramps of examples/storage-io keep all their points in ten minutes: the study beside them, which takes longer,
// gets smaller first.
func TestFitKeepsRamps(t *testing.T) {
	fitted, _ := Fit(folder(t, "storage-io"), 10*time.Minute, false)
	ramps := 0
	for _, p := range fitted {
		if p.Probe == nil || p.Out {
			continue
		}
		if ramps++; len(p.Probe.Threads) != 11 {
			t.Errorf("%s has threads %v", p.Name, p.Probe.Threads)
		}
	}
	if ramps != 3 {
		t.Errorf("%d ramps", ramps)
	}
}
