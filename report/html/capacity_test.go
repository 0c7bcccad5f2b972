package html

import (
	"bytes"
	"encoding/xml"
	"path/filepath"
	"strings"
	"testing"

	"github.com/plimsoll-bench/plimsoll/report"
	"github.com/plimsoll-bench/plimsoll/report/recordtest"
)

// capacityPage is the page of a capacity.
func capacityPage(t *testing.T, o recordtest.Capacity) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "capacity")
	if _, err := o.Write(dir); err != nil {
		t.Fatal(err)
	}
	s, err := report.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := Write(&b, []*report.Source{s}, report.PageOptions{}); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// The page of a capacity begins with the hull, whose title and description say the same as the picture.
func TestTheHullIsOnThePage(t *testing.T) {
	events := []string{"kill:secondary", "initial-sync:secondary"}
	page := capacityPage(t, recordtest.Capacity{Events: events, Now: 0.95})
	answer, _, _ := strings.Cut(page, "</section>")
	for _, want := range []string{`<figure id="hull"`, ">Load lines and the present load</title>", "A hull with load lines at their heights.",
		"all members up: 3,100 operations/s (95 %: 2,945 to 3,240)", "while initial-sync:secondary: 2,200 operations/s",
		"the safe load", "The water is at the present load: 1,100 ops/s, 50.0 % of the line", `class="disc"`, `class="water"`} {
		if !strings.Contains(answer, want) {
			t.Errorf("the first part of the page does not have %q", want)
		}
	}
	for _, want := range []string{"Latency over throughput, while kill:secondary", "7 steps", "Filled marks met the objectives",
		"At 4%/month the line is reached in 20 months", "capacity.yaml"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not have %q", want)
		}
	}
	dry := capacityPage(t, recordtest.Capacity{})
	if strings.Contains(dry, `class="water"`) || !strings.Contains(dry, `class="disc"`) || strings.Contains(dry, "present load</title>") {
		t.Error("without a present load there is water")
	}
	for _, p := range []string{page, dry} {
		if err := xml.Unmarshal([]byte(p[strings.Index(p, "<svg"):strings.Index(p, "</svg>")+6]), new(struct{})); err != nil {
			t.Error(err)
		}
	}
}
