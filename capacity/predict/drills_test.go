package predict

import (
	"strings"
	"testing"

	"github.com/plimsoll-bench/plimsoll/record"
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
