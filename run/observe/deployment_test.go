package observe

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/plimsoll-bench/plimsoll/store"
)

// fakeMember is a store that answers commands as one server does.
type fakeMember struct {
	fakeServer
	replies map[string]bson.D
	asked   map[string]int
}

func (m *fakeMember) RunCommand(ctx context.Context, db string, cmd []byte) ([]byte, error) {
	name := commandName(cmd)
	if name == "serverStatus" || name == "replSetGetStatus" {
		return m.fakeServer.RunCommand(ctx, db, cmd)
	}
	m.asked[name]++
	if reply, ok := m.replies[name]; ok {
		if name == "getDiagnosticData" {
			m.n++
			return m.diagnostics(reply)
		}
		return bson.Marshal(reply)
	}
	return nil, &store.ServerError{Code: 13, CodeName: "Unauthorized", Message: "not authorized on admin to execute command"}
}

// diagnostics adds what the server says of itself to what it says of its machine.
func (m *fakeMember) diagnostics(host bson.D) ([]byte, error) {
	status, err := m.status(m.n)
	if err != nil {
		return nil, err
	}
	set, err := m.replica()
	if err != nil {
		return nil, err
	}
	return bson.Marshal(bson.D{{Key: "data", Value: bson.D{{Key: "start", Value: time.Now()},
		{Key: "serverStatus", Value: status},
		{Key: "replSetGetStatus", Value: set}, {Key: "systemMetrics", Value: host}}}})
}

func member(t *testing.T, host string, primary bool, replies map[string]bson.D) *fakeMember {
	m := &fakeMember{replies: replies, asked: map[string]int{}}
	m.status = func(n int) (bson.Raw, error) {
		return raw(t, bson.D{{Key: "host", Value: host}, {Key: "uptimeMillis", Value: n * 1000},
			{Key: "connections", Value: bson.D{{Key: "current", Value: 1}}},
			{Key: "repl", Value: bson.D{{Key: "isWritablePrimary", Value: primary}}}}), nil
	}
	m.replica = func() (bson.Raw, error) { return document(t, "replica-set.json"), nil }
	return m
}

// systemMetrics is what a server says of its machine after some seconds.
func systemMetrics(at time.Time, seconds int) bson.D {
	return bson.D{{Key: "start", Value: at},
		{Key: "cpu", Value: bson.D{{Key: "num_cpus", Value: 4}, {Key: "user_ms", Value: 1000 * seconds},
			{Key: "nice_ms", Value: 0}, {Key: "system_ms", Value: 1000 * seconds},
			{Key: "irq_ms", Value: 0}, {Key: "softirq_ms", Value: 0}, {Key: "iowait_ms", Value: 0}, {Key: "steal_ms", Value: 0},
			{Key: "idle_ms", Value: 2000 * seconds}}},
		{Key: "memory", Value: bson.D{{Key: "MemTotal_kb", Value: 8}, {Key: "MemFree_kb", Value: 1}, {Key: "Cached_kb", Value: 2}, {Key: "Buffers_kb", Value: 1}}},
		{Key: "netstat", Value: bson.D{{Key: "IpExt:InOctets", Value: 700 * seconds}, {Key: "IpExt:OutOctets", Value: 9}}},
		{Key: "disks", Value: bson.D{{Key: "sda", Value: bson.D{{Key: "reads", Value: 10 * seconds},
			{Key: "writes", Value: 10 * seconds}, {Key: "read_sectors", Value: 20 * seconds},
			{Key: "write_sectors", Value: 0}, {Key: "read_time_ms", Value: 30 * seconds},
			{Key: "write_time_ms", Value: 10 * seconds}, {Key: "io_time_ms", Value: 500 * seconds}}}}}}
}

// What a server says of its machine has the names that this machine's own figures have.
func TestDiagnosticData(t *testing.T) {
	var r diagnosticReader
	if v := r.read(raw(t, systemMetrics(testNow, 10)), testNow); v["memory.available"] != 4096 || v["memory.used"] != 4096 {
		t.Errorf("first look %v", v)
	}
	if v := r.read(raw(t, systemMetrics(testNow, 10)), testNow.Add(time.Second)); v != nil {
		t.Errorf("the server has read nothing since, but there is %v", v)
	}
	want := map[string]float64{"cpu.user": 0.25, "cpu.system": 0.25, "cpu.iowait": 0, "cpu.steal": 0, "cpu.busy": 0.5, "cpu.used": 2,
		"memory.available": 4096, "memory.used": 4096, "network.received": 700, "network.sent": 0,
		"disk.sda.reads": 10, "disk.sda.writes": 10, "disk.sda.read_bytes": 10240, "disk.sda.write_bytes": 0, "disk.sda.utilisation": 0.5, "disk.sda.read_await": 3e6, "disk.sda.write_await": 1e6}
	if d := cmp.Diff(want, r.read(raw(t, systemMetrics(testNow.Add(2*time.Second), 12)), testNow), close6); d != "" {
		t.Error(d)
	}
	for _, d := range []bson.D{{}, {{Key: "disks", Value: "x"}, {Key: "cpu", Value: bson.A{1}}}} {
		(&diagnosticReader{}).read(raw(t, d), testNow)
	}
}

// Every member with data is looked at, hidden ones too, with one command each; each machine is read from one of them; a
// member that cannot be reached is said once.
func TestDeployment(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		config := bson.D{{Key: "config", Value: bson.D{{Key: "members", Value: bson.A{bson.D{{Key: "host", Value: "a:1"}},
			bson.D{{Key: "host", Value: "b:1"}},
			bson.D{{Key: "host", Value: "c:1"}, {Key: "arbiterOnly", Value: true}},
			bson.D{{Key: "host", Value: "d:1"}, {Key: "hidden", Value: true}}, bson.D{{Key: "host", Value: "e:1"}}}}}}}
		whole := member(t, "a:1", true, map[string]bson.D{"buildInfo": {{Key: "version", Value: "8.0.24"}}, "replSetGetConfig": config,
			"hello": {{Key: "setName", Value: "rs"}, {Key: "hosts", Value: bson.A{"a:1", "b:1"}}}})
		members := map[string]*fakeMember{}
		for _, host := range []string{"a:1", "b:1", "d:1"} {
			members[host] = member(t, strings.Replace(host, "d:1", "a:2", 1), host == "a:1",
				map[string]bson.D{"getDiagnosticData": systemMetrics(testNow, 1)})
		}
		w := New(t.Context())
		w.FollowDeployment(time.Second, Deployment{Address: "a:1", Open: func(context.Context) (store.Store, error) {
			return whole, nil
		},
			Member: func(address string) (Opener, error) {
				return func(context.Context) (store.Store, error) {
					if m := members[address]; m != nil {
						return m, nil
					}
					return nil, errors.New("dial " + address + ": no route")
				}, nil
			}})
		time.Sleep(3500 * time.Millisecond)
		samples, _, _ := w.Take()
		w.Stop()
		seen := map[string]int{}
		for _, s := range samples {
			seen[s.Source]++
		}
		if d := cmp.Diff(map[string]int{"server:a:1": 4, "server:b:1": 4, "server:d:1": 4, "host:a": 1, "host:b": 1}, seen); d != "" {
			t.Error(d)
		}
		for name, m := range members {
			if m.asked["getDiagnosticData"] != 4 || m.sets != 0 {
				t.Errorf("%s was asked %d times for its diagnostic data, %d times for the set", name, m.asked["getDiagnosticData"], m.sets)
			}
		}
		if notes := w.Notes(); len(notes) != 1 || notes[0] != "e:1 cannot be sampled with the address and user of this run: dial it: no route" {
			t.Errorf("notes %q", notes)
		}
	})
}

// A router tells of its shards; where it may not, it is looked at alone and that is said.
func TestDeploymentOfShards(t *testing.T) {
	hello := bson.D{{Key: "msg", Value: "isdbgrid"}}
	shard := bson.D{{Key: "shards", Value: bson.A{bson.D{{Key: "_id", Value: "s1"}, {Key: "host", Value: "rs1/a:1,b:1"}},
		bson.D{{Key: "_id", Value: "s2"}, {Key: "host", Value: "rs2/c:1"}}}}}
	for name, want := range map[string]int{"allowed": 4, "refused": 1} {
		replies := map[string]bson.D{"hello": hello, "buildInfo": {{Key: "version", Value: "8.0.24"}}}
		if name == "allowed" {
			replies["listShards"] = shard
		}
		d := Deployment{Open: func(context.Context) (store.Store, error) { return member(t, "r:1", false, replies), nil },
			Member: func(string) (Opener, error) { return nil, nil }}
		sources, err := d.sources(t.Context())
		if len(sources) != want || (err != nil) != (name == "refused") {
			t.Errorf("%s: %d sources, %v", name, len(sources), err)
		}
	}
}

// What the set of a server calls its members may lead to others, so an address of one server is that of one server.
func TestDirectDeployment(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		config := bson.D{{Key: "config", Value: bson.D{{Key: "members", Value: bson.A{bson.D{{Key: "host", Value: "localhost:1"}}}}}}}
		tunnel := member(t, "inside:1", true, map[string]bson.D{"buildInfo": {{Key: "version", Value: "8.0.24"}}, "replSetGetConfig": config,
			"hello":             {{Key: "setName", Value: "rs"}, {Key: "hosts", Value: bson.A{"localhost:1"}}},
			"getDiagnosticData": systemMetrics(testNow, 1)})
		for direct, want := range map[bool]string{true: "server:inside:1", false: "server:localhost:1"} {
			w := New(t.Context())
			open := func(context.Context) (store.Store, error) { return tunnel, nil }
			w.FollowDeployment(time.Second, Deployment{Address: "localhost:2", Open: open, Direct: direct,
				Member: func(string) (Opener, error) { return open, nil }})
			time.Sleep(1500 * time.Millisecond)
			samples, _, _ := w.Take()
			w.Stop()
			if len(samples) == 0 || samples[0].Source != want {
				t.Errorf("direct %v: %+v", direct, samples)
			}
		}
	})
}

// A server of a lab has the address that the lab gives it, whatever the server calls itself: findings and limits look
// for it there.
func TestMemberOfALabHasItsAddress(t *testing.T) {
	m := member(t, "machine", true, map[string]bson.D{"getDiagnosticData": systemMetrics(testNow, 1)})
	s := NewMember("198.18.0.2:27017", nil, func(context.Context) (store.Store, error) { return m, nil })
	defer s.Close()
	r, err := s.Look(t.Context())
	if _, lags := r.Values["replication.lag"]; err != nil || r.Source != "server:198.18.0.2:27017" || len(r.Others) != 0 || lags {
		t.Errorf("%+v, %v", r, err)
	}
	// A secondary says how far it is behind. The lab tells of elections.
	m.replica = func() (bson.Raw, error) {
		state := func(name, state string, self bool, seconds int) bson.D {
			return bson.D{{Key: "name", Value: name}, {Key: "stateStr", Value: state}, {Key: "self", Value: self},
				{Key: "optimeDate", Value: testNow.Add(time.Duration(seconds) * time.Second)}}
		}
		return raw(t, bson.D{{Key: "set", Value: "rs"}, {Key: "myState", Value: 2},
			{Key: "members", Value: bson.A{state("a:1", "PRIMARY", false, 3), state("b:1", "SECONDARY", true, 0)}}}), nil
	}
	time.Sleep(2 * time.Millisecond) // its answers have the time in milliseconds
	if r, err := s.Look(t.Context()); err != nil || r.Values["replication.lag"] != 3e9 || len(r.Events) != 0 {
		t.Errorf("%+v, %v", r, err)
	}
}
