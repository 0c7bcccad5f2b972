package study

import (
	"strings"
	"testing"

	"github.com/plimsoll-bench/plimsoll/spec"
)

const forEngines = `
name: cluster
lab: {name: cluster, topology: {kind: sharded, shards: 4, members: 1, config_servers: 3, routers: 4}}
run: {workload: {name: a, records: 100M}, load: {workers: 128, duration: 5s}}
scale: {data: 1/64, workers: 1/8, servers: 1/2}
trials: 2
factors:
  - name: records
    path: workload.records
    levels: [{value: 50M, without: {sharding: {workload.records: 12.5M}}}, {value: 100M, without: {sharding: {workload.records: 25M}}, baseline: true}]
without:
  sharding:
    says: one server
    set: {lab.topology.kind: standalone, lab.topology.shards: null, lab.topology.members: null, lab.topology.config_servers: null, lab.topology.routers: null, workload.records: 25M}
`

// A study says what it does where the engine lacks something, and each shard keeps its share of a smaller cluster.
func TestForEngine(t *testing.T) {
	read := func(engine string) spec.Study {
		asked, err := spec.ReadStudy(strings.NewReader(forEngines))
		if err != nil {
			t.Fatal(err)
		}
		asked.Lab.Engine.Name = engine
		if asked, err = Scaled(asked); err != nil {
			t.Fatal(err)
		}
		return asked
	}
	s := read(spec.LabMongod)
	top := s.Lab.Topology
	if top.Shards != 2 || top.Routers != 2 || top.ConfigServers != 1 || s.Run.Workload.Records != 781_000 ||
		s.Run.Load.Workers != 8 || len(s.Instead) != 0 {
		t.Errorf("on mongod: %+v, %v records, %v workers, instead %v", top, s.Run.Workload.Records, s.Run.Load.Workers, s.Instead)
	}
	s = read(spec.LabDocumentDB)
	if top = s.Lab.Topology; top.Kind != spec.LabStandalone || top.Shards != 0 || top.Routers != 0 ||
		s.Run.Workload.Records != 391_000 || s.Run.Load.Workers != 16 {
		t.Errorf("on documentdb: %+v, %v records, %v workers", top, s.Run.Workload.Records, s.Run.Load.Workers)
	}
	if len(s.Instead) != 1 || s.Instead[0].To != "one server" || !strings.Contains(ScaleNotes(&s)[0], "documentdb has no sharding, so instead: one server") {
		t.Errorf("instead %+v", s.Instead)
	}
	if l := s.Factors[0].Levels[0]; l.Name != "50M" || spec.Plain(l.Value) != "195k" && l.Value != 195_000 {
		t.Errorf("level %+v", l)
	}
	if again, err := Scaled(s); err != nil || len(again.Instead) != 1 {
		t.Errorf("twice: %+v, %v", again.Instead, err)
	}
}

// What WiredTiger and a mongod need at least is a floor of theirs alone.
func TestScaleHasTheFloorsOfTheEngine(t *testing.T) {
	for engine, want := range map[string]spec.Size{spec.LabMongod: 512 << 20, spec.LabDocumentDB: 256 << 20} {
		asked := spec.Study{Scale: &spec.Scale{Data: 1. / 128}, Lab: &spec.Lab{Hosts: spec.Hosts{Memory: 32 << 30},
			Engine: spec.Engine{Name: engine}}}
		got, err := Scaled(asked)
		if err != nil || got.Lab.Hosts.Memory != want {
			t.Errorf("%s: memory %v, %v; want %v", engine, got.Lab.Hosts.Memory, err, want)
		}
	}
}

// A scale changes what is written and not the defaults, so a plan and a run of the same file agree.
func TestScaleLeavesDefaults(t *testing.T) {
	asked := spec.Study{Scale: &spec.Scale{Workers: 1. / 8}, Run: spec.Run{Target: "null:"},
		Procedures: &spec.Procedures{Threads: &spec.Threads{From: 8}}}
	got, err := Complete(asked)
	if err != nil || got.Procedures.Threads.From != 1 || got.Procedures.Threads.To != 256 {
		t.Errorf("%+v, %v; want from 1 to 256", got.Procedures.Threads, err)
	}
	if asked.Procedures.Threads.To != 0 {
		t.Error("the study that was given has changed")
	}
	again, err := Complete(got)
	if err != nil || again.Procedures.Threads.From != 1 || again.Procedures.Threads.To != 256 {
		t.Errorf("completed twice: %+v, %v", again.Procedures.Threads, err)
	}
}
