package disk

import (
	"context"
	"fmt"
	"math"
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
	// swallowed is the share of syncs without a flush from which on a layer is lying. Fewer are suspicious.
	swallowed = 0.1
	// byChance is the largest probability that flushes of other programs hide that all syncs are swallowed.
	byChance = 1e-6
)

// layer has the devices at one depth below the filesystem that must flush on each sync, and what they counted.
//
// A sync of new data needs a flush that begins after it and ends before it returns. So honest storage counts one while
// each sync runs, whatever other programs do. Between two syncs the probe pauses for as long as the sync took. The
// flushes in pauses are those of other programs, and show how often such a flush would hide a missing one.
type layer struct {
	devices         []string
	syncs, bare     int64 // syncs, and those without a flush
	pauses, foreign int64 // pauses, and those with a flush
	flushes         int64 // during syncs
}

// increase returns the number of flushes of all devices of the layer between two samples.
func (l *layer) increase(before, after map[string]device.Counters) (n int64) {
	for _, name := range l.devices {
		n += int64(after[name].Sub(before[name]).FlushRequestsCompleted)
	}
	return n
}

func (l *layer) sync(before, after map[string]device.Counters) {
	n := l.increase(before, after)
	l.syncs++
	l.flushes += n
	if n == 0 {
		l.bare++
	}
}

func (l *layer) pause(before, after map[string]device.Counters) {
	l.pauses++
	if l.increase(before, after) > 0 {
		l.foreign++
	}
}

// clear reports whether the flushes of other programs cannot explain that each sync saw a flush.
func (l *layer) clear() bool {
	often := float64(l.foreign+1) / float64(l.pauses+2)
	return math.Pow(often, float64(l.syncs)) < byChance
}

// layersOf groups the devices that must flush by their depth. Each device given by the user is a layer of its own.
func layersOf(s record.ProbeStorage) []*layer {
	var groups []*layer
	depth, at := depthsOf(s.Devices), map[int]*layer{}
	for _, b := range s.Devices {
		if !mustFlush(b) {
			continue
		}
		l := at[depth[b.Name]]
		if l == nil || b.Given {
			l = &layer{}
			groups = append(groups, l)
			if !b.Given {
				at[depth[b.Name]] = l
			}
		}
		l.devices = append(l.devices, b.Name)
	}
	return groups
}

// depthsOf returns how deep each device lies below the filesystem.
func depthsOf(list []record.ProbeBlock) map[string]int {
	depth := map[string]int{}
	for range list { // a device may stand before one of those above it
		for _, b := range list {
			for _, above := range b.Above {
				depth[b.Name] = max(depth[b.Name], depth[above]+1)
			}
		}
	}
	return depth
}

// mustFlush reports whether the kernel sends a flush to a device on each sync, and counts it.
func mustFlush(b record.ProbeBlock) bool { return b.WriteCache == "write back" && b.FlushCounted }

// account measures grade A: syncs with new data, and the flushes that each layer of devices counts meanwhile. It also
// measures the times of syncs for grade B.
func (p *probe) account(ctx context.Context) error {
	p.Progress.Step("counting the flushes that syncs cause")
	l, err := p.openLog()
	if err != nil {
		return err
	}
	defer l.close()
	if _, _, err := l.append(1); err != nil { // the first sync also makes the file's metadata durable
		return err
	}
	layers := layersOf(p.out.Storage)
	flush := measure.NewHistogram()
	before := p.System.Sample()
	at := p.System.Devices()
	for begin := time.Now(); flush.Count() < accountedSyncs && time.Since(begin) < accountedTime && ctx.Err() == nil; {
		start := time.Now()
		_, sync, err := l.append(1)
		if err != nil {
			return err
		}
		flush.Record(int64(sync))
		if len(layers) == 0 {
			continue
		}
		now := p.System.Devices()
		time.Sleep(time.Since(start))
		next := p.System.Devices()
		for _, l := range layers {
			l.sync(at, now)
			l.pause(now, next)
		}
		at = next
	}
	after := p.System.Sample()
	if flush.Count() == 0 {
		return nil
	}
	p.out.Durability = append(p.out.Durability, gradeA(p.out.Storage, layers, flush.Count()),
		p.gradeB(before, after, flush))
	p.out.Verdict, _ = overall(p.out.Durability)
	return nil
}

// gradeA judges what the layers counted.
func gradeA(s record.ProbeStorage, layers []*layer, syncs int64) record.ProbeDurability {
	d := record.ProbeDurability{Grade: "A", Verdict: record.NotProvable, Syncs: syncs,
		Covers: "the filesystems, their mount options and the layers above the device that holds the data",
		Blind:  "the device, its controller or the hypervisor may ignore a flush",
	}
	unclear := ""
	for _, l := range layers {
		name := strings.Join(l.devices, ", ")
		if l.bare > 0 {
			d.Device, d.Flushes, d.Bare, d.Verdict = name, l.flushes, l.bare, record.Suspicious
			if float64(l.bare) >= swallowed*float64(l.syncs) {
				d.Verdict = record.Lying
			}
			d.Text = fmt.Sprintf("%s of %s syncs with new data returned although %s, with a volatile cache, had finished no flush: "+
				"a layer above it acknowledges syncs without a flush%s",
				figure.Count(l.bare), figure.Count(l.syncs), name, suspect(s))
			return d
		}
		if !l.clear() && unclear == "" {
			unclear = name
		}
	}
	if d.Text = unaccounted(s, layers); d.Text != "" {
		return d
	}
	last := layers[len(layers)-1]
	d.Device, d.Flushes = strings.Join(last.devices, ", "), last.flushes
	if unclear != "" {
		d.Text = fmt.Sprintf("other programs flush %s too, so the flushes of %s syncs cannot be distinguished from theirs: "+
			"repeat the probe when nothing else writes to it", unclear, figure.Count(syncs))
		return d
	}
	d.Verdict = record.Honest
	d.Text = fmt.Sprintf("%s finished a flush during each of %s syncs with new data, and during %s of %s pauses of the same length",
		d.Device, figure.Count(syncs), figure.Count(last.foreign), figure.Count(last.pauses))
	return d
}

// suspect names a mount option that disables flushes.
func suspect(s record.ProbeStorage) string {
	options := strings.Split(s.Options, ",")
	for _, f := range s.Below {
		options = append(options, strings.Split(f.Options, ",")...)
	}
	for _, o := range options {
		switch o {
		case "nobarrier", "barrier=0", "volatile", "fsync=volatile", "fsync_mode=nobarrier":
			return "; the mount option " + o + " causes that"
		}
	}
	return ""
}

// unaccounted returns why what holds the data does not count flushes; empty if all of it does.
func unaccounted(s record.ProbeStorage, layers []*layer) string {
	if len(s.Memory) > 0 {
		return "data is in memory (" + strings.Join(s.Memory, ", ") + "), so a power cut loses it"
	}
	if len(s.Unseen) > 0 {
		return fmt.Sprintf("%s cannot be seen from here, so its flushes cannot be counted: name the device with --device, "+
			"or use an external witness", strings.Join(s.Unseen, ", "))
	}
	for _, b := range s.Devices {
		switch {
		case !b.Leaf || mustFlush(b):
		case b.WriteCache == "write through":
			return fmt.Sprintf("%s reports no volatile cache, so the kernel sends no flushes to count, "+
				"and this probe cannot verify the report", b.Name)
		default:
			return b.Name + " does not count its flushes"
		}
	}
	if len(layers) == 0 || !slices.ContainsFunc(s.Devices, func(b record.ProbeBlock) bool { return b.Leaf }) {
		return "the kernel shows no device below this filesystem (" + s.Filesystem + ")"
	}
	return ""
}
