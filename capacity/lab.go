package capacity

import "github.com/plimsoll-bench/plimsoll/record"

// labOf returns how many nodes of a lab keep data, and how many of them each document: a lab says so, whatever stands
// between it and its clients. 0 is not known.
func labOf(r *record.Run) (nodes, copies int) {
	if r.Lab == nil {
		return 0, 0
	}
	t := r.Lab.Specification.Topology
	copies = int(max(t.Members, 1))
	return int(max(t.Shards, 1)) * copies, copies
}

// labMachine returns the limits of the hosts that keep data in a lab, where all of them have the same. 0 is no limit,
// or not known.
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
