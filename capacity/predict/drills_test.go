package predict

import (
	"strings"
	"testing"

	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// Outages of drills are reproduced from other drills. Each of the six drills has four or five rounds: mongod 4.4.6 with
// its default election timeout, and PostgreSQL 18 with Patroni, whose lease is 20 s.
func TestSimulationOfMeasuredOutages(t *testing.T) {
	for _, c := range []struct{ ask, drills, refused string }{
		{"{shards: 333, members: 3, failures: {kill: 200}, time: 24h}", "mongod-kill", ""},
		{"{shards: 333, members: 3, failures: {power-off: 200}, time: 24h}", "patroni-power-off", ""},
		{"{shards: 333, members: 3, failures: {kill: 200}, time: 24h}", "patroni-power-off", "kill"},
	} {
		e, err := OpenEvidence([]string{"testdata/simulated/drills/" + c.drills + "-1", "testdata/simulated/drills/" + c.drills + "-2",
			"testdata/simulated/drills/" + c.drills + "-3"})
		if err != nil {
			t.Fatal(err)
		}
		s := Simulate(deployment(t, c.ask), e, record.Tool{})
		for _, x := range s.Checks {
			t.Logf("%s, %s: %.4g simulated, %.4g measured, %+.1f %%", x.Setup, x.Metric, x.Simulated, x.Measured, 100*x.Error)
		}
		if got := refusal(s); (got != "") != (c.refused != "") || !strings.Contains(got, c.refused) || len(s.Checks) != 3 ||
			len(s.LeftOut) > 0 {
			t.Errorf("%s from %s: refused %q, left out %q, %d checks", c.ask, c.drills, got, s.LeftOut, len(s.Checks))
		}
	}
}

// Open loads of a set of three mongod 4.4.6 are reproduced on disks of two classes, each from its own probe. Their
// writes wait for the journals because of the configuration of the set.
func TestSimulationOfAMeasuredSet(t *testing.T) {
	const dir = "testdata/simulated/set/"
	for _, c := range []struct{ probe, runs, refused string }{
		{"hdd-7200", "hdd-7200", ""}, {"hdd-10k", "hdd-10k", ""},
		{"hdd-10k", "hdd-7200", "does not reproduce these records"},
	} {
		e, err := OpenEvidence([]string{dir + "cal-1", dir + "cal-64", dir + "members-1", dir + c.probe + "/probe",
			dir + c.runs + "/r-100", dir + c.runs + "/r-200"})
		if err != nil {
			t.Fatal(err)
		}
		s := Simulate(deployment(t, "{shards: 333, members: 3, load: {workers: 21312, rate: 33300}}"), e, record.Tool{})
		for _, x := range s.Checks {
			t.Logf("%s, %s: %.4g simulated, %.4g measured, %+.1f %%", x.Setup, x.Metric, x.Simulated, x.Measured, 100*x.Error)
		}
		if got := refusal(s); (got != "") != (c.refused != "") || !strings.Contains(got, c.refused) || len(s.Checks) != 4 {
			t.Errorf("%s with the probe of %s: refused %q, left out %q, %d checks", c.runs, c.probe, got, s.LeftOut, len(s.Checks))
		}
	}
}

func TestJournaled(t *testing.T) {
	yes, no := true, false
	for _, c := range []struct {
		d     spec.Durability
		waits string // writeConcernMajorityJournalDefault of the set
		want  bool
	}{
		{spec.Durability{Name: "durable"}, "", true},
		{spec.Durability{W: "majority"}, "true", true},
		{spec.Durability{W: "majority"}, "false", false},
		{spec.Durability{W: "majority"}, "", false},
		{spec.Durability{W: "majority", Journal: &no}, "true", false},
		{spec.Durability{W: "1"}, "true", false},
		{spec.Durability{W: "1", Journal: &yes}, "false", true},
	} {
		r := &record.Run{}
		r.Specification.Durability = c.d
		r.Target.Settings = map[string]string{"replica-set.writeConcernMajorityJournalDefault": c.waits}
		if got := journaled(r); got != c.want {
			t.Errorf("%v with %q: %t", c.d.Asked(), c.waits, got)
		}
	}
}
