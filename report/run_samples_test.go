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

// A live page keeps what a reader has opened by the ids of the figures, also if a figure comes before an old one.
func TestFigureKeepsItsID(t *testing.T) {
	ids := func(cpu, disk float64) map[string]string {
		source := SampleSource{Name: "host:db"}
		for _, x := range []struct {
			name, unit string
			value      float64
		}{{"cpu", "share", cpu}, {"disk.a", "B/s", disk}, {"disk.a", "1/s", disk}, {"memory", "B", 5}} {
			series := record.Series{Source: source.Name, Name: x.name, Unit: x.unit}
			source.Series = append(source.Series, SampleSeries{series, []float64{x.value}})
		}
		s := &runFiles{Run: &record.Run{}, Samples: &Samples{At: []float64{1}, Sources: []SampleSource{source}}}
		of := map[string]string{}
		for _, part := range resourceSection(s, &record.PhaseResult{}, nil).Parts {
			for _, f := range part.Figures {
				of[f.Chart.About().ID] = f.Chart.About().Title
			}
		}
		return of
	}
	before, after := ids(0, 0), ids(0.5, 7)
	if len(before) != 1 || len(after) != 4 {
		t.Fatalf("figures with ids of their own: %v, then %v, want 1 and 4", before, after)
	}
	for id, title := range before {
		if after[id] != title {
			t.Errorf("%s was %q and is %q", id, title, after[id])
		}
	}
}
