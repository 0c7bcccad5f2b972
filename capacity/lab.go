package capacity

import "github.com/plimsoll-bench/plimsoll/record"

// labOf returns the number of nodes with data in a lab, and the copies of each document. 0 is unknown.
func labOf(r *record.Run) (nodes, copies int) {
	if r.Lab == nil {
		return 0, 0
	}
	t := r.Lab.Specification.Topology
	copies = int(max(t.Members, 1))
	return int(max(t.Shards, 1)) * copies, copies
}

// labMachine returns the limits of the hosts with data in a lab if all have the same. 0 is no limit or unknown.
func labMachine(r *record.Run) (memory, cores float64) {
	if r.Lab == nil {
		return 0, 0
	}
	first := true
	for _, h := range r.Lab.Hosts {
		if h.Role != "member" {
			continue
		}
		if !first && (float64(h.Memory) != memory || h.Cores != cores) {
			return 0, 0
		}
		first, memory, cores = false, float64(h.Memory), h.Cores
	}
	return memory, cores
}
