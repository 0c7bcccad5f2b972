package lab

import (
	"errors"
	"strings"
	"testing"

	"github.com/plimsoll-bench/plimsoll/lab/action"
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
		{l, action.Kill, "primary", ""},
		{l, action.Kill, "rs0/primary", ""},
		{sized, action.DiskFail, "primary/d1", ""},
		{sized, action.DiskFail, "rs0/secondary/d1", ""},
		{sized, action.Kill, "primary/d1", "Name primary, the member"},
		{sized, action.DiskFail, "primry/d1", "there is no \"primry/d1\""},
		{sized, action.DiskFail, "host1/d1", "host1/d1 is a host"},
		{l, action.Kill, "rs0-2", ""},
		{l, action.PowerOff, "host2", ""},
		{l, action.PowerOff, "primary", ""},
		{l, action.Kill, "primry", "did you mean primary?"},
		{l, action.Kill, "host3", `there is no "host3"`},
		{l, action.Cut, "host1", "--hosts isolated"},
		{apart, action.Cut, "host1", ""},
		{apart, action.Slow, "primary", ""},
		{l, action.DiskFail, "host1", "host1 is a host"},
		{l, action.DiskFail, "primary", "are directories. Create the lab with --size (storage"},
		{l, action.DiskLie, "primary", "--size and --faults"},
		{l, action.PowerLoss, "host1", "--size and --faults"},
		{sized, action.DiskFail, "rs0-1/d1", ""},
		{sized, action.Kill, "rs0-1/d1", "Name rs0-1, the member"},
		{sized, action.DiskLie, "rs0-1/d1", "--size and --faults"},
		{faulty, action.DiskLie, "rs0-1/d1", ""},
		{faulty, action.PowerLoss, "host1", ""},
		{classed, action.PowerLoss, "host1", ""},
		{l, action.RollingRestart, "all", ""},
		{l, action.RollingRestart, "rs1", "there is no set"},
		{l, action.IndexBuild, "workload", ""},
		{l, action.AddMember, "rs0-9", "a lab has no spare member"},
		{l, action.ChunkMigration, "workload", "--shards 2"},
		{documentdb, action.ChunkMigration, "workload", "because it has no shards"},
		{documentdb, action.Compaction, "secondary", "it has no compact command"},
		{single, action.StepDown, "primary", "--members 3"},
	} {
		err := CheckTarget(c.lab, spec.Fault{Strike: spec.Strike{Action: c.name, Target: c.target}})
		switch {
		case c.want == "" && err != nil, c.want != "" && err == nil:
			t.Errorf("%s:%s: error %v, want %q", c.name, c.target, err, c.want)
		case err != nil && (!errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s:%s: error %v, want one with %q", c.name, c.target, err, c.want)
		}
	}
}
