package capacity

import (
	"testing"

	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// A lab says how many nodes keep data and what their limits are, although its clients see a gateway or a router.
func TestDeploymentOfALab(t *testing.T) {
	run := func(topology spec.Topology, hosts ...record.LabHost) *record.Run {
		return &record.Run{Lab: &record.Lab{Specification: spec.Lab{Topology: topology}, Hosts: hosts}}
	}
	for _, c := range []struct {
		run           *record.Run
		nodes, copies int
		memory, cores float64
	}{
		{&record.Run{}, 0, 0, 0, 0},
		{run(spec.Topology{Kind: "standalone", Members: 1}), 1, 1, 0, 0},
		{run(spec.Topology{Kind: "replica-set", Members: 3}, record.LabHost{Role: "gateway", Cores: 8},
			record.LabHost{Role: "member", Cores: 2, Memory: 1 << 30},
			record.LabHost{Role: "member", Cores: 2, Memory: 1 << 30}), 3, 3, 1 << 30, 2},
		{run(spec.Topology{Kind: "sharded", Members: 3, Shards: 2}, record.LabHost{Role: "member", Cores: 2},
			record.LabHost{Role: "member", Cores: 1}), 6, 3, 0, 0},
	} {
		nodes, copies := labOf(c.run)
		memory, cores := labMachine(c.run)
		if nodes != c.nodes || copies != c.copies || memory != c.memory || cores != c.cores {
			t.Errorf("%+v: %d nodes, %d copies, memory %v, cores %v", c.run.Lab, nodes, copies, memory, cores)
		}
	}
}
