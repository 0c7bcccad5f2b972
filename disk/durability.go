package disk

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/plimsoll-bench/plimsoll/disk/device"
	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
)

const (
	// accountedSyncs is the number of syncs for grade A, in accountedTime at most.
	accountedSyncs = 100
	accountedTime  = 5 * time.Second
	// idleTime is the time in which devices are watched before the probe uses them.
	idleTime = 400 * time.Millisecond
	// enoughFlushes is the minimal share of syncs that a device must have counted as flushes.
	enoughFlushes = 0.9
)

// idleness has the counters of the devices before the probe used them.
type idleness struct {
	before, after device.Sample
	seconds       float64
}

// watchIdle measures the load of other programs on the devices.
func (p *probe) watchIdle(ctx context.Context) idleness {
	i := idleness{before: p.System.Sample()}
	select {
	case <-time.After(idleTime):
	case <-ctx.Done():
	}
	i.after = p.System.Sample()
	i.seconds = device.Seconds(i.before, i.after)
	for _, name := range p.names {
		now, _ := i.after.Counters(name)
		then, ok := i.before.Counters(name)
		if u := device.Usage(name, now.Sub(then), i.seconds); ok && (u.Util > 10 || u.Reads+u.Writes > 50) {
			p.find("other-load", measure.Warning, fmt.Sprintf(
				"%s was %s busy with %s requests/s before the probe began. Other programs use it, so the result is too low. "+
					"Stop them, or repeat the probe at another time",
				name, figure.Percent(min(1, u.Util/100)), figure.Rate(u.Reads+u.Writes)))
		}
	}
	return i
}

// account measures grade A: syncs with new data, and the flushes that each device counts meanwhile. It also measures
// the times of syncs for grade B.
func (p *probe) account(ctx context.Context) error {
	p.Progress.Step("counting the flushes that syncs cause")
	l, err := p.openLog()
	if err != nil {
		return p.set.Explain(err)
	}
	defer l.close()
	if _, _, err := l.append(1); err != nil { // the first sync also makes the file's metadata durable
		return p.set.Explain(err)
	}
	flush := measure.NewHistogram()
	before := p.System.Sample()
	for begin := time.Now(); flush.Count() < accountedSyncs && time.Since(begin) < accountedTime && ctx.Err() == nil; {
		_, sync, err := l.append(1)
		if err != nil {
			return p.set.Explain(err)
		}
		flush.Record(int64(sync))
	}
	after := p.System.Sample()
	if flush.Count() == 0 {
		return nil
	}
	p.out.Durability = append(p.out.Durability, p.gradeA(before, after, flush.Count()), p.gradeB(before, after, flush))
	p.out.Verdict, _ = Overall(p.out.Durability)
	return nil
}

// counted has the flushes that a device counted: all, and those without the flushes of other programs, estimated from
// their rate before. Each sync of a thread needs a flush that begins after it. So honest storage counts at least as
// many flushes as syncs, whatever other programs do, and fewer flushes prove a lie. If other programs flush as well, as
// many flushes as syncs prove nothing.
type counted struct {
	block        record.ProbeBlock
	all, flushes float64
}

// flushesOf returns the flushes of all accountable devices.
func (p *probe) flushesOf(before, after device.Sample) (list []counted) {
	seconds := device.Seconds(before, after)
	for _, b := range p.accountable() {
		now, ok := after.Counters(b.Name)
		then, had := before.Counters(b.Name)
		if !ok || !had || !now.HasFlushes {
			continue
		}
		idleNow, _ := p.idle.after.Counters(b.Name)
		idleThen, _ := p.idle.before.Counters(b.Name)
		others := float64(idleNow.Sub(idleThen).FlushRequestsCompleted) / max(p.idle.seconds, 0.1) * seconds
		all := float64(now.Sub(then).FlushRequestsCompleted)
		list = append(list, counted{b, all, max(0, all-others)})
	}
	return list
}

// accountable returns the devices that count flushes and, as far as the kernel knows, have a volatile cache.
func (p *probe) accountable() []record.ProbeBlock {
	var list []record.ProbeBlock
	for _, b := range p.out.Storage.Devices {
		if b.WriteCache == "write back" && b.FlushCounted {
			list = append(list, b)
		}
	}
	for _, name := range p.spec.Devices {
		if !slices.ContainsFunc(list, func(b record.ProbeBlock) bool { return b.Name == name }) {
			list = append(list, record.ProbeBlock{Name: name, Kind: "given"})
		}
	}
	return list
}

func (p *probe) gradeA(before, after device.Sample, syncs int64) record.ProbeDurability {
	d := record.ProbeDurability{Grade: "A", Verdict: record.NotProvable, Syncs: syncs,
		Covers: "the filesystem, its mount options and the layers above the counting device",
		Blind:  "the device, its controller or the hypervisor may ignore a flush",
	}
	list := p.flushesOf(before, after)
	if len(list) == 0 {
		d.Text = p.unaccounted()
		return d
	}
	// In each layer of devices at least one must have counted the flushes.
	proven, unclear := "", ""
	for _, group := range layers(list) {
		best := group[0]
		for _, s := range group {
			if s.all > best.all {
				best = s
			}
		}
		enough := enoughFlushes * float64(syncs)
		switch {
		case best.all < enough:
			d.Device, d.Flushes, d.Verdict = best.block.Name, int64(best.all), record.Lying
			d.Text = fmt.Sprintf("%s syncs with new data caused only %s flushes of %s, which has a volatile cache: "+
				"a layer above it acknowledges syncs without a flush%s",
				figure.Count(syncs), figure.Count(d.Flushes), best.block.Name, p.suspect())
			return d
		case best.flushes < enough:
			unclear = best.block.Name
		default:
			proven, d.Device, d.Flushes = best.block.Name, best.block.Name, int64(best.all)
		}
	}
	if proven == "" {
		d.Text = fmt.Sprintf("other programs flush %s too, so the flushes of %s syncs cannot be distinguished from theirs: "+
			"repeat the probe when nothing else writes to it", unclear, figure.Count(syncs))
		return d
	}
	d.Verdict = record.Honest
	d.Text = fmt.Sprintf("%s syncs with new data caused %s flushes of %s", figure.Count(syncs), figure.Count(d.Flushes), d.Device)
	if unclear != "" {
		d.Text += fmt.Sprintf("; those of %s cannot be distinguished from the flushes of other programs", unclear)
	}
	return d
}

// layers groups devices by their depth below the filesystem. Each device given by the user is a separate layer.
func layers(list []counted) [][]counted {
	var groups [][]counted
	depth := map[string]int{}
	for _, s := range list {
		n := 0
		for _, above := range s.block.Above {
			n = max(n, depth[above]+1)
		}
		if s.block.Kind == "given" {
			n = len(groups)
		}
		depth[s.block.Name] = n
		for len(groups) <= n {
			groups = append(groups, nil)
		}
		groups[n] = append(groups[n], s)
	}
	return slices.DeleteFunc(groups, func(g []counted) bool { return len(g) == 0 })
}

// suspect names a mount option that switches flushes off.
func (p *probe) suspect() string {
	for _, o := range strings.Split(p.out.Storage.Options, ",") {
		switch o {
		case "nobarrier", "barrier=0", "volatile", "fsync_mode=nobarrier":
			return "; the mount option " + o + " causes that"
		}
	}
	return ""
}

// unaccounted returns why no flushes could be counted.
func (p *probe) unaccounted() string {
	s := p.out.Storage
	switch {
	case s.Memory:
		return "the data is in memory (" + s.Filesystem + "), so a power cut loses all of it"
	case len(s.Devices) == 0:
		return fmt.Sprintf("the kernel shows no device below this filesystem (%s): name its device with --device, "+
			"or use an external witness", s.Filesystem)
	}
	for _, b := range s.Devices {
		if b.WriteCache == "write through" && b.Leaf {
			return fmt.Sprintf("%s reports no volatile cache, so the kernel sends no flushes to count, "+
				"and this probe cannot verify the report", b.Name)
		}
	}
	return "no device below the filesystem counts its flushes"
}

// gradeB checks whether a device of this kind can be that fast.
func (p *probe) gradeB(before, after device.Sample, flush *measure.Histogram) record.ProbeDurability {
	d := record.ProbeDurability{Grade: "B", Verdict: record.NotProvable,
		Covers: "devices that are faster than their kind can be",
		Blind:  "slow devices that lose writes; whether batteries and capacitors exist",
	}
	times := syncTimes{median: time.Duration(flush.Quantile(0.5)), mean: time.Duration(flush.Mean())}
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
	case b.Bus == "zram" || b.Bus == "ram":
		return record.Suspicious, b.Name + " is memory: a power cut loses all of it"
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

// Overall returns the verdict of all grades, and the grades that decide it. It is the worst of lying and suspicious. It
// is honest only if grade A, C or D is, because a plausible speed (B) proves nothing.
func Overall(list []record.ProbeDurability) (verdict record.ProbeVerdict, grades string) {
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
