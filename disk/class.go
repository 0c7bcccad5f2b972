package disk

import (
	"fmt"
	"slices"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// Class is a class of devices by the time of one durable append.
type Class struct {
	Name       string
	Below      time.Duration // exclusive upper limit of the median of one write and flush of the journal
	Use        string        // in a MongoDB deployment
	Provenance string        // source of the limit
}

// classes returns all classes, the fastest first. The limits are orders of magnitude, from the named documents and
// samples and from the physics of the devices.
func classes() []Class {
	return []Class{
		{"memory, or a cache without flushes", 15 * time.Microsecond,
			"no persistent storage is so fast: do not trust it without a power cut test",
			"flash needs at least 50 µs to store a page; below 15 µs the time is that of a system call and a copy"},
		{"NVMe with power-loss protection", 250 * time.Microsecond,
			"suitable for j:true",
			"with capacitors a device answers from its cache after one PCIe round trip of tens of µs, and the filesystem adds its own writes (two to three device writes per commit on ext4, measured)"},
		{"SATA SSD with power-loss protection, or NVMe without", 1500 * time.Microsecond,
			"suitable for j:true with a moderate number of clients",
			"a consumer NVMe device (970 Evo Plus) needed 706 µs per fdatasync in a sample of pg_test_fsync"},
		{"SATA SSD without power-loss protection, or a fast cloud volume", 5 * time.Millisecond,
			"suitable for w:1; j:true and w:majority wait noticeably",
			"providers promise single-digit milliseconds for their SSD volumes; an older laptop SSD did 12,500 random I/O per second (mongoperf, storage guide)"},
		{"15k disk, or a slow cloud volume", 9 * time.Millisecond,
			"suitable only for few writes; etcd requires a p99 below 10 ms for its log",
			"half a rotation at 15,000 rpm takes 2 ms, and a commit needs more than one write; etcd's FAQ requires a p99 below 10 ms"},
		{"7.2k disk", 30 * time.Millisecond,
			"too slow for j:true with more than a few concurrent commits, except by group commit",
			"a rotation at 7,200 rpm takes 8.3 ms; a 5,400 rpm disk needed 12.2 ms per fdatasync in a sample of pg_test_fsync; about 250 random I/O per second (storage guide)"},
		{"slower than a single disk: limited, shared or failing", 1<<63 - 1,
			"not suitable for a database: find the cause",
			"an Azure drive did about 100 random I/O per second (mongoperf, storage guide), and with a control group limit of 100 writes per second a commit took 25 ms and 103 ms at p99 (measured)"},
	}
}

// classOf returns the class of a journal's flush, with a text that the verdict decides.
func classOf(journal *record.ProbeJournalResult, p *record.Probe) *record.ProbeClass {
	flush := journal.Flush
	if flush == nil || flush.Count == 0 {
		return nil
	}
	typical, which := typicalFlush(flush)
	if others, _, odd := oddFlush(p, typical); odd {
		which = fmt.Sprintf("%s of %s with one client, and with more clients", which, figure.Duration(typical))
		typical = others
	}
	for _, c := range classes() {
		if typical >= c.Below {
			continue
		}
		text := fmt.Sprintf("journal flush %s of %s", which, figure.Duration(typical))
		if flush.P99 != nil {
			text += fmt.Sprintf(" and p99 of %s", figure.Duration(time.Duration(*flush.P99)))
		}
		if no := unfit(p); no != "" { // then the time is not that of a device
			return &record.ProbeClass{Text: text + ": " + no}
		}
		use := c.Use
		if p.Verdict == record.NotProvable {
			use += ", if the storage keeps what it acknowledges, and that is not proven"
		}
		text += fmt.Sprintf(": like %s; %s", c.Name, use)
		if journal.Ceiling > 0 {
			text += fmt.Sprintf(". Maximum: %s journaled commits/s with %s", figure.Rate(journal.Ceiling),
				figure.Plural(journal.Clients, "client"))
		}
		return &record.ProbeClass{Name: c.Name, Text: text, Provenance: c.Provenance}
	}
	return nil
}

// typicalFlush returns the time that is typical of flushes, and what it is. The median is typical of a device. If the
// mean is far above it, as with a rate limit that allows bursts, the mean is the time that commits wait.
func typicalFlush(flush *record.Latency) (typical time.Duration, which string) {
	if flush.P50 != nil && flush.Mean <= 2*float64(*flush.P50) {
		return time.Duration(*flush.P50), "p50"
	}
	return time.Duration(flush.Mean), "mean"
}

// oddFlush reports whether the flushes of the step with one client are unlike those of the other steps and of another
// class than their median. Something else than the device made that step odd, so the other steps decide.
func oddFlush(p *record.Probe, one time.Duration) (others time.Duration, steps int, odd bool) {
	var list []time.Duration
	for _, s := range p.ProfileSteps(spec.ProbeJournal) {
		if s.Clients > 1 && s.Flush != nil && !s.Interrupted {
			typical, _ := typicalFlush(s.Flush)
			list = append(list, typical)
		}
	}
	if len(list) < 2 {
		return 0, len(list), false
	}
	slices.Sort(list)
	others = list[(len(list)-1)/2] // the lower one of two: more clients write more in one flush
	apart := one > 2*others || others > 2*one
	return others, len(list), apart && classAt(one) != classAt(others)
}

// classAt returns the place of the class of a flush in [classes].
func classAt(typical time.Duration) int {
	return slices.IndexFunc(classes(), func(c Class) bool { return typical < c.Below })
}

// doubtOddFlush adds a finding about the step with one client.
func (p *probe) doubtOddFlush(j *record.ProbeJournalResult) {
	if j.Flush == nil || j.Flush.Count == 0 {
		return
	}
	typical, _ := typicalFlush(j.Flush)
	if others, n, odd := oddFlush(p.out, typical); odd {
		p.find("odd-step", measure.Warning, fmt.Sprintf("flushes took %s with one client, and %s in the median of the %d steps with "+
			"more clients. A device does not differ so much, so the class is that of the %d steps, and the times of one commit are "+
			"unreliable. Repeat the probe on a quiet machine", figure.Duration(typical), figure.Duration(others), n, n))
	}
}

// unfit returns why a result says nothing about j:true on the storage, "" if it does. Every word of a probe about the
// use of the storage depends on it.
func unfit(p *record.Probe) string {
	switch {
	case p.Verdict == record.Lying:
		return "not suitable for j:true, because the storage acknowledges writes that it does not keep"
	case p.Verdict == record.Suspicious:
		return "not suitable for j:true before a power cut test, because the storage may not keep what it acknowledges"
	case measure.Worst(p.Validity) == measure.Invalid:
		return "the result is invalid, so it proves nothing about j:true"
	}
	return ""
}
