package observe

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/plimsoll-bench/plimsoll/store"
)

// scripted is a server that answers getDiagnosticData in turn.
type scripted struct {
	fakeServer
	answers []func() (bson.Raw, error)
	clock   bson.D // answer to hello
	asked   []time.Time
}

func (s *scripted) RunCommand(ctx context.Context, db string, cmd []byte) ([]byte, error) {
	switch {
	case commandName(cmd) == "hello" && s.clock != nil:
		return bson.Marshal(s.clock)
	case commandName(cmd) != "getDiagnosticData":
		return s.fakeServer.RunCommand(ctx, db, cmd)
	}
	s.asked = append(s.asked, time.Now())
	return s.answers[min(len(s.asked), len(s.answers))-1]()
}

func (s *scripted) opener() Opener {
	return func(context.Context) (store.Store, error) { return s, nil }
}

// What members of a set of mongod 4.4.6 under load answered, a second apart: one command has the server, its place in
// the set and its machine.
func TestRecordedDiagnostics(t *testing.T) {
	for name, want := range map[string]map[string]float64{
		"primary":   {"cache.max": 12100567040, "tickets.write.available": 126, "flow_control.lagged": 0, "write_conflicts": 1 / 1.019},
		"secondary": {"cache.max": 12100567040, "tickets.write.available": 128, "repl.buffer.operations": 0},
	} {
		answer := func(n string) func() (bson.Raw, error) {
			return func() (bson.Raw, error) { return document(t, "diagnostics-4.4-"+name+"-"+n+".json"), nil }
		}
		fake := &scripted{answers: []func() (bson.Raw, error){answer("1"), answer("2")}}
		w := &watched{open: fake.opener(), address: "db:1", status: newStatusReader(), replica: &replicaReader{},
			hosts: newHosts(), fixed: true}
		if r, err := w.Look(t.Context()); err != nil || r.Values["cache.max"] == 0 || len(r.Others) != 1 {
			t.Fatalf("%s: %+v, %v", name, r, err)
		}
		r, err := w.Look(t.Context())
		if err != nil || r.Source != "server:db:1" || len(r.Others) != 1 {
			t.Fatalf("%s: %+v, %v", name, r, err)
		}
		for series, x := range want {
			if got, ok := r.Values[series]; !ok || math.Abs(got-x) > 0.001 {
				t.Errorf("%s: %s is %v, %v", name, series, got, ok)
			}
		}
		host := r.Others[0].Values
		for _, series := range []string{"cpu.busy", "cpu.iowait", "memory.used", "disk.vda.utilisation", "disk.vda.write_bytes", "network.sent"} {
			if _, ok := host[series]; !ok {
				t.Errorf("%s: the machine has no %s", name, series)
			}
		}
		for _, series := range []string{"latency.commands", "cache.used_share", "queue.readers", "replication.lag"} {
			if _, ok := r.Values[series]; !ok {
				t.Errorf("%s: the server has no %s: %v", name, series, r.Values)
			}
		}
		if applied := r.Values["repl.applied"]; (applied > 100) != (name == "secondary") {
			t.Errorf("%s applied %v operations per second", name, applied)
		}
		if fake.n+fake.sets != 0 {
			t.Errorf("%s: %d further commands", name, fake.n+fake.sets)
		}
	}
}

// A server that refuses its diagnostic data, or has none, is sampled by serverStatus. The note names what would help.
func TestWithoutDiagnostics(t *testing.T) {
	status := func(int) (bson.Raw, error) { return document(t, "status-4.4.json"), nil }
	set := func() (bson.Raw, error) { return document(t, "replica-set.json"), nil }
	for _, c := range []struct {
		name   string
		answer func() (bson.Raw, error)
		asked  int
		note   string
	}{
		{"refused", func() (bson.Raw, error) {
			return nil, &store.ServerError{Code: 13, CodeName: "Unauthorized", Message: "not authorized on admin to execute command " +
				"{ getDiagnosticData: 1, lsid: { id: UUID(\"0\") }, $db: \"admin\" }"}
		}, 1, "role clusterMonitor"},
		{"unknown", func() (bson.Raw, error) {
			return nil, &store.ServerError{Code: 59, CodeName: "CommandNotFound", Message: "no such command"}
		}, 1, ""},
		{"empty", func() (bson.Raw, error) { return raw(t, bson.D{{Key: "data", Value: bson.D{}}}), nil }, mostEmpty, "diagnosticDataCollectionEnabled"},
	} {
		fake := &scripted{fakeServer: fakeServer{status: status, replica: set}, answers: []func() (bson.Raw, error){c.answer}}
		s := NewServer("db:1", fake.opener())
		notes := ""
		for i := range mostEmpty + 2 {
			r, err := s.Look(t.Context())
			if err != nil || r.Values["connections.current"] != 20 || r.Values["replication.lag"] != 3e9 {
				t.Errorf("%s, look %d: %+v, %v", c.name, i, r, err)
			}
			notes += strings.Join(r.Notes, "")
		}
		if len(fake.asked) != c.asked || c.note == "" && notes != "" || !strings.Contains(notes, c.note) ||
			strings.Contains(notes, "lsid") {
			t.Errorf("%s: asked %d times, notes %q", c.name, len(fake.asked), notes)
		}
	}
}

// A user without any role sees nothing of the servers. The record says once that machines are missing, and which
// statistics of which server, with the role that would help.
func TestWithoutAnyRole(t *testing.T) {
	refuse := func(command string) error {
		return &store.ServerError{Code: 13, CodeName: "Unauthorized",
			Message: "not authorized on admin to execute command { " + command + ": 1, lsid: { id: UUID(\"0\") } }"}
	}
	w := New(t.Context())
	for _, address := range []string{"db1:1", "db2:1"} {
		fake := &scripted{fakeServer: fakeServer{status: func(int) (bson.Raw, error) { return nil, refuse("serverStatus") }},
			answers: []func() (bson.Raw, error){func() (bson.Raw, error) { return nil, refuse("getDiagnosticData") }}}
		w.Follow(time.Millisecond, NewServer(address, fake.opener()))
	}
	w.group.Wait() // each source ends by itself
	w.Stop()
	samples, _, _ := w.Take()
	notes := strings.Join(w.Notes(), "\n")
	if len(samples) > 0 || len(w.Notes()) != 3 || strings.Count(notes, "Give") != 3 || strings.Contains(notes, "lsid") ||
		!strings.Contains(notes, "read from db1:1") || !strings.Contains(notes, "read from db2:1") {
		t.Errorf("%d samples, notes:\n%s", len(samples), notes)
	}
}

// Samples have the time when the server took them, on this machine's clock. A query that finds no new data is made a
// little later from then on, because the server collects at that time.
func TestTimeOfDiagnostics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const ahead = time.Hour
		began := time.Now()
		taken := func(after time.Duration) func() (bson.Raw, error) {
			return func() (bson.Raw, error) {
				return raw(t, bson.D{{Key: "data", Value: bson.D{{Key: "start", Value: began.Add(after + ahead)},
					{Key: "serverStatus", Value: document(t, "status-4.4.json")}}}}), nil
			}
		}
		fake := &scripted{clock: bson.D{{Key: "localTime", Value: began.Add(ahead)}}, answers: []func() (bson.Raw, error){
			taken(-200 * time.Millisecond), taken(-200 * time.Millisecond), taken(1100 * time.Millisecond),
			func() (bson.Raw, error) { return nil, errors.New("connection reset") }}}
		s := NewServer("db:1", fake.opener())
		for i, want := range []time.Duration{-200 * time.Millisecond, 0, 1100 * time.Millisecond} {
			r, err := s.Look(t.Context())
			if err != nil || len(r.Values) > 0 != (want != 0) || want != 0 && r.Time.Sub(began) != want {
				t.Errorf("look %d: at %v, %d values, %v", i, r.Time.Sub(began), len(r.Values), err)
			}
			time.Sleep(time.Second)
		}
		if gap := fake.asked[2].Sub(fake.asked[1]); gap != time.Second+stepAside {
			t.Errorf("asked again after %v", gap)
		}
		if _, err := s.Look(t.Context()); err == nil || errors.Is(err, errNever) {
			t.Errorf("a lost connection: %v", err)
		}
	})
}

// Behind a full network, a reply with statistics comes late. The sample has the time when the server took it, and the
// rates are those of its clock.
func TestTimeOfStatistics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const ahead = time.Hour
		began := time.Now()
		late := []time.Duration{0, 1400 * time.Millisecond, 200 * time.Millisecond}
		status := func(n int) (bson.Raw, error) {
			at := time.Now()
			time.Sleep(late[n-1])
			return raw(t, bson.D{{Key: "host", Value: "db:1"}, {Key: "localTime", Value: at.Add(ahead)},
				{Key: "opcounters", Value: bson.D{{Key: "query", Value: at.Sub(began).Milliseconds()}}},
				{Key: "connections", Value: bson.D{{Key: "current", Value: 5}}}}), nil
		}
		alone := func() (bson.Raw, error) { return nil, &store.ServerError{Code: 76} }
		unknown := func() (bson.Raw, error) { return nil, &store.ServerError{Code: 59} }
		fake := &scripted{fakeServer: fakeServer{status: status, replica: alone},
			answers: []func() (bson.Raw, error){unknown}, clock: bson.D{{Key: "localTime", Value: began.Add(ahead)}}}
		s := NewServer("db:1", fake.opener())
		for i := range late {
			asked := time.Now()
			r, err := s.Look(t.Context())
			if rate := r.Values["opcounters.query"]; err != nil || !r.Time.Equal(asked) || i > 0 && math.Abs(rate-1000) > 1e-6 {
				t.Errorf("look %d: %v after it was asked, %v queries a second, %v", i, r.Time.Sub(asked), rate, err)
			}
			time.Sleep(time.Second)
		}
	})
}
