package recordtest

import (
	"math"
	"math/rand/v2"
	"time"

	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// Lab is a lab of three hosts with mirrored volumes, whose second member has a name that the caller chooses.
func Lab(name string) record.Lab {
	asked := spec.Lab{Name: "three"}
	asked.Hosts.Mode, asked.Hosts.Cores, asked.Hosts.Memory = "isolated", 1, 2<<30
	asked.Storage.Size, asked.Storage.Tolerate = 4<<30, 1
	asked.Topology.Members, asked.Topology.Election = 3, "elect-fast"
	asked.Defaults()
	l := record.Lab{
		SchemaVersion: record.SchemaVersion, Name: "three", State: "up", Started: Started.Add(-time.Hour),
		UsableAfter:   int64(4200 * time.Millisecond),
		Specification: asked, URI: "mongodb://198.18.4.4:27017/", Engine: "documentdb", Version: "PostgreSQL 18.0, FerretDB 2.7.0",
		Notes: []string{"all disks are files on one disk of this machine: striping spreads work over loop devices, not over spindles"},
	}
	volume := func(member string) record.LabVolume {
		return record.LabVolume{Name: "vol-" + member, Member: member, Policy: "4GiB, tolerate 1 by mirror",
			Mount: "/volumes/" + member, Capacity: 4 << 30, Used: 1 << 30, Health: "healthy",
			Layout: record.LabLayout{Backend: "btrfs", Profile: "raid1", Filesystem: "btrfs", Checksum: "crc32c", Disks: 2,
				DiskSize: 4 << 30, Tolerates: 1, WriteAmplification: 2, RawShare: 0.5,
				Notes: []string{"metadata are mirrored like data"}}}
	}
	lag := int64(4096)
	for i, host := range []string{"host1", "host2", "host3"} {
		member := []string{"rs0-1", "rs0-2", "rs0-3"}[i]
		role, behind := "secondary", &lag
		if i == 0 {
			role, behind = "primary", nil
		}
		l.Hosts = append(l.Hosts, record.LabHost{Name: host, Role: "member", Mode: "isolated",
			Address: "198.18.4." + string(rune('1'+i)), State: "on", Cores: 1, Memory: 2 << 30, Members: []string{member}})
		l.Members = append(l.Members, record.LabMember{Name: member, Kind: "postgres", Host: host, Address: "198.18.4.1:5432",
			State: "running", Role: role, LagBytes: behind, Term: 1,
			Volume: "vol-" + member, Settings: map[string]string{"shared_buffers": "512MB", "synchronous_standby_names": "ANY 1 (" + name + ")"}})
		l.Volumes = append(l.Volumes, volume(member))
	}
	l.Hosts = append(l.Hosts, record.LabHost{Name: "gateway1", Role: "gateway", Mode: "isolated", Address: "198.18.4.4", State: "on", Members: []string{"gateway-durable"}})
	l.Members = append(l.Members, record.LabMember{Name: "gateway-durable", Kind: "gateway", Host: "gateway1",
		Address: "198.18.4.4:27017", State: "running", Role: "gateway", Durability: "durable",
		Settings: map[string]string{"synchronous_commit": "local"}})
	return l
}

// LabAfter is the same lab when its first host was powered off.
func LabAfter(name string) record.Lab {
	l := Lab(name)
	l.Hosts[0].State, l.Members[0].State, l.Members[0].Role = "off", "dead", "unknown"
	l.Members[1].Role, l.Members[1].LagBytes, l.Members[1].Term, l.Members[2].Term = "primary", nil, 2, 2
	l.Volumes[0].Health, l.Volumes[0].Detail = "degraded", "a disk of "+name+" is missing"
	l.Faults = []record.LabFault{{ID: 1, Action: "power-off", Target: "host1", Since: Started.Add(5 * time.Second)}}
	return l
}

func (o Run) labEvents(second int) []measure.Event {
	if !o.OnLab || o.StallAt == 0 || second != o.Warmup+o.StallAt {
		return nil
	}
	at := time.Duration(second) * time.Second
	return []measure.Event{
		{At: at, Kind: "fault", Text: "power-off of host1"},
		{At: at + 700*time.Millisecond, Kind: "promotion", Text: "rs0-2 is the primary"},
	}
}

func (o Run) labSamples(s int) []record.Sample {
	if !o.OnLab {
		return nil
	}
	r := rand.New(rand.NewPCG(o.Seed, 1<<33+uint64(s)))
	about := func(x float64) float64 { return x * (1 + 0.05*r.NormFloat64()) }
	at := int64(time.Duration(s+1) * time.Second)
	gone := o.StallAt > 0 && s >= o.Warmup+o.StallAt
	list := []record.Sample{{At: at, Source: "client", Values: map[string]float64{"cpu.used": about(0.4), "memory.resident": 5e7}}}
	if o.Service {
		list = append(list, record.Sample{At: at, Source: "service", Values: map[string]float64{"cpu.used": about(0.3), "memory.resident": 4.8e7}})
	}
	for i, host := range []string{"host1", "host2", "host3", "gateway1"} {
		if gone && i == 0 {
			continue
		}
		busy := 0.9 / float64(i+1)
		list = append(list, record.Sample{At: at, Source: "host:three/" + host, Values: map[string]float64{
			"cpu.used": about(busy), "cpu.throttled": math.Max(0, about(busy)-0.6), "memory.resident": about(4e8), "disk.write_bytes": about(6e6 * busy),
			"disk.writes": about(300), "network.received": about(1e6), "network.sent": about(2e6),
		}})
	}
	return append(list, record.Sample{At: at, Source: "member:three/rs0-2", Values: map[string]float64{"replication.lag_bytes": about(4096)}})
}
