package fit

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plimsoll-bench/plimsoll/spec"
	"github.com/plimsoll-bench/plimsoll/study"
)

const late = "ran late: before b, 3:10 left, 4:05 needed on this machine"

// Where what is left fits nothing is shed, however slow the machine is.
func TestRefitLeavesWhatFits(t *testing.T) {
	parts, _ := Fit(fitParts(t), 0, false)
	need := seconds(parts)
	fitted, shed := Refit(parts, time.Duration((need+1)*1e9), late)
	if d := cmp.Diff(asText(t, parts), asText(t, fitted)); d != "" || shed != nil {
		t.Errorf("shed %v\n%s", shed, d)
	}
	for i := range parts {
		parts[i].Pace = 2
	}
	if fitted, shed = Refit(parts, time.Duration((2*need+1)*1e9), late); shed != nil || seconds(fitted) < 2*need-1 {
		t.Errorf("at half the speed they take %v, shed %v", seconds(fitted), shed)
	}
	if _, shed = Refit(parts, time.Duration((2*need-60)*1e9), late); len(shed) == 0 {
		t.Error("nothing was cut at half the speed")
	}
}

// What is left fits into any time, in the order of the steps, and each step says that it was late and why.
func TestRefitFitsIntoAnyTime(t *testing.T) {
	parts := append(fitParts(t), Part{Name: "now", Under: &study.Rest{Trials: 10, Done: 1,
		Seconds: []float64{0, 0, 20, 40, 60, 80, 100, 120, 140, 160, 180}}})
	for left := 40 * time.Minute; left > time.Second; left = left * 8 / 10 {
		fitted, shed := Refit(parts, left, late)
		if total := seconds(fitted); total > left.Seconds() {
			t.Errorf("%v: it takes %.0f s", left, total)
		}
		for _, l := range shed {
			if !l.Late || !strings.HasPrefix(l.Why, late) {
				t.Errorf("%v: %+v", left, l)
			}
		}
		now := fitted[len(fitted)-1]
		if now.Out {
			t.Fatalf("%v: the part under way is out", left)
		}
		if out := fitted[2].Out; now.Under.Trials < toldTrials && !out {
			t.Errorf("%v: %d trials of the part under way, and a second value stays", left, now.Under.Trials)
		}
		if to := leftTo(shed, "now", "trials"); now.Under.Trials < 10 && to != "4" && to != "3" && to != "2" && to != "1" {
			t.Errorf("%v: %d trials, text %q", left, now.Under.Trials, to)
		}
	}
	fitted, shed := Refit(parts, -time.Second, late)
	if now := fitted[len(fitted)-1]; now.Out || now.Under.Trials != 1 || seconds(fitted) != 0 ||
		!hasLeft(shed, "a", spec.LeftPart) || hasLeft(shed, "away", spec.LeftPart) {
		t.Errorf("with no time left: %+v, %v", fitted, shed)
	}
}

// A study in batches whose other batches have not begun ends with those that are done.
func TestRefitEndsBatches(t *testing.T) {
	parts := []Part{{Name: "now", Under: &study.Rest{Trials: 2, Seconds: []float64{0, 30, 60}}}}
	if fitted, shed := Refit(parts, 35*time.Second, late); fitted[0].Under.Trials != 1 || leftTo(shed, "now", "trials") != "1" {
		t.Errorf("%+v %v", fitted[0].Under, shed)
	}
	if fitted, shed := Refit(parts, 5*time.Second, late); fitted[0].Under.Trials != 0 || leftTo(shed, "now", "trials") != "those that are done" {
		t.Errorf("%+v %v", fitted[0].Under, shed)
	}
}
