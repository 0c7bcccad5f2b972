package lab

import (
	"errors"
	"strings"
	"testing"

	"github.com/plimsoll-bench/plimsoll/fault"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// What cannot be broken in a lab is said before there is load on it.
func TestCheckTarget(t *testing.T) {
	l := record.Lab{
		Hosts:   []record.LabHost{{Name: "host1"}, {Name: "host2"}},
		Members: []record.LabMember{{Name: "rs0-1"}, {Name: "rs0-2"}},
		Volumes: []record.LabVolume{{Name: "rs0-1", Layout: record.LabLayout{Backend: "directory"}},
			{Name: "rs0-2", Layout: record.LabLayout{Backend: "directory"}}},
	}
	l.Specification.Hosts.Mode = spec.LabPlain
	sized := l
	sized.Volumes = []record.LabVolume{{Name: "rs0-1", Layout: record.LabLayout{Backend: "disk"}}}
	faulty := sized
	faulty.Specification.Storage.Faults = true
	classed := sized
	classed.Specification.Storage.Device = "nvme"
	documentdb := l
	documentdb.Engine = spec.LabDocumentDB
	single := l
	single.Specification.Topology.Kind = spec.LabStandalone
	apart := l
	apart.Specification.Hosts.Mode = "isolated"
	for _, c := range []struct {
		lab          record.Lab
		name, target string
		want         string
	}{
		{l, fault.Kill, "primary", ""},
		{l, fault.Kill, "rs0/primary", ""},
		{sized, fault.DiskFail, "primary/d1", ""},
		{sized, fault.DiskFail, "rs0/secondary/d1", ""},
		{sized, fault.Kill, "primary/d1", "Name primary, the member"},
		{sized, fault.DiskFail, "primry/d1", "there is no \"primry/d1\""},
		{sized, fault.DiskFail, "host1/d1", "host1/d1 is a host"},
		{l, fault.Kill, "rs0-2", ""},
		{l, fault.PowerOff, "host2", ""},
		{l, fault.PowerOff, "primary", ""},
		{l, fault.Kill, "primry", "did you mean primary?"},
		{l, fault.Kill, "host3", `there is no "host3"`},
		{l, fault.Cut, "host1", "--hosts isolated"},
		{apart, fault.Cut, "host1", ""},
		{apart, fault.Slow, "primary", ""},
		{l, fault.DiskFail, "host1", "host1 is a host"},
		{l, fault.DiskFail, "primary", "are directories. Create the lab with --size (storage"},
		{l, fault.DiskLie, "primary", "--size and --faults"},
		{l, fault.PowerLoss, "host1", "--size and --faults"},
		{sized, fault.DiskFail, "rs0-1/d1", ""},
		{sized, fault.Kill, "rs0-1/d1", "Name rs0-1, the member"},
		{sized, fault.DiskLie, "rs0-1/d1", "--size and --faults"},
		{faulty, fault.DiskLie, "rs0-1/d1", ""},
		{faulty, fault.PowerLoss, "host1", ""},
		{classed, fault.PowerLoss, "host1", ""},
		{l, fault.RollingRestart, "all", ""},
		{l, fault.RollingRestart, "rs1", "there is no set"},
		{l, fault.IndexBuild, "workload", ""},
		{l, fault.AddMember, "rs0-9", "a lab has no spare member"},
		{l, fault.ChunkMigration, "workload", "--shards 2"},
		{documentdb, fault.ChunkMigration, "workload", "because it has no shards"},
		{documentdb, fault.Compaction, "secondary", "it has no compact command"},
		{single, fault.StepDown, "primary", "--members 3"},
	} {
		err := CheckTarget(c.lab, spec.Fault{Action: spec.Action{Name: c.name, Target: c.target}})
		switch {
		case c.want == "" && err != nil, c.want != "" && err == nil:
			t.Errorf("%s:%s: error %v, want %q", c.name, c.target, err, c.want)
		case err != nil && (!errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s:%s: error %v, want one with %q", c.name, c.target, err, c.want)
		}
	}
}
