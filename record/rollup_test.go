package record

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/plimsoll-bench/plimsoll/measure"
)

// TestRollupsHoldTheSame writes runs of random phases, each with operations that end after it beside the next phase,
// and compares what each resolution holds with the intervals that were measured.
func TestRollupsHoldTheSame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		phases := rapid.SliceOfN(rapid.IntRange(1, 150), 1, 3).Draw(t, "seconds of each phase")
		late := rapid.IntRange(0, 3).Draw(t, "seconds that operations end late")
		made := secondsOf(phases, late)
		want := totals(t, made)
		for _, at := range resolutions[1:] {
			r := &rollup{resolution: at, from: map[string]time.Duration{}}
			var got []*measure.Interval
			for _, iv := range made {
				over, _, err := r.add(testDims(), iv)
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, over...)
			}
			got = append(got, r.rest()...)
			if d := cmp.Diff(want, totals(t, got)); d != "" {
				t.Fatalf("intervals of %v hold something else (measured -, merged +):\n%s", at.width, d)
			}
			began := map[string]time.Duration{}
			for _, iv := range got {
				from, ok := began[iv.Phase]
				if !ok {
					from, began[iv.Phase] = iv.Start, iv.Start
				}
				if (iv.Start-from)%at.width != 0 || iv.End-iv.Start > at.width {
					t.Fatalf("%s from %v to %v is no interval of %v since %v", iv.Phase, iv.Start, iv.End, at.width, from)
				}
			}
		}
	})
}

// secondsOf makes intervals of a second. What ends late in a phase has intervals of its own beside those of the next
// phase.
func secondsOf(phases []int, late int) (list []*measure.Interval) {
	second := func(phase string, at, n int) {
		iv := &measure.Interval{Phase: phase, Start: time.Duration(at) * time.Second, End: time.Duration(at+1) * time.Second}
		for range testDims().Classes {
			c := measure.ClassInterval{Counts: make([]int64, len(testDims().Outcomes)), Attempts: int64(n),
				Service: measure.NewHistogram()}
			c.Counts[0] = int64(n)
			c.Service.RecordN(int64(1000+37*at), int64(n))
			iv.Classes = append(iv.Classes, c)
		}
		list = append(list, iv)
	}
	at := 0
	for p, length := range phases {
		for s := range length {
			if p > 0 && s < late {
				second(phaseNames[p-1]+"-drain", at, 1)
			}
			second(phaseNames[p], at, 3+s%5)
			at++
		}
	}
	return list
}

var phaseNames = []string{"measure", "second", "third"}

// total is what intervals of a phase hold together.
type total struct {
	Counts     []int64
	Times      string // the histogram of the service times
	Start, End time.Duration
}

func totals(t *rapid.T, list []*measure.Interval) map[string]total {
	sums := map[string]*measure.Summary{}
	for _, iv := range list {
		if sums[iv.Phase] == nil {
			sums[iv.Phase] = measure.NewSummary(testDims(), iv.Phase)
		}
		if err := sums[iv.Phase].Add(iv); err != nil {
			t.Fatal(err)
		}
	}
	all := map[string]total{}
	for phase, s := range sums {
		times, err := s.Classes[0].Service.Encode()
		if err != nil {
			t.Fatal(err)
		}
		all[phase] = total{s.Classes[0].Counts, times, s.Start, s.End}
	}
	return all
}

// TestRollupFiles checks which files a run leaves, that they are read instead of its seconds where those are too many,
// and that the sums cover them.
func TestRollupFiles(t *testing.T) {
	for _, c := range []struct {
		seconds, most int
		files, read   int // of resolutions, intervals
	}{
		{seconds: 10, most: 5, files: 1, read: 10},
		{seconds: 45, most: 50, files: 2, read: 45},
		{seconds: 45, most: 5, files: 2, read: 5},
		{seconds: 200, most: 25, files: 3, read: 20},
		{seconds: 200, most: 5, files: 3, read: 4},
	} {
		dir := filepath.Join(t.TempDir(), "record")
		w := newTestWriter(t, dir)
		feed(t, w, secondsOf([]int{c.seconds}, 0))
		r := finishTest(t, w)
		files := 0
		for _, at := range resolutions {
			n, last := 0, time.Duration(0)
			complete, err := eachInterval(dir, at, r.Dims(), func(iv *measure.Interval) error {
				n, last = n+1, iv.End
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			if !complete {
				continue
			}
			files++
			if last != time.Duration(c.seconds)*time.Second {
				t.Errorf("%d s: intervals of %v end at %v", c.seconds, at.width, last)
			}
		}
		n := 0
		complete, err := EachMerged(dir, r, c.most, func(*measure.Interval) error { n++; return nil })
		if err != nil || !complete || files != c.files || n != c.read {
			t.Errorf("%d s, %d at most: %d resolutions, %d intervals read, complete %v, %v", c.seconds, c.most, files, n, complete, err)
		}
		names, err := altered(dir, RunFile)
		if err != nil || len(names) > 0 {
			t.Errorf("%q do not match the checksums: %v", names, err)
		}
	}
}
