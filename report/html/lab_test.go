package html

import (
	"bytes"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/report"
	"github.com/plimsoll-bench/plimsoll/report/chart"
	"github.com/plimsoll-bench/plimsoll/report/recordtest"
)

// The hosts of a lab stand side by side in one chart for each resource, with what happened marked in it, and not among
// the other machines once more.
func TestLabOfARun(t *testing.T) {
	o := small()
	o.OnLab = true
	page := pageOf(t, openAll(t, run(t, o))...)
	for _, want := range []string{
		`<section id="lab"`, "CPU used (processor cores) of lab three", "the load", "fault: power-off of host1", "promotion: rs0-2 is the primary",
		"bytes behind the primary", "primary → unknown", "on → off", "healthy → degraded", "<h3>Hosts</h3>", "<h3>One operation on the hosts</h3>",
		"plimsoll lab up /dev/stdin", "tolerate: 1", "Lab</dt>", "replica set of 3 members (elect-fast)",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not have %q", want)
		}
	}
	for _, no := range []string{"Machine three/host1", "Member three/rs0-2"} {
		if strings.Contains(page, no) {
			t.Errorf("the page has %q", no)
		}
	}
	if strings.Contains(page, "REST service") {
		t.Error("a run without a service tells of one")
	}
	o.Service = true
	page = pageOf(t, openAll(t, run(t, o))...)
	for _, want := range []string{"a separate process, not part of client and servers", "All figures of the REST service", "REST service: mean", "48.0 MiB"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page of a run through a service does not have %q", want)
		}
	}
	if strings.Contains(pageOf(t, openAll(t, run(t, small()))...), `id="lab"`) {
		t.Error("a run without a lab has a section about one")
	}
}

// A lab by itself is a page of its own.
func TestPageOfALab(t *testing.T) {
	v := &report.LabView{Lab: recordtest.LabAfter("<script>harm()"),
		Usage: []record.LabUsage{{Host: "host1", CPUSeconds: 12.5, Memory: 1 << 30}}}
	for i := range 250 {
		v.Events = append(v.Events, record.LabEvent{Seq: int64(i + 1),
			Time: recordtest.Started.Add(time.Duration(i) * time.Second), Kind: "fault", Text: "\x1bpower-off"})
	}
	var b bytes.Buffer
	if err := WritePage(&b, report.PageOf(v, report.PageOptions{Tool: record.Tool{Name: "plimsoll"}})); err != nil {
		t.Fatal(err)
	}
	page := b.String()
	for _, want := range []string{"<h1>Lab three: up, ", "Events", "50 events before these", "1: power-off of host1", "Resources used since power-on", "12.5 s", "a disk of &lt;script&gt;harm() is missing"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not have %q", want)
		}
	}
	if strings.Contains(page, "<script>harm") || strings.Contains(page, "\x1b") {
		t.Error("the page has unescaped text of the lab")
	}
}

// Who looks at a lab for a while sees what its hosts used over that time; one that was powered on anew has a gap.
func TestLabOverTime(t *testing.T) {
	v := &report.LabView{Lab: recordtest.Lab("host1")}
	for i := range 5 {
		at := report.LabMoment{At: recordtest.Started.Add(time.Duration(2*i) * time.Second)}
		for k, host := range []string{"host2", "<b>host1"} {
			u := record.LabUsage{Host: host, CPUSeconds: float64(i * (k + 1)), Memory: int64(k+1) << 20,
				WriteBytes: int64(i) << 21}
			if i == 3 && k == 0 {
				u.CPUSeconds = 0.5
			}
			at.Usage = append(at.Usage, u)
		}
		v.Past = append(v.Past, at)
	}
	var got []float64
	for _, s := range report.PageOf(v, report.PageOptions{}).Sections {
		for _, part := range s.Parts {
			for _, f := range part.Figures {
				if c, ok := f.Chart.(*chart.XY); ok && c.ID == "lab-1" {
					got = c.Series[slices.IndexFunc(c.Series, func(x chart.Series) bool { return x.Name == "host2" })].Y
				}
			}
		}
	}
	if len(got) != 5 || !math.IsNaN(got[0]) || got[1] != 0.5 || !math.IsNaN(got[3]) || got[4] != 1.75 {
		t.Errorf("host2 used %v cores", got)
	}
	page := func() string {
		var b bytes.Buffer
		if err := WritePage(&b, report.PageOf(v, report.PageOptions{})); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	text := page()
	for _, want := range []string{"Hosts over time", "from 09:30:00 to 09:30:08 UTC", "CPU used (processor cores)", "Memory used (bytes)", "Written to disks (bytes per second)", "1.00 MiB/s"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page does not have %q", want)
		}
	}
	if strings.Contains(text, "Sent over the network") || strings.Contains(text, "<b>host1") {
		t.Error("the page has an empty chart, or unescaped text of the lab")
	}
	if v.Past = v.Past[:2]; strings.Contains(page(), "Hosts over time") {
		t.Error("lines are drawn of two moments")
	}
}
