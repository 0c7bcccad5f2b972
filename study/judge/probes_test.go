package judge

import (
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/record/schema"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// probed is a probe of a disk that is faster by a factor at the journal.
func probed(disk string, after time.Duration, factor, scatter float64) *record.Probe {
	return &record.Probe{
		Head: record.Head{SchemaVersion: record.SchemaVersion, Kind: record.KindProbe, Status: record.Complete,
			Started:     begin.Add(after),
			Environment: record.Environment{OS: "linux", Arch: "amd64", CPU: "Some CPU", Cores: 4}, Tool: record.Tool{Name: "plimsoll"},
			Validity: []measure.Finding{}},
		Specification: record.ProbeSpec{Directory: "/mnt/" + disk, Size: 1 << 28, Seed: uint64(after) + 1},
		Storage:       record.ProbeStorage{Source: disk, Free: int64(after), Devices: []record.ProbeBlock{{Name: disk}}},
		Journal:       &record.ProbeJournalResult{Ceiling: 1000 * factor * scatter},
		Checkpoint:    &record.ProbeCheckpointResult{Inside: &record.Latency{P99: ptr(int64(5e6 / scatter))}},
		Steps: []record.ProbeStep{{Profile: spec.ProbeRandom, Operation: "read", Rate: 8000 * scatter},
			{Profile: spec.ProbeRandom, Operation: "read", Rate: 9000 * scatter},
			{Profile: spec.ProbeRandom, Operation: "write", Rate: 99999}},
	}
}

// keepProbes keeps n probes of each of two disks, in turns if inTurn is true, and returns their directories.
func keepProbes(t *testing.T, n int, inTurn bool, change func(*record.Probe)) []string {
	t.Helper()
	top := t.TempDir()
	for i := range n {
		for side, disk := range []string{"A", "B"} {
			after := time.Duration(2*i+side) * time.Minute
			if !inTurn {
				after = time.Duration(side*n+i) * time.Minute
			}
			p := probed(disk, after, 1+float64(side), 1+0.001*float64(i%3))
			if side == 1 && change != nil {
				change(p)
			}
			keepJSON(t, filepath.Join(top, disk, fmt.Sprint(i)), record.ProbeFile, p)
		}
	}
	return []string{filepath.Join(top, "A"), filepath.Join(top, "B")}
}

// Disks that were probed in turn have a verdict for each use; what differs is the disk.
func TestCompareProbes(t *testing.T) {
	dirs := keepProbes(t, 12, true, nil)
	if !AreProbes(dirs) || AreProbes([]string{dirs[0], t.TempDir()}) || AreProbes(nil) {
		t.Error("probes are not recognized")
	}
	r, err := CompareProbes(dirs, CompareOptions{})
	if err != nil {
		t.Fatal(err)
	}
	fitsSchema(t, schema.Comparison, r)
	want := map[string]record.Verdict{"journal": record.Better, "checkpoint": record.Equivalent, "random-reads": record.Equivalent}
	for _, c := range r.Comparisons {
		if c.Verdict != want[c.Metric] || c.Low == nil {
			t.Errorf("%s is %s", c.Metric, c.Verdict)
		}
	}
	if len(r.Comparisons) != 3 || *r.Comparisons[2].Base < 9000 || r.WouldTell != "" || len(r.Validity) > 0 ||
		strings.Join(about(r), " ") != "storage.devices.0.name storage.source" {
		t.Errorf("%+v\ncompared %q, would tell %q", r.Validity, about(r), r.WouldTell)
	}
}

// One probe on each side, or all of one disk before those of the other, cannot tell. Another load on the disk, or
// another machine, is refused.
func TestCompareProbesRefuses(t *testing.T) {
	for name, dirs := range map[string][]string{"one each": keepProbes(t, 1, true, nil), "not in turn": keepProbes(t, 8, false, nil)} {
		r, err := CompareProbes(dirs, CompareOptions{})
		if err != nil || measure.Worst(r.Validity) == measure.Invalid || r.WouldTell != "plimsoll disk /mnt/A /mnt/B" {
			t.Fatalf("%s: %v, would tell %q, %+v", name, err, r.WouldTell, r.Validity)
		}
		for _, c := range r.Comparisons {
			if c.Verdict != record.Inconclusive {
				t.Errorf("%s: %s is %s", name, c.Metric, c.Verdict)
			}
		}
	}
	for name, change := range map[string]func(*record.Probe){
		"probe.size":      func(p *record.Probe) { p.Specification.Size = 1 << 30 },
		"probe.clients.0": func(p *record.Probe) { p.Specification.Clients = []int{8} },
		"environment.cpu": func(p *record.Probe) { p.Environment.CPU = "another" },
	} {
		r, err := CompareProbes(keepProbes(t, 12, true, change), CompareOptions{})
		if err != nil || !hasFinding(r.Validity, "not-comparable", measure.Invalid) || r.Comparisons[0].Verdict != record.Inconclusive {
			t.Errorf("%s: %v, %+v", name, err, r.Validity)
		}
	}
	failed := func(p *record.Probe) { p.Status = record.Failed }
	if r, err := CompareProbes(keepProbes(t, 12, true, failed), CompareOptions{}); err != nil ||
		!hasFinding(r.Validity, "no-records", measure.Invalid) {
		t.Errorf("failed probes: %v, %+v", err, r)
	}
	if _, err := CompareProbes([]string{t.TempDir(), t.TempDir()}, CompareOptions{}); err == nil {
		t.Error("directories without probes were compared")
	}
}

// Two equal disks that are probed until it is decided, as plimsoll disk does, are called different in at most 5 % of
// the cases, also while the machine drifts; one that is faster by 20 % is found.
func TestDisksInTurn(t *testing.T) {
	const simulated = 300
	uses := []string{"journal", "checkpoint", "random-reads"}
	for name, c := range map[string]struct{ truth, drift float64 }{"equal": {1, 0}, "equal, drift": {1, 0.5}, "20 % faster": {1.2, 0}} {
		wrong, found := 0, 0
		for seed := range simulated {
			rng := rand.New(rand.NewPCG(uint64(seed), 7))
			sides := []Side{{Name: "A"}, {Name: "B"}}
			level := 0.05
			for block := 1; block <= 16; block++ {
				for k, i := range [][]int{{0, 1, 1, 0}, {1, 0, 0, 1}}[rng.IntN(2)] {
					at := 4*block + k
					x := Trial{Started: begin.Add(time.Duration(at) * time.Minute), Values: map[string]float64{}}
					for _, use := range uses {
						x.Values[use] = 1000 * math.Exp(0.05*rng.NormFloat64()+c.drift*float64(at)/64) * math.Pow(c.truth, float64(i))
					}
					sides[i].Trials = append(sides[i].Trials, x)
				}
				if block != 4 && block != 8 && block != 16 {
					continue
				}
				level /= 2
				r, err := Compare(sides, CompareOptions{disks: true, Level: level})
				if err != nil {
					t.Fatal(err)
				}
				differ := 0
				for _, x := range r.Comparisons {
					if x.Verdict == record.Better || x.Verdict == record.Worse {
						differ++
					}
				}
				if differ > 0 {
					if found++; c.truth == 1 {
						wrong++
					}
					break
				}
			}
		}
		t.Logf("%s: %d of %d have a difference", name, found, simulated)
		if float64(wrong)/simulated > 0.05 || c.truth > 1 && found < simulated*95/100 {
			t.Errorf("%s: a difference in %d of %d", name, found, simulated)
		}
	}
}
