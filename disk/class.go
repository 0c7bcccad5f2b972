package disk

import (
	"fmt"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/record"
)

// Class is a class of devices by how long one durable append takes them.
type Class struct {
	Name string
	// Below is the median of one write and flush of the journal below which a result belongs to this class, unless it
	// belongs to one before it.
	Below time.Duration
	// Use says what the class is good for in a MongoDB deployment.
	Use string
	// Provenance says where the boundary comes from.
	Provenance string
}

// Classes are all classes, the fastest first. The boundaries are orders of magnitude: what the documents and samples
// named there show, and what follows from how the devices work.
func Classes() []Class {
	return []Class{
		{"memory, or a cache that nobody flushes", 15 * time.Microsecond,
			"no storage that keeps anything without power is so fast: do not trust it before a power cut proved it",
			"flash takes 50 µs and more to store a page; below 15 µs the time is that of a system call and a copy"},
		{"NVMe with power-loss protection", 250 * time.Microsecond,
			"fine for j:true everywhere",
			"capacitors let a device answer from its cache: one round over PCIe, tens of µs, and what the filesystem adds (two to three device writes per commit on ext4, measured)"},
		{"SATA SSD with power-loss protection, or NVMe without", 1500 * time.Microsecond,
			"fine for j:true with some clients",
			"a consumer NVMe device (970 Evo Plus) showed 706 µs per fdatasync in a sample of pg_test_fsync"},
		{"SATA SSD without power-loss protection, or a fast cloud volume", 5 * time.Millisecond,
			"fine for w:1; j:true and w:majority wait noticeably",
			"providers promise single-digit milliseconds for their SSD volumes; an older laptop SSD did 12,500 random I/O per second (mongoperf, storage guide)"},
		{"15k disk, or a slow cloud volume", 9 * time.Millisecond,
			"for light writing only; the 10 ms at the 99th percentile that etcd asks of its log are about here",
			"half a turn at 15,000 turns per minute is 2 ms, and a commit takes more than one write; etcd's FAQ asks for less than 10 ms at p99"},
		{"7.2k disk", 30 * time.Millisecond,
			"too slow for j:true with more than a few commits at a time; group commit alone carries it",
			"a turn at 7,200 per minute is 8.3 ms; a 5,400 disk showed 12.2 ms per fdatasync in a sample of pg_test_fsync; about 250 random I/O per second (storage guide)"},
		{"slower than a single disk: limited, shared or failing", 1<<63 - 1,
			"not fit for a database: find out what limits it",
			"an Azure drive did about 100 random I/O per second (mongoperf, storage guide), and a control group with 100 writes per second made a commit take 25 ms and 103 ms at p99 (measured)"},
	}
}

// classOf finds the class of a journal's flush, and words the verdict.
func classOf(flush *record.Latency, journal *record.ProbeJournalResult) *record.ProbeClass {
	if flush == nil || flush.Count == 0 {
		return nil
	}
	// The median is what a device does; where the mean is far above it, as with a limit that lets bursts through, the
	// mean is what commits wait for.
	typical, which := time.Duration(flush.Mean), "mean"
	if flush.P50 != nil && flush.Mean <= 2*float64(*flush.P50) {
		typical, which = time.Duration(*flush.P50), "p50"
	}
	for _, c := range Classes() {
		if typical >= c.Below {
			continue
		}
		text := fmt.Sprintf("journal flush %s of %s", which, figure.Duration(typical))
		if flush.P99 != nil {
			text += fmt.Sprintf(" and p99 of %s", figure.Duration(time.Duration(*flush.P99)))
		}
		text += fmt.Sprintf(": like %s; %s", c.Name, c.Use)
		if journal != nil && journal.Ceiling > 0 {
			text += fmt.Sprintf(". %s journaled commits/s were reached with %s", figure.Rate(journal.Ceiling), figure.Plural(journal.Clients, "client"))
		}
		return &record.ProbeClass{Name: c.Name, Text: text, Provenance: c.Provenance}
	}
	return nil
}
