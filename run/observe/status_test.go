package observe

import (
	"bytes"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/server"
)

var testNow = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// document reads a document of testdata; replacements of its text come in pairs.
func document(t testing.TB, name string, replace ...string) bson.Raw {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(replace); i += 2 {
		if !bytes.Contains(b, []byte(replace[i])) {
			t.Fatalf("%s does not contain %s", name, replace[i])
		}
	}
	text := strings.NewReplacer(replace...).Replace(string(b))
	var d bson.D
	if err := bson.UnmarshalExtJSON([]byte(text), false, &d); err != nil {
		t.Fatal(err)
	}
	raw, err := bson.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

var close6 = cmpopts.EquateApprox(1e-9, 1e-9)

// A server without a free ticket leaves out the statistics of its engine. Servers that never have them are others.
func TestStatusWithoutTicket(t *testing.T) {
	empty, err := bson.Marshal(bson.M{"host": "a", "wiredTiger": bson.M{}})
	if err != nil {
		t.Fatal(err)
	}
	whole, err := bson.Marshal(bson.M{"host": "a", "wiredTiger": bson.M{"cache": bson.M{"maximum bytes configured": 1 << 30}}})
	if err != nil {
		t.Fatal(err)
	}
	other, err := bson.Marshal(bson.M{"host": "b", "wiredTiger": bson.M{}})
	if err != nil {
		t.Fatal(err)
	}
	r := newStatusReader()
	for i, step := range []struct {
		doc  bson.Raw
		want float64
	}{{empty, 0}, {whole, 0}, {empty, 1}, {empty, 1}, {whole, 0}, {other, 0}} {
		if values, _ := r.read(step.doc, testNow.Add(time.Duration(i)*time.Second)); values["tickets.read.exhausted"] != step.want {
			t.Errorf("%d: %v", i, values)
		}
	}
}

// The first look has gauges alone; the second one has what happened between them.
func TestStatusOfOneServer(t *testing.T) {
	r := newStatusReader()
	values, events := r.read(document(t, "status-4.4.json"), testNow)
	gauges := map[string]float64{
		"connections.current": 20, "connections.available": 838840, "connections.active": 3,
		"queue.readers": 1, "queue.writers": 2, "active.readers": 4, "active.writers": 5,
		"cache.used": 8e8, "cache.dirty": 4e7, "cache.max": 1 << 30, "memory.resident": 512 << 20,
		"cache.used_share": 8e8 / (1 << 30), "cache.dirty_share": 4e7 / (1 << 30),
		"checkpoint.running": 0, "checkpoint.recent": 450e6,
		"tickets.read.out": 2, "tickets.read.available": 126, "tickets.write.out": 5, "tickets.write.available": 123,
		"tickets.read.exhausted": 0, "tickets.write.exhausted": 0,
	}
	if diff := cmp.Diff(gauges, values, close6); diff != "" || len(events) != 0 {
		t.Errorf("first look, %d events (-want +got):\n%s", len(events), diff)
	}
	later := document(t, "status-4.4.json",
		`"3600000"`, `"3602000"`, `"insert": {"$numberLong": "1000"}`, `"insert": {"$numberLong": "1500"}`,
		`"pages read into cache": 1000`, `"pages read into cache": 1010`, `"pages requested from the cache": {"$numberLong": "100000"}`, `"pages requested from the cache": {"$numberLong": "101000"}`,
		`"modified pages evicted": 300`, `"modified pages evicted": 340`, `"log sync operations": 400`, `"log sync operations": 410`,
		`"log sync time duration (usecs)": 800000`, `"log sync time duration (usecs)": 830000`,
		`"transaction checkpoints": 60`, `"transaction checkpoints": 61`, `(msecs)": 450`, `(msecs)": 900`, `"page_faults": 12`, `"page_faults": 14`)
	values, events = r.read(later, testNow.Add(2*time.Second))
	want := map[string]float64{
		"opcounters.insert": 250, "opcounters.query": 0, "opcounters.update": 0, "opcounters.delete": 0, "opcounters.getmore": 0, "opcounters.command": 0,
		"network.received": 0, "network.sent": 0, "network.requests": 0,
		"connections.created": 0, "cache.pages_read": 5, "cache.pages_requested": 500, "cache.hit_ratio": 0.99, "cache.evicted": 20,
		"cache.read_bytes": 0, "cache.written_bytes": 0, "log.syncs": 5, "log.sync_time": 3e6, "log.written_bytes": 0, "page_faults": 1,
		"checkpoint.recent": 900e6,
	}
	for name, x := range gauges {
		if _, ok := want[name]; !ok {
			want[name] = x
		}
	}
	if diff := cmp.Diff(want, values, close6); diff != "" {
		t.Errorf("second look (-want +got):\n%s", diff)
	}
	if len(events) != 1 || events[0].Kind != EventCheckpoint || events[0].Data["duration_ns"] != "900000000" || events[0].Data["server"] != "db1.example:27017" {
		t.Errorf("events %+v", events)
	}
}

// Versions say the same in different places.
func TestStatusOfVersions(t *testing.T) {
	for name, want := range map[string]map[string]float64{
		"status-7.0.json": {"tickets.read.out": 3, "tickets.write.available": 12, "checkpoint.running": 1, "checkpoint.recent": 1200e6, "cache.max": 4 << 30},
		"status-8.0.json": {"tickets.read.out": 3, "tickets.write.available": 12, "checkpoint.running": 1, "checkpoint.recent": 77e6, "queue.writers": 7},
	} {
		values, _ := newStatusReader().read(document(t, name), testNow)
		for series, x := range want {
			if values[series] != x {
				t.Errorf("%s: %s is %v, want %v", name, series, values[series], x)
			}
		}
	}
	r := newStatusReader()
	r.read(document(t, "status-8.0.json"), testNow)
	_, events := r.read(document(t, "status-8.0.json", `"total succeed number of checkpoints": 12`, `"total succeed number of checkpoints": 13`), testNow.Add(time.Second))
	if len(events) != 1 || events[0].Data["duration_ns"] != "77000000" {
		t.Errorf("events of 8.0: %+v", events)
	}
}

// Another server, and the same one started again, have counters of their own.
func TestCountersBeginAnew(t *testing.T) {
	for name, replace := range map[string][]string{
		"another server": {"db1.example", "db2.example", `"insert": {"$numberLong": "1000"}`, `"insert": {"$numberLong": "9000"}`, `"transaction checkpoints": 60`, `"transaction checkpoints": 99`},
		"a restart":      {`"3600000"`, `"1000"`, `"transaction checkpoints": 60`, `"transaction checkpoints": 99`},
		"a counter back": {`"insert": {"$numberLong": "1000"}`, `"insert": {"$numberLong": "5"}`, `"transaction checkpoints": 60`, `"transaction checkpoints": 1`},
	} {
		r := newStatusReader()
		r.read(document(t, "status-4.4.json"), testNow)
		values, events := r.read(document(t, "status-4.4.json", replace...), testNow.Add(time.Second))
		if x, ok := values["opcounters.insert"]; ok || len(events) != 0 {
			t.Errorf("%s: %v inserts per second, events %v", name, x, events)
		}
	}
}

// Whatever a server says instead of numbers is left out.
func TestStrangeStatus(t *testing.T) {
	strange := []any{nil, "a text", bson.D{}, bson.A{1}, true, -5, 1e300, bson.NewDateTimeFromTime(testNow),
		bson.Regex{Pattern: "x"}, int64(1) << 62}
	rng := rand.New(rand.NewPCG(1, 2))
	var mangle func(d bson.D) bson.D
	mangle = func(d bson.D) bson.D {
		for i := range d {
			switch inner, ok := d[i].Value.(bson.D); {
			case rng.IntN(4) == 0:
				d[i].Value = strange[rng.IntN(len(strange))]
			case ok:
				d[i].Value = mangle(inner)
			}
		}
		return d
	}
	for range 200 {
		r, set := newStatusReader(), replicaReader{}
		for i := range 3 {
			var d, m bson.D
			if err := bson.Unmarshal(document(t, "status-4.4.json"), &d); err != nil {
				t.Fatal(err)
			}
			if err := bson.Unmarshal(document(t, "replica-set.json"), &m); err != nil {
				t.Fatal(err)
			}
			now := testNow.Add(time.Duration(i) * time.Second)
			values, _ := r.read(raw(t, mangle(d)), now)
			set.read(server.ReadSet(raw(t, mangle(m))), values, now)
		}
	}
	if values, events := newStatusReader().read(raw(t, bson.D{{Key: "ok", Value: 1}}), testNow); len(values) != 0 ||
		len(events) != 0 {
		t.Errorf("an empty status says %v, %v", values, events)
	}
}

func raw(t *testing.T, d bson.D) bson.Raw {
	t.Helper()
	b, err := bson.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestReplicaSet(t *testing.T) {
	var r replicaReader
	values := map[string]float64{}
	if events := r.read(server.ReadSet(document(t, "replica-set.json")), values, testNow); len(events) != 0 || values["replication.lag"] != 3e9 {
		t.Errorf("first look: lag %v ns, events %+v", values["replication.lag"], events)
	}
	if events := r.read(server.ReadSet(document(t, "replica-set.json")), values, testNow); len(events) != 0 {
		t.Errorf("nothing changed, but there are events %+v", events)
	}
	if events := r.read(server.ReadSet(document(t, "replica-set.json", `"stateStr": "PRIMARY"`, `"stateStr": "STARTUP2"`)), values, testNow); len(events) != 0 {
		t.Errorf("nobody was elected, but there are events %+v", events)
	}
	events := r.read(server.ReadSet(document(t, "replica-set.json", `"$numberLong": "5"`, `"$numberLong": "6"`, "db1.example", "db2.example")), values, testNow)
	if len(events) != 1 || events[0].Kind != EventElection || events[0].Data["term"] != "6" || events[0].Data["primary"] != "db2.example:27017" {
		t.Errorf("events %+v", events)
	}
}

// Every series that a server may have has the unit that its values have.
func TestUnits(t *testing.T) {
	for _, s := range server.Statistics() {
		unit := record.UnitOf(s.Name)
		if perSecond := unit == "1/s" || unit == "B/s"; perSecond != (s.Kind == server.Counter) {
			t.Errorf("%s is of kind %d, its unit is %q", s.Name, s.Kind, unit)
		}
	}
	for name, want := range map[string]string{"cache.hit_ratio": "share", "log.sync_time": "ns", "checkpoint.recent": "ns", "replication.lag": "ns", "memory.resident": "B", "cache.evicted": "1/s"} {
		if got := record.UnitOf(name); got != want {
			t.Errorf("the unit of %s is %q, want %q", name, got, want)
		}
	}
}

func FuzzStatus(f *testing.F) {
	for _, name := range []string{"status-4.4.json", "status-8.0.json", "replica-set.json"} {
		f.Add([]byte(document(f, name)))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if server.Valid(b) != nil {
			return // answers are validated before they get here
		}
		r, set := newStatusReader(), replicaReader{}
		for i := range 2 {
			values, _ := r.read(b, testNow.Add(time.Duration(i)*time.Second))
			set.read(server.ReadSet(b), values, testNow)
		}
	})
}

func BenchmarkStatus(b *testing.B) {
	doc, r := document(b, "status-4.4.json"), newStatusReader()
	b.ReportAllocs()
	for i := range b.N {
		r.read(doc, testNow.Add(time.Duration(i)*time.Second))
	}
}

// A number is read as the server wrote it, whatever its type; what is no number is none.
func TestNumeric(t *testing.T) {
	for name, c := range map[string]struct {
		value any
		want  float64
		ok    bool
	}{
		"a fraction":     {0.75, 0.75, true},
		"not a number":   {math.NaN(), 0, false},
		"infinity":       {math.Inf(1), 0, false},
		"a long integer": {int64(1) << 40, 1 << 40, true},
		"a flag":         {true, 1, true},
		"a date":         {bson.DateTime(1500), 1500, true},
		"a text":         {"7", 0, false},
	} {
		got, ok := server.At("v").Number(raw(t, bson.D{{Key: "v", Value: c.value}}))
		if ok != c.ok || ok && got != c.want {
			t.Errorf("%s is %v, %v", name, got, ok)
		}
	}
}
