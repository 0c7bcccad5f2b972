package judge

import (
	"fmt"

	"github.com/plimsoll-bench/plimsoll/record"
)

// used returns what the drills of a suite used. Each is compared with the first drill with the same load, by the use
// per acknowledged write, because a drill with a longer outage writes less and uses less.
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

// use sums up the rounds of a drill. ok is false if their use is not known.
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
