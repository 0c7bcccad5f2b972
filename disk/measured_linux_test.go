package disk

import (
	"fmt"
	"math"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll-bench/plimsoll/disk/disktest"
	"github.com/plimsoll-bench/plimsoll/internal/notrun"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// What a step says of its device is what iostat -x says of it, which runs beside the step: it looks at the device
// before the step begins and after it ended, and nothing else uses the device meanwhile.
func TestAccountingIsThatOfIostat(t *testing.T) {
	if !disktest.Able(t) {
		return
	}
	t.Parallel()
	v := disktest.Make(t, "ext4", 64, "noatime")
	// A machine that is too slow for an interval, or that writes something of its own, gets a longer one.
	var apart []string
	for seconds := 4; seconds <= 64; seconds *= 2 {
		p, columns, length, covered := besideIostat(t, v, seconds)
		if columns == nil {
			return
		}
		apart = []string{"the step did not end within the interval"}
		if covered {
			apart = compareIostat(p, v.Device, columns, float64(seconds), length)
		}
		if len(apart) == 0 {
			return
		}
		t.Logf("within %d s: %s", seconds, strings.Join(apart, "; "))
	}
	t.Error(strings.Join(apart, "; "))
}

// besideIostat probes a volume while iostat watches its device for so many seconds. covered says that the step began
// and ended within; length is the most that the interval of iostat can have been.
func besideIostat(t *testing.T, v *disktest.Volume,
	seconds int) (p *record.Probe, columns map[string]float64, length float64, covered bool) {
	t.Helper()
	s := small(v.Dir, spec.ProbeRandom)
	s.Operations, s.Ramp, s.Duration = []string{Mixed}, []int{3}, int64(time.Second)
	var ended time.Time
	var begun time.Time
	finished := make(chan error, 1)
	p, err := probeOf(t, s, func(o *Options) {
		o.Progress = quiet{func(text string) {
			if !strings.HasPrefix(text, "random") {
				return
			}
			settled(t, v)("")
			started := make(chan struct{})
			go func() {
				var err error
				columns, err = disktest.Iostat(t.Context(), v.Device, seconds, func() { begun = time.Now(); close(started) })
				ended = time.Now()
				finished <- err
			}()
			select {
			case <-started:
				// it reads the counters at its start, and nobody can see when it did
				time.Sleep(time.Duration(seconds) * time.Second / 4)
			case err := <-finished:
				finished <- err
			}
		}}
	})
	if err != nil {
		t.Fatal(err)
	}
	over := time.Now()
	if err := <-finished; err != nil {
		notrun.Here(t, "%v", err)
		if os.Getenv("PLIMSOLL_REQUIRE_ENGINE") == "1" { // where all must be tested
			t.Fail()
		}
		return nil, nil, 0, false
	}
	return p, columns, ended.Sub(begun).Seconds(), over.Before(ended)
}

// compareIostat says which columns differ. The interval of iostat was longer than the step, so that its rates are lower
// by one factor, which the reads tell; it lies between the interval and the life of iostat.
func compareIostat(p *record.Probe, device string, columns map[string]float64, least, most float64) (apart []string) {
	step := p.Steps[0]
	var d record.ProbeDevice
	for _, x := range step.Devices {
		if x.Name == device {
			d = x
		}
	}
	length := over(d.Reads*step.Seconds, columns["r/s"])
	if length < 0.95*least || length > 1.05*most {
		apart = append(apart, fmt.Sprintf("%.0f reads and %.2f r/s are an interval of %.2f s, and iostat looked for %.0f to %.2f s", d.Reads*step.Seconds, columns["r/s"], length, least, most))
	}
	for _, c := range []struct {
		name string
		ours float64
		per  bool // a rate
	}{
		{"w/s", d.Writes, true}, {"rkB/s", d.ReadKB, true}, {"wkB/s", d.WriteKB, true}, {"f/s", d.Flushes, true}, {"wrqm/s", d.WriteMrg, true},
		{"aqu-sz", d.Queue, true}, {"util", d.Util, true}, {"r_await", d.ReadAwait, false}, {"w_await", d.WriteAwait, false},
		{"f_await", d.FlushAwait, false},
		{"rareq-sz", d.ReadSize, false}, {"wareq-sz", d.WriteSize, false}, {"rrqm", d.ReadMrgP, false},
	} {
		theirs, digits := columns[c.name], 0.01
		if c.per {
			theirs *= length / step.Seconds
			digits *= length / step.Seconds
		}
		// 5 %: the filesystem itself writes a little outside of the step.
		if math.Abs(c.ours-theirs) > digits+0.05*math.Max(c.ours, theirs) {
			apart = append(apart, fmt.Sprintf("%s: %.3f here, %.3f by iostat", c.name, c.ours, theirs))
		}
	}
	return apart
}

// Whatever fell due within a step of the profile checkpoint is done and counted, also what waits at its end: to leave
// out those who wait longest would hide a stall.
func TestNothingDueIsLeftOut(t *testing.T) {
	if !disktest.Able(t) {
		return
	}
	t.Parallel()
	v := disktest.Make(t, "ext4", 100, "")
	s := small(v.Dir, spec.ProbeCheckpoint)
	s.CommitRate, s.ReadRate, s.Duration = 3000, 300, int64(500*time.Millisecond)
	p, err := probeOf(t, s, nil)
	if err != nil {
		t.Fatal(err)
	}
	commits, _ := newArrivals(s.CommitRate, p.Specification.Seed).until(time.Duration(s.Duration), nil)
	reads, _ := newArrivals(s.ReadRate, p.Specification.Seed+1).until(time.Duration(s.Duration), nil)
	step := p.Steps[0]
	if step.Operations < int64(len(commits)) {
		t.Errorf("%d commits fell due, %d were counted", len(commits), step.Operations)
	}
	if step.Reads == nil || step.Reads.Count < int64(len(reads)) && !found(p, "behind") {
		t.Errorf("%d reads fell due, %+v", len(reads), step.Reads)
	}
	if inside, outside := p.Checkpoint.Inside, p.Checkpoint.Outside; inside == nil ||
		outside != nil && inside.Count+outside.Count != step.Operations {
		t.Errorf("of %d commits %+v are inside and %+v outside", step.Operations, inside, outside)
	}
}
