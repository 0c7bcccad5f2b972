package run

import (
	"strings"
	"testing"

	"github.com/plimsoll-bench/plimsoll/spec"
)

// Data that do not fit on the volumes of a lab are refused before anything is made.
func TestCheckRoom(t *testing.T) {
	var l spec.Lab
	l.Engine.Name, l.Topology.Kind, l.Storage.Size = spec.LabMongod, spec.LabReplicaSet, 512<<20
	var asked spec.Run
	asked.Workload.Name = "a"
	asked.Defaults()
	for records, want := range map[spec.Count]string{100_000: "", 300_000: "workload.records: "} {
		asked.Workload.Records = records
		err := checkRoom(l, asked)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%d records: error %v, want one with %q", records, err, want)
		}
	}
	l.Topology.Kind, l.Topology.Shards = spec.LabSharded, 4
	if err := checkRoom(l, asked); err != nil {
		t.Errorf("four shards share the data: %v", err)
	}
	asked.LoadPhase.Skip = true
	l.Topology.Kind = spec.LabReplicaSet
	if err := checkRoom(l, asked); err != nil {
		t.Errorf("nothing is loaded: %v", err)
	}
}
