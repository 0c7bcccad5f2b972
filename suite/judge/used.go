package judge

import (
	"fmt"

	"github.com/plimsoll-bench/plimsoll/record"
)

// used sets beside each other what the drills of a suite used. Each is held against the first one that was loaded in
// the same way: what is compared is the use for each write that was acknowledged, since one that was out for longer
// wrote less and used less.
func (s *Suite) used() (list []record.SuiteUse) {
	bases := map[string]string{}
	for i := range s.Parts {
		p := &s.Parts[i]
		if p.Drill == nil {
			continue
		}
		x, ok := use(p.Drill)
		if !ok {
			continue
		}
		group := fmt.Sprint(p.Set)
		if bases[group] == "" {
			bases[group] = p.Name
		}
		x.Part, x.Level, x.Base = p.Name, p.Level, bases[group]
		list = append(list, x)
	}
	return list
}

// use sums up the rounds of a drill; ok is false where nothing is known of what they used.
func use(d *record.Drill) (x record.SuiteUse, ok bool) {
	for i := range d.Rounds {
		r := &d.Rounds[i]
		if r.Ledger == nil || r.CPUSeconds <= 0 {
			continue
		}
		x.Members = max(x.Members, r.Members)
		x.Writes += r.Ledger.Acknowledged
		x.ServersCPU += r.CPUSeconds
		x.ServiceCPU += r.ServiceCPUSeconds
		x.GeneratorCPU += r.ClientCPUSeconds
		x.ServersBytes += r.WrittenBytes
	}
	return x, x.Writes > 0
}
