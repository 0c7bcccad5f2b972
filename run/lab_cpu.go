package run

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/lab/process"
	"github.com/plimsoll-bench/plimsoll/record"
)

// cpuUse is the processor time that the processes of a server had used at a time.
type cpuUse struct {
	at      time.Time
	seconds map[int]float64
	born    map[int]uint64
}

// cpuUses reads the use of the servers of a lab, which are processes of this machine.
func cpuUses(members []record.LabMember) map[string]cpuUse {
	all := map[string]cpuUse{}
	for _, m := range members {
		u := cpuUse{at: time.Now(), seconds: map[int]float64{}, born: map[int]uint64{}}
		for _, pid := range m.PIDs {
			if seconds, born, ok := process.CPUSeconds(pid); ok {
				u.seconds[pid], u.born[pid] = seconds, born
			}
		}
		if len(u.seconds) > 0 {
			all[m.Name] = u
		}
	}
	return all
}

// coresSince is how many cores each server used since then. Servers that ended or were restarted are left out.
func coresSince(began map[string]cpuUse) map[string]float64 {
	cores := map[string]float64{}
	for name, u := range began {
		used, same := 0.0, true
		for pid, before := range u.seconds {
			now, born, ok := process.CPUSeconds(pid)
			same = same && ok && born == u.born[pid]
			used += now - before
		}
		if took := time.Since(u.at).Seconds(); same && took > 0 {
			cores[name] = used / took
		}
	}
	return cores
}

// byServer lists the use of each server, the busiest first: on a sharded cluster a router or one shard may be the
// limit.
func (t *labTarget) byServer() string {
	if len(t.cores) < 2 {
		return ""
	}
	names := slices.SortedFunc(maps.Keys(t.cores), func(a, b string) int {
		return cmp.Or(cmp.Compare(t.cores[b], t.cores[a]), cmp.Compare(a, b))
	})
	var parts []string
	for _, name := range names {
		parts = append(parts, name+" "+figure.Significant(t.cores[name]))
	}
	return " (by server: " + few(parts) + ")"
}
