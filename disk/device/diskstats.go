// Package device reads the block devices below a directory: the stack of loop devices, arrays, mappings and members of
// btrfs, their activity (/proc/diskstats, with the formulas of iostat -x), and the pressure and steal of the machine.
// It never writes.
package device

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/plimsoll-bench/plimsoll/record"
)

// sectorBytes is the unit of /proc/diskstats for all devices.
const sectorBytes = 512

// Counters are the counters of a device in /proc/diskstats since its creation. Sectors have 512 bytes, times are in ms.
type Counters struct {
	Reads, ReadMerges, ReadSectors, ReadTime             uint64
	Writes, WriteMerges, WriteSectors, WriteTime         uint64
	InFlight, BusyTime, WeightedTime                     uint64
	Discards, DiscardMerges, DiscardSectors, DiscardTime uint64
	Flushes, FlushTime                                   uint64
	// HasFlushes reports whether the kernel counts flushes (5.5 and later).
	HasFlushes bool
}

// ParseDiskstats reads /proc/diskstats with 14, 18, 20 or more fields.
func ParseDiskstats(r io.Reader) (map[string]Counters, error) {
	all := map[string]Counters{}
	for lines := bufio.NewScanner(r); ; {
		if !lines.Scan() {
			return all, lines.Err()
		}
		fields := strings.Fields(lines.Text())
		if len(fields) < 14 {
			continue // partitions of very old kernels have seven
		}
		var n [17]uint64
		for i := range min(len(n), len(fields)-3) {
			v, err := strconv.ParseUint(fields[3+i], 10, 64)
			if err != nil {
				return nil, fmt.Errorf("/proc/diskstats: %q of %q is not a number", fields[3+i], fields[2])
			}
			n[i] = v
		}
		all[fields[2]] = Counters{
			n[0], n[1], n[2], n[3], n[4], n[5], n[6], n[7], n[8], n[9], n[10], n[11], n[12], n[13], n[14], n[15], n[16],
			len(fields) >= 20,
		}
	}
}

// Sub returns the differences to earlier counters. Times have 32 bits in some kernels and wrap. The queue is the
// current one.
func (c Counters) Sub(before Counters) Counters {
	return Counters{
		grown(c.Reads, before.Reads), grown(c.ReadMerges, before.ReadMerges), grown(c.ReadSectors, before.ReadSectors),
		grown(c.ReadTime, before.ReadTime),
		grown(c.Writes, before.Writes), grown(c.WriteMerges, before.WriteMerges), grown(c.WriteSectors, before.WriteSectors),
		grown(c.WriteTime, before.WriteTime),
		c.InFlight, grown(c.BusyTime, before.BusyTime), grown(c.WeightedTime, before.WeightedTime),
		grown(c.Discards, before.Discards), grown(c.DiscardMerges, before.DiscardMerges),
		grown(c.DiscardSectors, before.DiscardSectors), grown(c.DiscardTime, before.DiscardTime),
		grown(c.Flushes, before.Flushes), grown(c.FlushTime, before.FlushTime), c.HasFlushes,
	}
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
		Reads: rate(d.Reads), ReadKB: rate(d.ReadSectors) / 2, ReadMrg: rate(d.ReadMerges),
		ReadMrgP:  merged(d.ReadMerges, d.Reads),
		ReadAwait: wait(d.ReadTime, d.Reads), ReadSize: size(d.ReadSectors, d.Reads),
		Writes: rate(d.Writes), WriteKB: rate(d.WriteSectors) / 2, WriteMrg: rate(d.WriteMerges),
		WriteMrgP:  merged(d.WriteMerges, d.Writes),
		WriteAwait: wait(d.WriteTime, d.Writes), WriteSize: size(d.WriteSectors, d.Writes),
		Discards: rate(d.Discards), DiscardKB: rate(d.DiscardSectors) / 2, DiscardMrg: rate(d.DiscardMerges),
		DiscardMP: merged(d.DiscardMerges, d.Discards),
		DiscAwait: wait(d.DiscardTime, d.Discards), DiscSize: size(d.DiscardSectors, d.Discards),
		Flushes: rate(d.Flushes), FlushAwait: wait(d.FlushTime, d.Flushes),
		Queue: rate(d.WeightedTime) / 1000, Util: rate(d.BusyTime) / 10,
		FlushCount: int64(d.Flushes), WriteCount: int64(d.Writes), WriteBytes: int64(d.WriteSectors) * sectorBytes,
		ReadBytes: int64(d.ReadSectors) * sectorBytes,
	}
}

func over(a, b float64) float64 {
	if b <= 0 {
		return 0
	}
	return a / b
}
