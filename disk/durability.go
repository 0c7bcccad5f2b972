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
	// accountedSyncs are made for grade A, in accountedTime at most.
	accountedSyncs = 100
	accountedTime  = 5 * time.Second
	// idleTime is how long devices are watched before anything is done.
	idleTime = 400 * time.Millisecond
	// enoughFlushes is the share of syncs that a device must have seen as flushes.
	enoughFlushes = 0.9
)

// idleness is what the devices did before the probe did anything.
type idleness struct {
	before, after device.Sample
	seconds       float64
}

// watchIdle looks at what others do to the devices.
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
				"%s was %s busy with %s requests/s before the probe began, so others share it: stop them, or take the result for what is left over",
				name, figure.Percent(min(1, u.Util/100)), figure.Rate(u.Reads+u.Writes)))
		}
	}
	return i
}

// account is grade A: a number of syncs with new data each, and the flushes that each device saw meanwhile. It also
// tells the plausibility of grade B how long a flush takes.
func (p *probe) account(ctx context.Context) error {
	p.Progress.Step("counting the flushes that syncs cause")
	l, err := p.openLog()
	if err != nil {
		return p.set.Explain(err)
	}
	defer l.close()
	if _, _, err := l.append(1); err != nil { // the first one also makes the file's own data durable
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

// seen is how many flushes a device saw: all of them, and without those that others cause at the rate of the time
// before. Each sync of a thread that makes one after the other needs a flush that begins after it, so that honest storage
// sees at least as many as there were syncs, whatever others do; fewer is a lie. As many, with others at work, proves
// nothing.
type seen struct {
	block        record.ProbeBlock
	all, flushes float64
}

// flushesOf counts the flushes of all devices that send them on and count them.
func (p *probe) flushesOf(before, after device.Sample) (list []seen) {
	seconds := device.Seconds(before, after)
	for _, b := range p.accountable() {
		now, ok := after.Counters(b.Name)
		then, had := before.Counters(b.Name)
		if !ok || !had || !now.HasFlushes {
			continue
		}
		idleNow, _ := p.idle.after.Counters(b.Name)
		idleThen, _ := p.idle.before.Counters(b.Name)
		others := float64(idleNow.Sub(idleThen).Flushes) / max(p.idle.seconds, 0.1) * seconds
		all := float64(now.Sub(then).Flushes)
		list = append(list, seen{b, all, max(0, all-others)})
	}
	return list
}

// accountable are the devices whose flushes tell something: those with a volatile cache, as far as the kernel knows,
// and a queue that counts.
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
		Covers: "the filesystem, its mount options and the layers above the device that counts",
		Blind:  "what the device, its controller or the hypervisor does with a flush",
	}
	list := p.flushesOf(before, after)
	if len(list) == 0 {
		d.Text = p.unaccounted()
		return d
	}
	// Below a layer of several devices, or a file of a loop device, each layer must see the flushes somewhere.
	told, untold := "", ""
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
			d.Text = fmt.Sprintf("%s syncs with new data caused %s flushes of %s, which has a volatile cache: something above it acknowledges syncs and does not pass them on%s",
				figure.Count(syncs), figure.Count(d.Flushes), best.block.Name, p.suspect())
			return d
		case best.flushes < enough:
			untold = best.block.Name
		default:
			told, d.Device, d.Flushes = best.block.Name, best.block.Name, int64(best.all)
		}
	}
	if told == "" {
		d.Text = fmt.Sprintf("others flush %s as well, so that the flushes of %s syncs cannot be told from theirs: probe again when nothing else writes to it", untold, figure.Count(syncs))
		return d
	}
	d.Verdict = record.Honest
	d.Text = fmt.Sprintf("%s syncs with new data caused %s flushes of %s", figure.Count(syncs), figure.Count(d.Flushes), d.Device)
	if untold != "" {
		d.Text += fmt.Sprintf("; those of %s cannot be told from the flushes of others", untold)
	}
	return d
}

// layers groups devices by how deep they lie: what is given by the user is a layer of its own.
func layers(list []seen) [][]seen {
	var groups [][]seen
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
	return slices.DeleteFunc(groups, func(g []seen) bool { return len(g) == 0 })
}

// suspect names what in the mount options switches flushes off.
func (p *probe) suspect() string {
	for _, o := range strings.Split(p.out.Storage.Options, ",") {
		switch o {
		case "nobarrier", "barrier=0", "volatile", "fsync_mode=nobarrier":
			return "; the mount option " + o + " does that"
		}
	}
	return ""
}

// unaccounted says why no device could be counted.
func (p *probe) unaccounted() string {
	s := p.out.Storage
	switch {
	case s.Memory:
		return "the data never leaves memory (" + s.Filesystem + "), so a power cut loses all of it"
	case len(s.Devices) == 0:
		return fmt.Sprintf("the kernel shows no device below this filesystem (%s): name the one that holds the data with --device, or use an external witness", s.Filesystem)
	}
	for _, b := range s.Devices {
		if b.WriteCache == "write through" && b.Leaf {
			return fmt.Sprintf("%s says that it has no volatile cache, so the kernel sends no flushes that could be counted: the device's word is all there is", b.Name)
		}
	}
	return "no device below counts its flushes"
}

// leaves are the devices that hold the data.
func (p *probe) leaves() []record.ProbeBlock {
	return slices.DeleteFunc(slices.Clone(p.out.Storage.Devices), func(b record.ProbeBlock) bool { return !b.Leaf })
}

// gradeB is plausibility: whether a device of this class can be that fast.
func (p *probe) gradeB(before, after device.Sample, flush *measure.Histogram) record.ProbeDurability {
	d := record.ProbeDurability{Grade: "B", Verdict: record.NotProvable,
		Covers: "the device as its class is known to be", Blind: "a device that is slow and loses writes all the same; batteries and capacitors that are there or not",
	}
	times := syncTimes{median: time.Duration(flush.Quantile(0.5)), mean: time.Duration(flush.Mean())}
	for _, b := range p.leaves() {
		d.Device = b.Name
		if verdict, text := plausible(b, times.of(flushTime(before, after, b.Name))); text != "" {
			d.Verdict, d.Text = verdict, text
			if verdict == record.Suspicious {
				return d
			}
		}
	}
	if d.Text == "" {
		d.Text = fmt.Sprintf("no device is known here that %s for a flush could be held against", figure.Duration(times.median))
	}
	return d
}

// flushTime is the mean time of a flush as the device counts it, 0 where it does not.
func flushTime(before, after device.Sample, name string) time.Duration {
	now, _ := after.Counters(name)
	then, _ := before.Counters(name)
	c := now.Sub(then)
	if c.Flushes == 0 {
		return 0
	}
	return time.Duration(float64(c.FlushTime) / float64(c.Flushes) * float64(time.Millisecond))
}

const (
	// A disk that turns 15,000 times a minute takes 2 ms for half a turn, which an appended and flushed record waits
	// for on average; 7,200 turns take 4.2 ms. Faster than 2 ms is a cache that was not written.
	fastestTurn = 2 * time.Millisecond
	// Flash takes 50 µs and more to program a page; with its own tables a flush takes longer. Faster is a cache.
	fastestFlash = 30 * time.Microsecond
)

// syncTimes are how long syncs took: the median and the mean of those that were made here, and the mean of all flushes of
// the device as the kernel counts them, those of other programs included; 0 where it counts none.
type syncTimes struct {
	median, mean, device time.Duration
}

// of adds what the device counts.
func (s syncTimes) of(device time.Duration) syncTimes { s.device = device; return s }

// words says all three without comparing a median with a mean.
func (s syncTimes) words(device string) string {
	text := fmt.Sprintf("half of the syncs take %s or less, the mean is %s", figure.Duration(s.median), figure.Duration(s.mean))
	if s.device > 0 {
		text += fmt.Sprintf(", and the mean of all flushes of %s, those of other programs included, is %s", device, figure.Duration(s.device))
	}
	return text
}

// plausible judges one device by the median time of a sync.
func plausible(b record.ProbeBlock, s syncTimes) (verdict record.ProbeVerdict, text string) {
	fact, typical := s.words(b.Name), s.median
	switch {
	case b.Bus == "zram" || b.Bus == "ram":
		return record.Suspicious, b.Name + " is memory: a power cut loses all of it"
	case b.Bus == "virtio" || b.Bus == "xen":
		if typical < fastestFlash && b.WriteCache == "write back" {
			return record.Suspicious, fmt.Sprintf("%s. The median is less than flash takes to store a page: the hypervisor may acknowledge flushes and keep them (cache=unsafe)", fact)
		}
		return record.NotProvable, fmt.Sprintf("%s. Storage behind a hypervisor can be that fast; what kind of storage it is cannot be seen from here", fact)
	case b.Rotational && b.Kind == "disk" && b.WriteCache == "write back" && typical < fastestTurn:
		return record.Suspicious, fmt.Sprintf("%s. The median is less than half a turn of a disk: a cache answers, and %s says that it is volatile", fact, b.Name)
	case b.Kind == "disk" && !b.Rotational && b.WriteCache == "write back" && typical < fastestFlash:
		return record.Suspicious, fmt.Sprintf("%s. The median is less than flash takes to store a page, and %s says that its cache is volatile", fact, b.Name)
	case b.Kind == "disk" && b.WriteCache == "write through":
		return record.NotProvable, fmt.Sprintf("%s; %s says that its cache survives a power cut (or that it has none), and nobody here can check that", fact, b.Name)
	case b.Kind == "disk":
		return record.Honest, fmt.Sprintf("%s. A device of this kind takes as long", fact)
	}
	return record.NotProvable, fmt.Sprintf("%s; %s is %s, whose speed is that of what lies below", fact, b.Name, articleKind(b.Kind))
}

func articleKind(kind string) string {
	if kind == "md" {
		return "an array"
	}
	return "a " + kind + " device"
}

// Overall is the word for all grades together, and the grades that it rests on: the worst of lying and suspicious; else
// honest if one of A, C and D is. That a speed is plausible (B) proves nothing.
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
