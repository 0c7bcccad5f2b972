package report

import (
	"math"
	"path/filepath"
	"testing"
	"time"

	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/report/recordtest"
)

// The CPU use of each agent on another machine is on the timeline of the run, whatever its clock says.
func TestAgentsOnTheTimeline(t *testing.T) {
	o := recordtest.Run{Warmup: 2, Seconds: 6, Rate: 90, Open: true, Median: 2 * time.Millisecond, Seed: 7, Sampled: true}
	dir := filepath.Join(t.TempDir(), "my-record")
	if _, err := o.Write(dir); err != nil {
		t.Fatal(err)
	}
	o.OnLab = true // which has the samples of the load process
	for _, client := range []string{"00", "01"} {
		if _, err := o.Write(filepath.Join(dir, record.ClientsDir, client)); err != nil {
			t.Fatal(err)
		}
	}
	r, err := record.OpenRun(dir)
	if err != nil {
		t.Fatal(err)
	}
	here, err := readSamples(dir, r)
	if err != nil {
		t.Fatal(err)
	}
	r.Clients = []record.ClientShare{{Number: 0, Agent: "a", Cores: 2, CPUCores: 0.4},
		{Number: 1, Agent: "b", Cores: 2, CPUCores: 0.5, ClockOffset: -int64(2 * time.Second)},
		{Number: 2, Agent: "c", Status: "lost"}}
	s, err := readSamples(dir, r)
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Sources) != len(here.Sources)+1 || s.Sources[len(s.Sources)-1].Name != sourceAgents {
		t.Fatalf("%d sources, %d without agents", len(s.Sources), len(here.Sources))
	}
	agents := s.Sources[len(s.Sources)-1]
	if n := len(agents.Series); n != 2 || agents.Series[0].Name != "cpu.client 1" || agents.Series[1].Name != "cpu.client 0" {
		t.Fatalf("%d series of agents", n)
	}
	late, prompt := agents.Series[0].Values, agents.Series[1].Values
	if !math.IsNaN(late[0]) || !math.IsNaN(late[1]) || math.Abs(late[2]-0.4) > 0.2 || late[2] != prompt[0] {
		t.Errorf("the values are %v and %v", late, prompt)
	}
	if g := agents.groups(); len(g) != 1 || g[0].subject != "cpu" || g[0].short(g[0].series[0]) == "" {
		t.Errorf("the chart is %+v", g)
	}
}
