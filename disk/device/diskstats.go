// Package device reads the block devices below a directory: the stack of loop devices, arrays, mappings and members of
// btrfs, their activity (/proc/diskstats, with the formulas of iostat -x), and the pressure and steal of the machine.
// It never writes.
package device

import (
	"reflect"

	"github.com/prometheus/procfs/blockdevice"

	"github.com/plimsoll-bench/plimsoll/record"
)

// sectorBytes is the unit of /proc/diskstats for all devices.
const sectorBytes = 512

// Counters are the counters of a device in /proc/diskstats since its creation. Sectors have 512 bytes, times are in ms.
type Counters struct {
	blockdevice.IOStats
	// HasFlushes reports whether the kernel counts flushes (5.5 and later).
	HasFlushes bool
}

// Devices reads the counters of all devices by name; none if they cannot be read.
func (s System) Devices() map[string]Counters {
	all := map[string]Counters{}
	fs, err := blockdevice.NewFS(s.Proc, s.Sys)
	if err != nil {
		return all
	}
	list, _ := fs.ProcDiskstats() // those before an error are used
	for _, d := range list {
		all[d.DeviceName] = Counters{d.IOStats, d.IoStatsCount >= 20}
	}
	return all
}

// Sub returns the differences to earlier counters. Times have 32 bits in some kernels and wrap. The queue is the
// current one.
func (c Counters) Sub(before Counters) Counters {
	d := c
	fields, was := reflect.ValueOf(&d.IOStats).Elem(), reflect.ValueOf(before.IOStats)
	for i := range fields.NumField() {
		fields.Field(i).SetUint(grown(fields.Field(i).Uint(), was.Field(i).Uint()))
	}
	d.IOsInProgress = c.IOsInProgress
	return d
}

// grown returns the increase of a counter. A counter that has decreased wrapped at 32 bits if it was near that, or was
// reset with its device.
func grown(now, before uint64) uint64 {
	switch {
	case now >= before:
		return now - before
	case before < 1<<32 && before > 1<<31:
		return now + 1<<32 - before
	}
	return 0
}

// Usage returns the columns of iostat -x for the differences of counters in an interval. Without requests a column is
// 0.
func Usage(name string, d Counters, seconds float64) record.ProbeDevice {
	rate := func(n uint64) float64 { return over(float64(n), seconds) }
	wait := func(ms, n uint64) float64 { return over(float64(ms), float64(n)) }
	size := func(sectors, n uint64) float64 { return over(float64(sectors), float64(n)) / 2 }
	merged := func(merges, n uint64) float64 { return 100 * over(float64(merges), float64(merges+n)) }
	return record.ProbeDevice{
		Name:  name,
		Reads: rate(d.ReadIOs), ReadKB: rate(d.ReadSectors) / 2, ReadMrg: rate(d.ReadMerges),
		ReadMrgP:  merged(d.ReadMerges, d.ReadIOs),
		ReadAwait: wait(d.ReadTicks, d.ReadIOs), ReadSize: size(d.ReadSectors, d.ReadIOs),
		Writes: rate(d.WriteIOs), WriteKB: rate(d.WriteSectors) / 2, WriteMrg: rate(d.WriteMerges),
		WriteMrgP:  merged(d.WriteMerges, d.WriteIOs),
		WriteAwait: wait(d.WriteTicks, d.WriteIOs), WriteSize: size(d.WriteSectors, d.WriteIOs),
		Discards: rate(d.DiscardIOs), DiscardKB: rate(d.DiscardSectors) / 2, DiscardMrg: rate(d.DiscardMerges),
		DiscardMP: merged(d.DiscardMerges, d.DiscardIOs),
		DiscAwait: wait(d.DiscardTicks, d.DiscardIOs), DiscSize: size(d.DiscardSectors, d.DiscardIOs),
		Flushes: rate(d.FlushRequestsCompleted), FlushAwait: wait(d.TimeSpentFlushing, d.FlushRequestsCompleted),
		Queue: rate(d.WeightedIOTicks) / 1000, Util: rate(d.IOsTotalTicks) / 10,
		FlushCount: int64(d.FlushRequestsCompleted), WriteCount: int64(d.WriteIOs),
		WriteBytes: int64(d.WriteSectors) * sectorBytes,
		ReadBytes:  int64(d.ReadSectors) * sectorBytes,
	}
}

func over(a, b float64) float64 {
	if b <= 0 {
		return 0
	}
	return a / b
}
