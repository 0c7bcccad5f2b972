package record

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// seriesUnits are the units of series by the end of their names: a name is as short as it can be within its
// source, with the name of a disk or an interface in the middle where there are several.
var seriesUnits = map[string]string{
	// Machines.
	"cpu.user": "share", "cpu.system": "share", "cpu.iowait": "share", "cpu.steal": "share", "cpu.busy": "share", "cpu.used": "cores", "cpu.throttled": "cores",
	"memory.used": "B", "memory.available": "B", "memory.resident": "B",
	"read_bytes": "B/s", "write_bytes": "B/s", "reads": "1/s", "writes": "1/s", "utilisation": "share", "read_await": "ns", "write_await": "ns",
	"received": "B/s", "sent": "B/s", "some": "share", "full": "share",
	// MongoDB.
	"insert": "1/s", "query": "1/s", "update": "1/s", "delete": "1/s", "getmore": "1/s", "command": "1/s", "requests": "1/s",
	"cache.used": "B", "cache.dirty": "B", "cache.max": "B", "cache.used_share": "share", "cache.dirty_share": "share", "cache.hit_ratio": "share", "cache.pages_read": "1/s",
	"cache.pages_requested": "1/s", "cache.evicted": "1/s", "cache.read_bytes": "B/s",
	"cache.written_bytes": "B/s", "checkpoint.recent": "ns", "log.syncs": "1/s", "log.sync_time": "ns", "log.written_bytes": "B/s",
	"write_conflicts": "1/s", "applied": "1/s", "fetched": "1/s", "fetched_bytes": "B/s", "batch_time": "ns", "buffer.size": "B",
	"checkpoint_bytes": "B/s", "eviction_bytes": "B/s", "log_bytes": "B/s", "memory.allocated": "B", "memory.heap": "B",
	"load.reads": "", "load.writes": "", "load.commands": "", "ended.commands": "1/s", "created": "1/s", "rejected": "1/s", "waits": "1/s",
	"update_conflicts": "1/s", "cpu.waiting": "", "cpu.limit": "cores", "cpu.pressure": "share", "io.pressure": "share",
	"latency.reads": "ns", "latency.writes": "ns", "latency.commands": "ns", "latency.transactions": "ns", "flow_control.writes": "1/s",
	"flow_control.lagged": "share", "flow_control.lagged_time": "share", "read.exhausted": "share", "write.exhausted": "share",
	"replication.lag": "ns", "replication.lag_bytes": "B", "page_faults": "1/s",
}

// UnitOf returns the unit of the values of a series: "1/s", "B/s", "B", "share", "cores", "ns", or "" for a
// number of things.
func UnitOf(name string) string {
	for rest := name; rest != ""; {
		if unit, ok := seriesUnits[rest]; ok {
			return unit
		}
		_, after, found := strings.Cut(rest, ".")
		if !found {
			break
		}
		rest = after
	}
	return ""
}

// perSecond reports whether values of a unit are amounts per second, so that an operation has a part in them.
// A core that is used is a second of processor time per second.
func perSecond(unit string) bool { return unit == "1/s" || unit == "B/s" || unit == "cores" }

// seriesSums adds up the samples of the measured phase, one series at a time, without keeping them.
type seriesSums struct {
	series  map[seriesKey]*seriesSum
	pending []Sample // later than what was measured so far, so it is not known yet to what they belong
}

type seriesKey struct{ source, name string }

type seriesSum struct {
	n              int64
	sum, max, last float64
}

// add takes samples in order of time.
func (s *seriesSums) add(list []Sample) { s.pending = append(s.pending, list...) }

// settle counts the samples between start and end, and forgets those before end. More samples of the same phase may
// follow.
func (s *seriesSums) settle(start, end time.Duration) {
	keep := s.pending[:0]
	for _, sample := range s.pending {
		switch at := time.Duration(sample.At); {
		case at > end:
			keep = append(keep, sample)
		case at > start:
			s.count(sample)
		}
	}
	clear(s.pending[len(keep):])
	s.pending = keep
}

func (s *seriesSums) count(sample Sample) {
	if s.series == nil {
		s.series = map[seriesKey]*seriesSum{}
	}
	for name, v := range sample.Values {
		key := seriesKey{sample.Source, name}
		sum := s.series[key]
		if sum == nil {
			sum = &seriesSum{max: v}
			s.series[key] = sum
		}
		sum.n++
		sum.sum += v
		sum.max, sum.last = max(sum.max, v), v
	}
}

// list returns the series in order of source and name. achieved is operations per second of the measured
// phase, 0 if there were none.
func (s *seriesSums) list(achieved float64) []Series {
	var out []Series
	for key, sum := range s.series {
		x := Series{
			Source: key.source, Name: key.name, Unit: UnitOf(key.name), Mean: sum.sum / float64(sum.n), Max: sum.max,
			Last: sum.last,
		}
		if perSecond(x.Unit) && achieved > 0 {
			per := x.Mean / achieved
			x.PerOperation = &per
		}
		out = append(out, x)
	}
	slices.SortFunc(out, func(a, b Series) int {
		return cmp.Or(cmp.Compare(a.Source, b.Source), cmp.Compare(a.Name, b.Name))
	})
	return out
}
