package report

import (
	"cmp"
	"fmt"
	"strconv"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/record"
)

// drillSums are what the rounds of one drill used together.
type drillSums struct {
	members              int
	records              int64
	cpu, service, client float64 // seconds
	written              int64   // bytes
}

// used sums up the rounds of a drill; ok is false where nothing is known of what they used.
func used(d *record.Drill) (sum drillSums, ok bool) {
	for i := range d.Rounds {
		r := &d.Rounds[i]
		if r.Ledger == nil || r.CPUSeconds <= 0 {
			continue
		}
		sum.members = max(sum.members, r.Members)
		sum.records += r.Ledger.Acknowledged
		sum.cpu += r.CPUSeconds
		sum.service += r.ServiceCPUSeconds
		sum.client += r.ClientCPUSeconds
		sum.written += r.WrittenBytes
	}
	return sum, sum.records > 0
}

// drillUseSection sets beside each other what the drills of a suite used, for each write that was acknowledged: one that was out for
// longer wrote less and used less.
func (s *Suite) drillUseSection() Section {
	x := Section{Title: "what the drills used", Table: &Table{Left: 2, Header: []string{"part", "level", "members", "writes", "CPU of the servers", "for a write", "written",
		"for a write", "REST service", "load generator"}}}
	bases := map[string]drillSums{} // the first drill of each group
	for i := range s.Parts {
		p := &s.Parts[i]
		if p.Drill == nil {
			continue
		}
		sum, ok := used(p.Drill)
		if !ok {
			continue
		}
		group := fmt.Sprint(p.Set)
		base, has := bases[group]
		if !has {
			bases[group], base = sum, sum
		}
		x.Table.row(append([]string{p.Name, cmp.Or(p.Level, "-")}, sum.cells(base)...)...)
	}
	if len(x.Table.Rows) == 0 {
		return Section{}
	}
	x.Lines = []string{
		"CPU and bytes are those of all servers with what runs beside them on their hosts, from before the load until redundancy was back. What the kernel does for virtual disks, such as copying to a mirror, is not among it. What plain hosts write is not known.",
		"Each is divided by the acknowledged writes, since what is out for longer writes less and uses less; in brackets the ratio to the first part that was loaded in the same way.",
		"REST service and load generator: their CPU for an acknowledged write. They are processes beside the lab, and what they used is not among that of the servers.",
	}
	return x
}

// cells are the columns behind the name and the level.
func (u drillSums) cells(base drillSums) []string {
	each := func(total, baseTotal float64, print func(float64) string) (all, one string) {
		if total <= 0 {
			return "-", "-"
		}
		one = print(total / float64(u.records))
		if baseTotal > 0 && u != base {
			one += " (×" + figure.Significant(total/float64(u.records)/(baseTotal/float64(base.records))) + ")"
		}
		return print(total), one
	}
	seconds := func(x float64) string { return nanoseconds(x * 1e9) }
	cpu, cpuEach := each(u.cpu, base.cpu, seconds)
	written, writtenEach := each(float64(u.written), float64(base.written), func(x float64) string { return figure.Bytes(int64(x)) })
	_, service := each(u.service, base.service, seconds)
	_, client := each(u.client, base.client, seconds)
	return []string{strconv.Itoa(u.members), figure.Count(u.records), cpu, cpuEach, written, writtenEach, service, client}
}
