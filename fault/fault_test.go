package fault

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plimsoll-bench/plimsoll/lab"
	"github.com/plimsoll-bench/plimsoll/spec"
)

func TestParse(t *testing.T) {
	for _, c := range []struct {
		spec   spec.DrillFault
		want   lab.Fault
		manner string
	}{
		{spec.DrillFault{Fault: "kill:primary"}, lab.Fault{Action: lab.Kill, Target: "primary"}, Crash},
		{spec.DrillFault{Fault: "step-down"}, lab.Fault{Action: lab.StepDown, Target: "primary"}, Planned},
		{spec.DrillFault{Fault: "pause:random", Seed: 7}, lab.Fault{Action: lab.Pause, Target: "random", Seed: 7}, BlackHole},
		{spec.DrillFault{Fault: "cut:rs0/primary", From: "host2", Direction: "in"},
			lab.Fault{Action: lab.Cut, Target: "rs0/primary", From: "host2", Direction: "in"}, BlackHole},
		{spec.DrillFault{Fault: "slow:host1", Rate: 1000}, lab.Fault{Action: lab.Slow, Target: "host1", Rate: 1000}, Slow},
		{spec.DrillFault{Fault: "disk-lie:rs0-1/d1"}, lab.Fault{Action: lab.DiskLie, Target: "rs0-1/d1"}, Disk},
		{spec.DrillFault{Fault: "disk-slow:primary", Delay: spec.Duration(time.Second), Ops: []string{"flush"}, Probability: 0.5},
			lab.Fault{Action: lab.DiskSlow, Target: "primary", Delay: time.Second, Ops: []string{"flush"}, Probability: 0.5}, Slow},
		{spec.DrillFault{Fault: "disk-error:rs0-1", Errno: "ENOSPC"}, lab.Fault{Action: lab.DiskError, Target: "rs0-1", Errno: "ENOSPC"}, Disk},
		{spec.DrillFault{Fault: "power-loss:primary", Keep: 0.25, Seed: 1}, lab.Fault{Action: lab.PowerLoss, Target: "primary", Keep: 0.25, Seed: 1}, Crash},
		{spec.DrillFault{Fault: "kill:rs0-2", For: spec.Duration(25 * time.Second)}, lab.Fault{Action: lab.Kill, Target: "rs0-2", For: 25 * time.Second}, Crash},
	} {
		f, err := Parse(c.spec)
		if err != nil {
			t.Errorf("%s: %v", c.spec.Fault, err)
			continue
		}
		if diff := cmp.Diff(c.want, f.Fault); diff != "" || f.Manner != c.manner || f.Text != c.spec.Fault {
			t.Errorf("%s: manner %s, text %s\n%s", c.spec.Fault, f.Manner, f.Text, diff)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for _, c := range []struct {
		spec spec.DrillFault
		says string
	}{
		{spec.DrillFault{}, "ACTION:TARGET"},
		{spec.DrillFault{Fault: "kil:primary"}, "did you mean kill?"},
		{spec.DrillFault{Fault: "disk-lies:rs0-1"}, "did you mean disk-lie?"},
		{spec.DrillFault{Fault: "kill"}, "what is to be broken?"},
		{spec.DrillFault{Fault: "kill:"}, "what is to be broken?"},
		{spec.DrillFault{Fault: "slow:host1"}, "rate"},
		{spec.DrillFault{Fault: "kill:rs0-1", Rate: 10}, "rate"},
		{spec.DrillFault{Fault: "kill:rs0-1", From: "host1"}, "only a cut"},
		{spec.DrillFault{Fault: "cut:rs0-1", Direction: "up"}, "both, in or out"},
		{spec.DrillFault{Fault: "kill:rs0-1", Keep: 0.5}, "power-loss"},
		{spec.DrillFault{Fault: "power-loss:rs0-1", Keep: 2}, "between 0 and 1"},
		{spec.DrillFault{Fault: "power-loss:rs0-1", Errno: "EIO"}, "faults of disks"},
		{spec.DrillFault{Fault: "disk-slow:rs0-1"}, "needs a delay"},
		{spec.DrillFault{Fault: "disk-lie:rs0-1", Delay: 1}, "no delay"},
		{spec.DrillFault{Fault: "disk-error:rs0-1", Errno: "EFUN"}, "does not return"},
		{spec.DrillFault{Fault: "disk-error:rs0-1", Ops: []string{"flsh"}}, "did you mean flush?"},
		{spec.DrillFault{Fault: "disk-torn:rs0-1", Ops: []string{"read"}}, "never about read"},
		{spec.DrillFault{Fault: "disk-torn:rs0-1", Probability: -0.5}, "between 0 and 1"},
	} {
		if _, err := Parse(c.spec); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%+v: %v, want %q", c.spec, err, c.says)
		}
	}
}

// Every action has a manner, and is read.
func TestEveryActionIsKnown(t *testing.T) {
	if len(manners) != len(Actions()) {
		t.Errorf("%d manners for %d actions", len(manners), len(Actions()))
	}
	for _, a := range Actions() {
		s := spec.DrillFault{Fault: a + ":primary"}
		switch a {
		case lab.Slow:
			s.Rate = 1000
		case lab.DiskSlow:
			s.Delay = spec.Duration(time.Second)
		}
		if f, err := Parse(s); err != nil || f.Manner == "" {
			t.Errorf("%s: manner %q, %v", a, f.Manner, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("kill:primary", "host1", "in", "EIO", "flush", 0.5, 0.5, int64(1))
	f.Add("disk-error:a/b", "", "", "ENOSPC", "", 1.0, 0.0, int64(0))
	f.Fuzz(func(t *testing.T, text, from, direction, errno, op string, probability, keep float64, rate int64) {
		s := spec.DrillFault{Fault: text, From: from, Direction: direction, Errno: errno, Rate: spec.Size(rate),
			Probability: spec.Share(probability), Keep: spec.Share(keep)}
		if op != "" {
			s.Ops = []string{op}
		}
		got, err := Parse(s)
		if err == nil && (got.Manner == "" || got.Target == "" || got.Check() != nil || !strings.HasPrefix(text, got.Action)) {
			t.Errorf("%+v was taken as %+v", s, got)
		}
	})
}

func FuzzStat(f *testing.F) {
	f.Add("12 (a b) c) S 1 12 12 0 -1 4194560 1 0 0 0 7 8 0 0 20 0 1 0 4711 0 0")
	f.Fuzz(func(t *testing.T, text string) { parseStat([]byte(text)) })
}

func TestStat(t *testing.T) {
	r, ok := parseStat([]byte("12 (a b) c) S 1 12 12 0 -1 4194560 1 0 0 0 7 8 0 0 20 0 1 0 4711 0 0"))
	if !ok || r.born != 4711 || r.ticks != 15 || r.state != 'S' {
		t.Errorf("%+v, %v", r, ok)
	}
	if _, ok := parseStat([]byte("12 (gone) Z 1 12 12 0 -1 4194560 1 0 0 0 7 8 0 0 20 0 1 0 4711 0 0")); ok {
		t.Error("a process that has ended counts as running")
	}
}
