package server

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// What releases answer, after the manual's pages of the commands: an 8.0 member in a container, a router, a 4.4 shard
// that may not be asked for everything.
func TestFacts(t *testing.T) {
	a := &answers{replies: map[string]string{"buildInfo": build80, "hello": three, "getDefaultRWConcern": majority, "replSetGetConfig": config,
		"serverStatus": `{"pid": {"$numberLong": "77"}, "uptimeMillis": {"$numberLong": "600000"}, "storageEngine": {"name": "wiredTiger"},
			"tcmalloc": {"usingPerCPUCaches": false}, "wiredTiger": {"cache": {"maximum bytes configured": 1024}, "log": {"maximum log file size": 100}}, "ok": 1}`,
		"listDatabases": `{"databases": [{"name": "admin"}, {"name": "local"}, {"name": "config"}, {"name": "app"}], "ok": 1}`,
		"dbStats":       `{"dataSize": 1000.0, "storageSize": 300.0, "indexSize": 24.0, "totalSize": 324.0, "ok": 1}`,
		"hostInfo": `{"system": {"hostname": "db1.example:27017", "memSizeMB": {"$numberLong": "64000"}, "memLimitMB": {"$numberLong": "8000"}, "numCores": 4, "numaEnabled": false},
			"os": {"type": "Linux"}, "extra": {"kernelVersion": "5.14.0", "maxOpenFiles": 1024}, "ok": 1}`,
		"getLog":         `{"totalLinesWritten": 2, "log": ["{\"t\":{},\"s\":\"W\",\"c\":\"CONTROL\",\"id\":22120,\"msg\":\"Access control is not enabled for the database.\",\"tags\":[\"startupWarnings\"]}", "** WARNING: old"], "ok": 1}`,
		"getCmdLineOpts": `{"parsed": {"storage": {"dbPath": "/data/db"}}, "ok": 1}`,
		"getParameter":   `{"featureCompatibilityVersion": {"version": "7.0"}, "ok": 1}`,
	}}
	f, err := QueryFacts(t.Context(), a)
	if err != nil {
		t.Fatal(err)
	}
	no, yes := false, true
	if f.Config.Name != "rs" || f.Config.Voting != 3 || len(f.Config.Members) != 3 {
		t.Errorf("the configuration: %+v", f.Config)
	}
	f.Config = Config{}
	want := Facts{Identity: f.Identity, Journal: &yes, Cache: 1024, Data: 2048, FCV: "7.0",
		WithData: 3, DBPath: "/data/db", PID: 77,
		Uptime: 10 * time.Minute, PerCPU: &no, Concerns: Concerns{W: "majority", Source: Implicit, MajorityJournal: &yes},
		Host: HostInfo{Name: "db1.example", OS: "Linux", Kernel: "5.14.0", Memory: 8000 << 20, Machine: 64000 << 20,
			MaxFiles: 1024},
		Warnings: []string{"Access control is not enabled for the database"}}
	if d := cmp.Diff(want, f); d != "" {
		t.Error(d)
	}
	a.replies["hello"], a.asked = router, nil
	delete(a.replies, "dbStats")
	delete(a.replies, "hostInfo")
	f, err = QueryFacts(t.Context(), a)
	if err != nil || f.Kind != Mongos || f.FCV != "" || f.WithData != 0 || f.DataUnread == "" || len(f.Refused) != 1 ||
		f.Refused[0] != "hostInfo" {
		t.Errorf("%+v, %v", f, err)
	}
	for _, name := range a.asked {
		if name == "getParameter" || name == "replSetGetConfig" {
			t.Errorf("a router was asked for %s", name)
		}
	}
	if _, err := QueryFacts(t.Context(), &answers{}); err == nil {
		t.Error("a server that answers nothing has facts")
	}
}
