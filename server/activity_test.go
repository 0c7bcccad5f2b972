package server

import (
	"testing"
	"time"
)

// statusBusy is what a primary of MongoDB 5.0 answers, with two secondaries that read its oplog.
const statusBusy = `{"host": "db1:27017", "uptimeMillis": 20000,
 "opcounters": {"insert": 1005, "query": 980, "update": 1039, "delete": 7, "getmore": 2650, "command": 3300},
 "opcountersRepl": {"insert": 3, "query": 0, "update": 2, "delete": 1, "getmore": 0, "command": 0},
 "opLatencies": {"reads": {"latency": 883663, "ops": 3630}, "writes": {"latency": 11767049, "ops": 1051}},
 "mirroredReads": {"seen": 1900, "sent": 40},
 "metrics": {"commands": {"find": {"total": 980, "failed": 0}, "aggregate": {"total": 20, "failed": 0},
   "count": {"total": 10, "failed": 0}, "hello": {"total": 3000, "failed": 0}},
  "repl": {"network": {"oplogGetMoresProcessed": {"num": 2600, "totalMillis": 409}}}}}`

const topBusy = `{"totals": {"note": "all times in microseconds",
 "local.oplog.rs": {"queries": {"time": 63, "count": 2}, "getmore": {"time": 683600, "count": 2600}},
 "shop.orders": {"queries": {"time": 98000, "count": 980}, "getmore": {"time": 10, "count": 1}}}}`

func TestActivity(t *testing.T) {
	a := &answers{replies: map[string]string{"serverStatus": statusBusy, "top": topBusy}}
	got, err := QueryActivity(t.Context(), a)
	if err != nil {
		t.Fatal(err)
	}
	for kind, want := range map[string]float64{"find": 980, "insert": 1005, "update": 1039, "delete": 7, "aggregate": 20, "count": 10} {
		if got.Counts[kind] != want {
			t.Errorf("%v of %s, want %v", got.Counts[kind], kind, want)
		}
	}
	if sum := got.Operations(); sum != 980+1005+1039+7+20+10 {
		t.Errorf("%v operations", sum)
	}
	if got.Replicating != 2600 || got.Continuing != 50 || got.Replicated != 6 || got.Mirrored != 40 || got.Received >= 0 ||
		got.Commands != 3270 {
		t.Errorf("what clients did not send is %+v", got)
	}
	if got.Reads.Count != 1028 || got.Reads.Micros != 200000 || got.Reads.Mean() != 194552*time.Nanosecond ||
		got.ReadsUnknown {
		t.Errorf("reads without those of the oplog are %+v, mean %v", got.Reads, got.Reads.Mean())
	}
	if m := got.Writes.Mean(); m != 11196050*time.Nanosecond {
		t.Errorf("writes take %v", m)
	}

	delete(a.replies, "top")
	if got, err = QueryActivity(t.Context(), a); err != nil || !got.ReadsUnknown {
		t.Errorf("without top, the time of reads is known: %+v, %v", got.Reads, err)
	}
	a.replies["serverStatus"] = `{"host": "pg", "uptimeMillis": 1, "ferretdb": {}}`
	if _, err = QueryActivity(t.Context(), a); err == nil {
		t.Error("a gateway without counters has activity")
	}
}

func TestActivitySince(t *testing.T) {
	at := func(up time.Duration, finds, sent float64) Activity {
		return Activity{Host: "a", Up: up, Counts: map[string]float64{"find": finds}, Mirrored: sent, Received: -1,
			Reads: Timed{finds, 100 * finds}}
	}
	first := at(time.Minute, 100, 5)
	grown, restarted := at(2*time.Minute, 160, 7).Since(first)
	if restarted || grown.Operations() != 60 || grown.Mirrored != 2 || grown.Received != -1 ||
		grown.Reads != (Timed{60, 6000}) {
		t.Errorf("%+v, restarted %v", grown, restarted)
	}
	again, restarted := at(time.Second, 30, 1).Since(first)
	if !restarted || again.Operations() != 30 || again.Mirrored != 1 || again.Received != -1 {
		t.Errorf("after a restart: %+v, %v", again, restarted)
	}
	grown.Add(again)
	if grown.Operations() != 90 || grown.Mirrored != 3 || grown.Received != -1 || grown.Reads.Count != 90 {
		t.Errorf("together: %+v", grown)
	}
	if first.Counts["find"] != 100 {
		t.Error("a reading was changed")
	}
}

func TestRouters(t *testing.T) {
	a := &answers{replies: map[string]string{"find": `{"cursor": {"firstBatch": [
	 {"_id": "a:1", "ping": {"$date": "2026-03-01T10:00:00Z"}}, {"_id": "b:1", "ping": {"$date": "2026-03-01T10:00:25Z"}},
	 {"_id": "gone:1", "ping": {"$date": "2026-03-01T09:50:00Z"}}]}}`}}
	if got, err := QueryRouters(t.Context(), a); err != nil || len(got) != 2 || got[0] != "a:1" || got[1] != "b:1" {
		t.Errorf("routers %q, %v", got, err)
	}
}
