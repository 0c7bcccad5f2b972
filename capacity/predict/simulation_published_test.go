package predict

import (
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/plimsoll-bench/plimsoll/record"
)

// The stated figures of the reference architecture beside the simulated ones are those of docs/size.md. At most half of
// them calibrate, and what cannot be simulated is refused in words.
func TestSimulationOfDocument(t *testing.T) {
	s, err := SimulatePublished("policy-storage", nil, record.Tool{})
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("../../docs/size.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range s.Checks {
		t.Logf("%s, %s: %.4g simulated, %.4g stated, %+.1f %%", c.Setup, c.Metric, c.Simulated, c.Measured, 100*c.Error)
		parts := strings.SplitN(c.Setup, ", ", 3)
		row := fmt.Sprintf("| %s | %s, %s | %s |", strings.TrimPrefix(parts[0], "figure "),
			strings.ToUpper(strings.TrimPrefix(parts[1], "workload ")), parts[2], strings.ReplaceAll(c.Metric, "_", " "))
		_, rest, found := strings.Cut(string(page), row)
		line, _, _ := strings.Cut(rest, "\n")
		cells := strings.Split(line, "|")
		var percent float64
		if len(cells) > 2 {
			_, _ = fmt.Sscanf(strings.ReplaceAll(cells[2], "−", "-"), "%f", &percent)
		}
		if !found || math.Abs(percent-100*c.Error) > 1 {
			t.Errorf("docs/size.md: %s … | %+.1f %% |, and it has %q", row, 100*c.Error, line)
		}
	}
	if a, b := len(s.Document.Calibrated), len(s.Checks); a != 10 || b != 12 {
		t.Errorf("%d figures calibrate and %d are compared", a, b)
	}
	if !strings.Contains(refusal(s), "does not reproduce these figures") || s.Load != nil {
		t.Errorf("refused with %q, %+v", refusal(s), s.Load)
	}
	for _, want := range []string{"figure 2, client threads: the document only draws", "figure 13, replica set and w: no figure shows",
		"figure 18, durability: writes of its", "figure 20, checksum: the storage", "table 7, replica set and what failed: each"} {
		if !strings.Contains(strings.Join(s.LeftOut, "\n"), want) {
			t.Errorf("left out %q without %q", s.LeftOut, want)
		}
	}
	if s.Deployment.Shards != 4 || s.Deployment.Records != 25e6 || len(s.Document.Hardware) < 15 {
		t.Errorf("%+v, %+v", s.Deployment, s.Document.Hardware)
	}
}

// Figures of one workload answer for a deployment that is like them, if all are reproduced.
func TestSimulationFromFiguresOfDocument(t *testing.T) {
	const ref = "policy-storage/figure-7"
	d := deployment(t, "{shards: 4, routers: true, load: {workers: 192}, cache: 31.5GiB, records: 25M}")
	s, err := SimulatePublished(ref, &d, record.Tool{})
	if err != nil {
		t.Fatal(err)
	}
	held := true
	for _, c := range s.Checks {
		held = held && c.Holds
	}
	if (s.Load != nil) != held || s.Load != nil && math.Abs(s.Load.Rate/122_000-1) > 0.03 {
		t.Errorf("%q, %+v", refusal(s), s.Load)
	}
	d.Shards = 8
	if s, err := SimulatePublished(ref, &d, record.Tool{}); err != nil || s.Load != nil || held &&
		!strings.Contains(refusal(s), "4 data servers, and the deployment has 8") {
		t.Errorf("8 data servers: %q, %v", refusal(s), err)
	}
	if _, err := SimulatePublished("write-concern", nil, record.Tool{}); err == nil || !strings.Contains(err.Error(), "data-servers") {
		t.Errorf("a document without hardware: %v", err)
	}
	far := setup{workers: 100, members: 1, router: true}
	like := setup{workers: 32, members: 1, router: true}
	if err := far.near([]setup{like, like}, "figures"); err == nil {
		t.Error("three times the load is not refused")
	}
}

// The mean value analysis that finds the times is near to the simulation that they are for.
func TestMeansOfSimulation(t *testing.T) {
	r, err := openReference("policy-storage")
	if err != nil {
		t.Fatal(err)
	}
	r.collect(&record.Simulation{})
	r.times = times{Router: 100e3, Rest: 300e3, Page: 5e6, Sync: 3e6, Commit: 50e3, Holding: 1}
	var figures []*stated
	for i := range r.stated {
		figures = append(figures, &r.stated[i])
	}
	for i, x := range r.simulated(figures) {
		if f := figures[i]; math.Abs(x/r.meanOf(f, &r.times)-1) > 0.15 {
			t.Errorf("%s %s %s: %.4g simulated, %.4g by mean value analysis", f.sweep, f.level, f.metric, x, r.meanOf(f, &r.times))
		}
	}
}
