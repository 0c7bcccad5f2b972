package run

import (
	"strings"
	"testing"

	"github.com/plimsoll-bench/plimsoll/record"
)

// Data that do not fit on the volumes of a lab are refused before anything is made.
func TestCheckRoom(t *testing.T) {
	var l record.LabSpec
	l.Engine.Name, l.Topology.Kind, l.Storage.Size = record.LabMongod, record.LabReplicaSet, 512<<20
	var spec record.RunSpec
	spec.Workload.Name = "a"
	spec.Defaults()
	for records, want := range map[record.Count]string{100_000: "", 300_000: "workload.records: "} {
		spec.Workload.Records = records
		err := CheckRoom(l, spec)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%d records: error %v, want one with %q", records, err, want)
		}
	}
	l.Topology.Kind, l.Topology.Shards = record.LabSharded, 4
	if err := CheckRoom(l, spec); err != nil {
		t.Errorf("four shards share the data: %v", err)
	}
	spec.LoadPhase.Skip = true
	l.Topology.Kind = record.LabReplicaSet
	if err := CheckRoom(l, spec); err != nil {
		t.Errorf("nothing is loaded: %v", err)
	}
}
