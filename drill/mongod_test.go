package drill

import (
	"strings"
	"testing"
	"time"

	"github.com/plimsoll-bench/plimsoll/fault"
	"github.com/plimsoll-bench/plimsoll/platform"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// A member of mongod whose last operation is not the primary's is behind, however little: what it lacks is stale, and
// it may be a former primary that has not given anything up yet.
func TestMemberThatIsBehindIsNotRestored(t *testing.T) {
	set := func(lag float64) record.Lab {
		return record.Lab{Members: []record.LabMember{{Name: "rs0-1", Set: "rs0", Kind: "mongod", State: "running", Role: "primary"},
			{Name: "rs0-2", Set: "rs0", Kind: "mongod", State: "running", Role: "secondary", LagSeconds: &lag}}}
	}
	for behind, want := range map[float64]string{0: "", 0.001: "rs0-2 is less than a second behind", 12: "rs0-2 is 12 s behind"} {
		if got := notRestored(set(0), set(behind), lag{}); got != want {
			t.Errorf("with a lag of %v s missing is %q, want %q", behind, got, want)
		}
	}
	if got := notRestored(set(0), set(1), lagUnderLoad); got != "" {
		t.Errorf("under load missing is %q", got)
	}
}

// A primary says when its term began more exactly than the lab sees it; one that tells whole seconds does not.
func TestElectedWhenThePrimarySays(t *testing.T) {
	seen := time.Date(2026, 11, 22, 12, 0, 9, 400e6, time.UTC)
	for text, want := range map[string]time.Time{"2026-11-22T12:00:09.123Z": seen.Add(-277 * time.Millisecond), "2026-11-22T12:00:09Z": seen, "": seen,
		"2026-11-22T12:00:11.5Z": seen} {
		if got := happened(record.LabEvent{Time: seen, Data: map[string]string{"elected": text}}); !got.Equal(want) {
			t.Errorf("%q is %v, want %v", text, got, want)
		}
	}
}

// A planned hand-over takes no member away: majority has to hold as if it had not been.
func TestStepDownStrikesNobody(t *testing.T) {
	began := time.Now()
	injecting := newScheduler(&runner{}, spec.Drill{}, &target{before: labOfSets("rs0", 3), lab: noLab{}}, nil)
	for _, name := range []string{fault.StepDown, fault.Kill} {
		f := &roundFault{spec: spec.Fault{Action: spec.Action{Name: name, Target: "primary"}},
			Injection: platform.Injection{Effective: time.Now(), TakesDown: name == fault.Kill, Unseats: true},
			struck:    injecting.target.before.Members[:1]}
		f.Requested = began
		injecting.add(f)
	}
	if n, _ := injecting.worstSet(); n != 1 || len(injecting.mustChange()) != 1 {
		t.Errorf("%d members were down, a primary had to change in %v", n, injecting.mustChange())
	}
}

// How far a member is behind is said in words, and whole seconds as such.
func TestSecondsText(t *testing.T) {
	if got := strings.Join([]string{secondsText(0.001), secondsText(1), secondsText(61)}, ", "); got != "less than a second, 1 s, 61 s" {
		t.Errorf("it reads %q", got)
	}
}
