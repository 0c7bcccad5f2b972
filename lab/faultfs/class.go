package faultfs

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/nearest"
)

// ClassInfo is a class of disks with published figures.
type ClassInfo struct {
	Name   string
	About  string // one line
	Device Device
	Source string // of the figures, with those that are derived or estimated
}

// Classes returns the device classes, slow classes first.
func Classes() []ClassInfo {
	all := slices.Clone(classes)
	for i := range all {
		all[i].Device.Class = all[i].Name
	}
	return all
}

// Class returns the device of a class by its name.
func Class(name string) (Device, error) {
	var names []string
	for _, c := range Classes() {
		if c.Name == name {
			return c.Device, nil
		}
		names = append(names, c.Name)
	}
	return Device{}, fmt.Errorf("there is no device class %q%s (classes: %s)", name, nearest.DidYouMean(name, names),
		strings.Join(names, ", "))
}

const (
	us = time.Microsecond
	mb = 1000 * 1000 // vendors' megabyte
)

// classes have one published device each, not an average. The latency of a hard disk is the access time of the manual
// plus half a rotation; that of an SSD is the latency at queue depth 1. If only requests per second are published, a
// latency and a number of parallel requests are chosen that give them. Estimates are marked.
var classes = []ClassInfo{
	{"hdd-7200", "hard disk, 7200 rpm, write cache enabled", Device{
		ReadLatency: 11860 * us, WriteLatency: 12860 * us, SequentialLatency: 200 * us, FlushLatency: 200 * us,
		ReadRate: 163 * mb, WriteRate: 163 * mb, Parallel: 1, Volatile: 64 << 20,
	}, "Seagate Constellation.2 SAS Product Manual, Rev. H, 5.1 and 5.2.1: access 7.7 ms (read) and 8.7 ms (write) with " +
		"0.2 ms of the controller, rotational latency 4.16 ms, up to 163 MB/s. The cache of 64 MiB is published for this " +
		"family, but was not verified"},
	{"hdd-10k", "hard disk, 10000 rpm, write cache disabled, as in servers", Device{
		ReadLatency: 7 * time.Millisecond, WriteLatency: 7600 * us, SequentialLatency: 200 * us, FlushLatency: 200 * us,
		ReadRate: 112 * mb, WriteRate: 112 * mb, Parallel: 1, Protected: true,
	}, "Seagate Savvio 10K.4 SAS Product Manual, Rev. A, 4.1 and 4.2: access 4.0 ms (read) and 4.6 ms (write) with 0.2 ms " +
		"of the controller, rotational latency 3.0 ms. Derived: the rate, 677557 bytes per track times 166.7 rotations " +
		"per second"},
	{"hdd-15k", "hard disk, 15000 rpm, write cache disabled, as in servers", Device{
		ReadLatency: 5400 * us, WriteLatency: 5900 * us, SequentialLatency: 200 * us, FlushLatency: 200 * us,
		ReadRate: 204 * mb, WriteRate: 204 * mb, Parallel: 1, Protected: true,
	}, "Seagate Cheetah 15K.7 SAS Product Manual, 4.2.3: rotational latency 2.0 ms, 122 to 204 MB/s. The average seek of " +
		"3.4 ms (read) and 3.9 ms (write) is published for this family, but was not verified. The controller's 0.2 ms is " +
		"that of the other two classes"},
	{"azure-premium", "Azure Premium SSD P30", Device{
		ReadLatency: 2 * time.Millisecond, WriteLatency: 2 * time.Millisecond,
		ReadRate: 200 * mb, WriteRate: 200 * mb, Parallel: 10, Protected: true,
	}, "Azure documentation of Premium SSD: P30 has 5000 requests per second, 200 MB/s and single-digit milliseconds. " +
		"Derived: 2 ms and 10 parallel requests give 5000 per second. Bursts are not modelled"},
	{"ebs-gp3", "Amazon EBS gp3 with the default performance", Device{
		ReadLatency: time.Millisecond, WriteLatency: time.Millisecond,
		ReadRate: 125 << 20, WriteRate: 125 << 20, Parallel: 3, Protected: true,
	}, "Amazon EBS User Guide, volume types: 3000 requests per second, 125 MiB/s, single-digit milliseconds. Derived: 1 ms " +
		"and 3 parallel requests give 3000 per second"},
	{"sata-ssd", "consumer SATA SSD without power-loss protection", Device{
		ReadLatency: 100 * us, WriteLatency: 25 * us, FlushLatency: 2 * time.Millisecond,
		ReadRate: 540 * mb, WriteRate: 520 * mb, Parallel: 10, Volatile: 1 << 30,
	}, "Samsung 850 EVO 1 TB, published specification: 10000 reads and 40000 writes per second at queue depth 1, 540 and " +
		"520 MB/s, 1 GB of memory. Estimates: 10 parallel requests, and the flush (consumer SSDs without protection " +
		"take milliseconds, see nvme)"},
	{"ebs-io2", "Amazon EBS io2 Block Express with 16000 requests per second", Device{
		ReadLatency: 500 * us, WriteLatency: 500 * us,
		ReadRate: 4000 << 20, WriteRate: 4000 << 20, Parallel: 8, Protected: true,
	}, "Amazon EBS User Guide, provisioned IOPS: under 500 µs on average for 16 KiB. The rate is the published maximum of " +
		"a volume, but was not verified. Derived: 0.5 ms and 8 parallel requests give 16000 per second"},
	{"nvme", "consumer NVMe SSD without power-loss protection", Device{
		ReadLatency: 50 * us, WriteLatency: 13 * us, FlushLatency: 890 * us,
		ReadRate: 7450 * mb, WriteRate: 6900 * mb, Parallel: 64, Volatile: 1 << 30,
	}, "Samsung 990 Pro 1 TB: 7450 and 6900 MB/s as published. Reads were measured by thefpsreview.com, May 2024: 82 MB/s " +
		"with 4 KiB at queue depth 1, so 50 µs. The flush was measured by M. Callaghan, SSDs, power loss protection and " +
		"fsync latency, smalldatum.blogspot.com, January 2026: about 0.89 ms after 16 KiB. Estimates: the latency of " +
		"writes, and the parallel requests"},
	{"sas-ssd", "server SAS SSD with power-loss protection", Device{
		ReadLatency: 100 * us, WriteLatency: 30 * us, FlushLatency: 30 * us,
		ReadRate: 2100 * mb, WriteRate: 2000 * mb, Parallel: 40, Protected: true,
	}, "Samsung PM1643a: the rates and 400000 reads per second are published, but were not verified. Derived: 100 µs and 40 " +
		"parallel requests give these. Estimates: the latency of writes and flushes, because a protected device " +
		"acknowledges a write when it is in its memory"},
	{"nvme-plp", "server NVMe SSD with power-loss protection", Device{
		ReadLatency: 75 * us, WriteLatency: 15 * us, FlushLatency: 12 * us,
		ReadRate: 7000 * mb, WriteRate: 4300 * mb, Parallel: 75, Protected: true,
	}, "Intel D7-P5500, as announced in June 2020: 7000 and 4300 MB/s, 1000000 reads per second. The flush was measured as " +
		"for nvme: 12 to 58 µs on server SSDs. Estimates: 75 µs for reads, which with 75 parallel requests gives the reads " +
		"per second, and 15 µs for writes"},
}
