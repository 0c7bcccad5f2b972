package disk

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/plimsoll-bench/plimsoll/disk/device"
	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/internal/wait"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
)

// idleTime is the time in which devices are watched before the probe uses them.
const idleTime = 400 * time.Millisecond

// watchIdle measures the load of other programs on the devices.
func (p *probe) watchIdle(ctx context.Context) {
	before := p.System.Sample()
	_ = wait.Sleep(ctx, idleTime)
	after := p.System.Sample()
	for _, name := range p.names {
		now, _ := after.Counters(name)
		then, ok := before.Counters(name)
		if u := device.Usage(name, now.Sub(then), device.Seconds(before, after)); ok &&
			(u.Util > 10 || u.Reads+u.Writes > 50) {
			p.find("other-load", measure.Warning, fmt.Sprintf(
				"%s was %s busy with %s requests/s before the probe began. Other programs use it, so the result is too low. "+
					"Stop them, or repeat the probe at another time",
				name, figure.Percent(min(1, u.Util/100)), figure.Rate(u.Reads+u.Writes)))
		}
	}
}

// gradeB checks whether a device of this kind can be that fast.
func (p *probe) gradeB(before, after device.Sample, flush *measure.Histogram) record.ProbeDurability {
	d := record.ProbeDurability{Grade: "B", Verdict: record.NotProvable,
		Covers: "devices that are faster than their kind can be",
		Blind:  "slow devices that lose writes; whether batteries and capacitors exist",
	}
	times := syncTimes{median: time.Duration(flush.Quantile(0.5)), mean: time.Duration(flush.Mean())}
	if len(p.out.Storage.Memory) > 0 {
		d.Text = "data is in memory (" + strings.Join(p.out.Storage.Memory, ", ") + ")"
		return d
	}
	for _, b := range p.out.Storage.Devices {
		if !b.Leaf {
			continue
		}
		d.Device = b.Name
		times.device = flushTime(before, after, b.Name)
		if verdict, text := plausible(b, times); text != "" {
			d.Verdict, d.Text = verdict, text
			if verdict == record.Suspicious {
				return d
			}
		}
	}
	if d.Text == "" {
		d.Text = fmt.Sprintf("half of the syncs took %s or less, but the kind of the device is unknown", figure.Duration(times.median))
	}
	return d
}

// flushTime returns the mean time of a flush from the device's counters, 0 without counters.
func flushTime(before, after device.Sample, name string) time.Duration {
	now, _ := after.Counters(name)
	then, _ := before.Counters(name)
	c := now.Sub(then)
	if c.FlushRequestsCompleted == 0 {
		return 0
	}
	return time.Duration(float64(c.TimeSpentFlushing) / float64(c.FlushRequestsCompleted) * float64(time.Millisecond))
}

const (
	// A flushed append waits for half a rotation on average: 2 ms at 15,000 rpm, 4.2 ms at 7,200 rpm. A median below 2
	// ms is that of a cache.
	fastestRotation = 2 * time.Millisecond
	// Flash needs at least 50 µs to program a page, and a flush also writes its tables. A shorter time is that of a
	// cache.
	fastestFlash = 30 * time.Microsecond
)

// syncTimes has the median and the mean of the syncs of the probe, and the mean of all flushes of the device from the
// kernel's counters, including those of other programs; 0 without counters.
type syncTimes struct {
	median, mean, device time.Duration
}

// plausible judges one device by the median time of a sync.
func plausible(b record.ProbeBlock, s syncTimes) (verdict record.ProbeVerdict, text string) {
	typical := s.median
	fact := fmt.Sprintf("half of the syncs took %s or less, the mean was %s", figure.Duration(typical), figure.Duration(s.mean))
	if s.device > 0 {
		fact += fmt.Sprintf("; the mean of all flushes of %s, including those of other programs, was %s",
			b.Name, figure.Duration(s.device))
	}
	switch {
	case b.Bus == "virtio" || b.Bus == "xen":
		if typical < fastestFlash && b.WriteCache == "write back" {
			return record.Suspicious, fact + ". Flash needs longer to store a page: the hypervisor may ignore flushes (cache=unsafe)"
		}
		return record.NotProvable, fact + ". Storage behind a hypervisor can be that fast, and its kind cannot be detected in the virtual machine"
	case b.Rotational && b.Kind == "disk" && b.WriteCache == "write back" && typical < fastestRotation:
		return record.Suspicious, fmt.Sprintf("%s. A disk needs longer for half a rotation, so its cache answers, and %s reports that the cache is volatile", fact, b.Name)
	case b.Kind == "disk" && !b.Rotational && b.WriteCache == "write back" && typical < fastestFlash:
		return record.Suspicious, fmt.Sprintf("%s. Flash needs longer to store a page, and %s reports that its cache is volatile", fact, b.Name)
	case b.Kind == "disk" && b.WriteCache == "write through":
		return record.NotProvable, fmt.Sprintf("%s. %s reports no volatile cache, which this probe cannot verify", fact, b.Name)
	case b.Kind == "disk":
		return record.Honest, fact + ". That is plausible for a device of this kind"
	}
	what := "a " + b.Kind + " device"
	if b.Kind == "md" {
		what = "an array"
	}
	return record.NotProvable, fmt.Sprintf("%s. %s is %s, whose speed depends on the devices below it", fact, b.Name, what)
}

// overall returns the verdict of all grades, and the grades that decide it. It is the worst of lying and suspicious. It
// is honest only if grade A, C or D is, because a plausible speed (B) proves nothing.
func overall(list []record.ProbeDurability) (verdict record.ProbeVerdict, grades string) {
	for _, word := range []record.ProbeVerdict{record.Lying, record.Suspicious, record.Honest} {
		var names []string
		for _, d := range list {
			if d.Verdict == word && (word != record.Honest || d.Grade != "B") {
				names = append(names, d.Grade)
			}
		}
		if len(names) > 0 {
			return word, strings.Join(names, ", ")
		}
	}
	return record.NotProvable, ""
}
