package faultfs

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/nearest"
)

// ClassInfo is a kind of disk with figures that were published.
type ClassInfo struct {
	Name   string
	About  string // one line for people
	Device Device
	Source string // where the figures are from, and which were derived and how
}

// Classes returns the device classes, slow ones first.
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
	return Device{}, fmt.Errorf("there is no device class %q%s; there are %s", name, nearest.DidYouMean(name, names), strings.Join(names, ", "))
}

const (
	us = time.Microsecond
	mb = 1000 * 1000 // vendors' megabyte
)

// classes are one published device each, not the average of many. A latency of disks that turn is the access time of
// the manual plus half a turn; of solid ones it is that of one request at a time. Where only requests per second are
// published, a latency and as many requests at once are chosen that give them. What is an estimate says so.
var classes = []ClassInfo{
	{"hdd-7200", "disk of 7200 turns a minute, its write cache on", Device{
		ReadLatency: 11860 * us, WriteLatency: 12860 * us, SequentialLatency: 200 * us, FlushLatency: 200 * us,
		ReadRate: 163 * mb, WriteRate: 163 * mb, Parallel: 1, Volatile: 64 << 20,
	}, "Seagate Constellation.2 SAS Product Manual, Rev. H, 5.1 and 5.2.1: access 7.7 ms reading and 8.7 ms writing, of which 0.2 ms is the controller, rotational latency 4.16 ms, up to 163 MB/s. The cache of 64 MiB is as published for this family, not checked again"},
	{"hdd-10k", "disk of 10000 turns a minute, its write cache off, as servers ship it", Device{
		ReadLatency: 7 * time.Millisecond, WriteLatency: 7600 * us, SequentialLatency: 200 * us, FlushLatency: 200 * us,
		ReadRate: 112 * mb, WriteRate: 112 * mb, Parallel: 1, Protected: true,
	}, "Seagate Savvio 10K.4 SAS Product Manual, Rev. A, 4.1 and 4.2: access 4.0 ms reading and 4.6 ms writing, of which 0.2 ms is the controller, rotational latency 3.0 ms. The rate is derived: 677557 bytes a track times 166.7 turns a second"},
	{"hdd-15k", "disk of 15000 turns a minute, its write cache off, as servers ship it", Device{
		ReadLatency: 5400 * us, WriteLatency: 5900 * us, SequentialLatency: 200 * us, FlushLatency: 200 * us,
		ReadRate: 204 * mb, WriteRate: 204 * mb, Parallel: 1, Protected: true,
	}, "Seagate Cheetah 15K.7 SAS Product Manual, 4.2.3: rotational latency 2.0 ms, 122 to 204 MB/s; average seek 3.4 ms reading and 3.9 ms writing as published for this family, not checked again. The controller's 0.2 ms is that of the other two"},
	{"azure-premium", "Azure Premium SSD P30", Device{
		ReadLatency: 2 * time.Millisecond, WriteLatency: 2 * time.Millisecond,
		ReadRate: 200 * mb, WriteRate: 200 * mb, Parallel: 10, Protected: true,
	}, "Azure documentation of Premium SSD: P30 has 5000 requests a second, 200 MB/s and single-digit milliseconds. Derived: 2 ms and 10 at once give 5000 a second. Bursts are not modelled"},
	{"ebs-gp3", "Amazon EBS gp3 as it comes, without bought speed", Device{
		ReadLatency: time.Millisecond, WriteLatency: time.Millisecond,
		ReadRate: 125 << 20, WriteRate: 125 << 20, Parallel: 3, Protected: true,
	}, "Amazon EBS User Guide, volume types: 3000 requests a second, 125 MiB/s, single-digit milliseconds. Derived: 1 ms and 3 at once give 3000 a second"},
	{"sata-ssd", "SATA SSD for clients, without protection against power loss", Device{
		ReadLatency: 100 * us, WriteLatency: 25 * us, FlushLatency: 2 * time.Millisecond,
		ReadRate: 540 * mb, WriteRate: 520 * mb, Parallel: 10, Volatile: 1 << 30,
	}, "Samsung 850 EVO 1 TB, published specification: 10000 reads and 40000 writes a second one at a time, 540 and 520 MB/s, 1 GB of memory. Estimates of ours: ten at once, and the flush (clients' SSDs without protection measure milliseconds, see nvme)"},
	{"ebs-io2", "Amazon EBS io2 Block Express with 16000 requests a second", Device{
		ReadLatency: 500 * us, WriteLatency: 500 * us,
		ReadRate: 4000 << 20, WriteRate: 4000 << 20, Parallel: 8, Protected: true,
	}, "Amazon EBS User Guide, provisioned IOPS: under 500 µs on average for 16 KiB. The rate is the most a volume has, as published, not checked again. Derived: 0.5 ms and 8 at once give 16000 a second"},
	{"nvme", "NVMe SSD for clients, without protection against power loss", Device{
		ReadLatency: 50 * us, WriteLatency: 13 * us, FlushLatency: 890 * us,
		ReadRate: 7450 * mb, WriteRate: 6900 * mb, Parallel: 64, Volatile: 1 << 30,
	}, "Samsung 990 Pro 1 TB: 7450 and 6900 MB/s as published; reading measured by thefpsreview.com, May 2024: 82 MB/s with 4 KiB one at a time, thus 50 µs. The flush was measured by M. Callaghan, SSDs, power loss protection and fsync latency, smalldatum.blogspot.com, January 2026: about 0.89 ms after 16 KiB. The latency of writes and the requests at once are estimates of ours"},
	{"sas-ssd", "SAS SSD for servers, protected against power loss", Device{
		ReadLatency: 100 * us, WriteLatency: 30 * us, FlushLatency: 30 * us,
		ReadRate: 2100 * mb, WriteRate: 2000 * mb, Parallel: 40, Protected: true,
	}, "Rates and 400000 reads a second as published for Samsung PM1643a, not checked again. Derived: 100 µs and 40 at once give these. The latency of writes and flushes is an estimate of ours: a protected device has a write when it is in its memory"},
	{"nvme-plp", "NVMe SSD for servers, protected against power loss", Device{
		ReadLatency: 75 * us, WriteLatency: 15 * us, FlushLatency: 12 * us,
		ReadRate: 7000 * mb, WriteRate: 4300 * mb, Parallel: 75, Protected: true,
	}, "Intel D7-P5500, as announced in June 2020: 7000 and 4300 MB/s, 1000000 reads a second. The flush was measured as for nvme: 12 to 58 µs on servers' SSDs. Estimates of ours: 75 µs reading, which with 75 at once gives the reads a second, and 15 µs writing"},
}
