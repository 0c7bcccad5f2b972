package ycsb

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plimsoll-bench/plimsoll/workload"
)

// A record has the properties of the core workload as parameters, with which the workload opens. The others are labels,
// without credentials and without the name of the record: only so can two calls be compared.
func TestSpecificationOfARecord(t *testing.T) {
	p := propsFor(t, "workload=site.ycsb.workloads.CoreWorkload\nrecordcount=100\nfieldcount=3\nreadproportion=1\nupdateproportion=0\n"+
		"embedded.dir=data\nplimsoll.out=somewhere\nmongodb.url=mongodb://u:secret@h/d\nthreadcount=4\njdbc.url=x\nstatus=true")
	c := &call{args: &Args{command: "run"}, props: p, settings: &settings{out: "somewhere"}, params: workload.CoreParams{Records: 100}}
	s := c.specification()
	want := []string{"fieldcount", "readproportion", "recordcount", "updateproportion", "workload"}
	if diff := cmp.Diff(want, slices.Sorted(maps.Keys(s.Workload.Params))); diff != "" {
		t.Errorf("parameters (-want +got):\n%s", diff)
	}
	labels := map[string]string{"ycsb": "run", "embedded.dir": "data", "mongodb.url": "mongodb://***@h/d", "threadcount": "4",
		"jdbc.url": "x", "status": "true"}
	if diff := cmp.Diff(slices.Sorted(maps.Keys(labels)), slices.Sorted(maps.Keys(s.Labels))); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
	if u := s.Labels["mongodb.url"]; u == p.values["mongodb.url"] || u == "" {
		t.Errorf("the address is %q", u)
	}
	if _, err := workload.Open(workload.Spec{Name: s.Workload.Name, Mode: s.Workload.Mode,
		Records: int64(s.Workload.Records), Params: s.Workload.Params}); err != nil {
		t.Errorf("the workload of the record does not open: %v", err)
	}
}
