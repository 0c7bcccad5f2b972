package html

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/report/html/recordtest"
)

// The hosts of a lab stand side by side in one chart for each resource, with what happened marked in it, and not among
// the other machines once more.
func TestLabOfARun(t *testing.T) {
	o := small()
	o.OnLab = true
	page := pageOf(t, openAll(t, run(t, o))...)
	for _, want := range []string{
		`<section id="lab"`, "CPU used (processor cores) of lab three", "the load", "fault: power-off of host1", "promotion: pg-2 is the primary",
		"bytes behind the primary", "primary → unknown", "on → off", "healthy → degraded", "Hosts of the lab", "One operation on the hosts of the lab",
		"plimsoll lab up /dev/stdin", "tolerate: 1", "Lab</dt>", "replica set of 3 members (elect-fast)",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not have %q", want)
		}
	}
	for _, no := range []string{"Machine three/host1", "Member three/pg-2"} {
		if strings.Contains(page, no) {
			t.Errorf("the page has %q", no)
		}
	}
	if strings.Contains(pageOf(t, openAll(t, run(t, small()))...), `id="lab"`) {
		t.Error("a run without a lab has a section about one")
	}
}

// A lab by itself is a page of its own.
func TestPageOfALab(t *testing.T) {
	v := LabView{Lab: recordtest.LabAfter("<script>harm()"), Usage: []record.LabUsage{{Host: "host1", CPUSeconds: 12.5, Memory: 1 << 30}}}
	for i := range 250 {
		v.Events = append(v.Events, record.LabEvent{Seq: int64(i + 1), Time: recordtest.Started.Add(time.Duration(i) * time.Second), Kind: "fault", Text: "\x1bpower-off"})
	}
	var b bytes.Buffer
	if err := WriteLab(&b, v, Options{Tool: record.Tool{Name: "plimsoll"}}); err != nil {
		t.Fatal(err)
	}
	page := b.String()
	for _, want := range []string{"<h1>Lab three</h1>", "What happened", "50 events before these", "1: power-off of host1", "What the hosts used", "12.5 s", "a disk of &lt;script&gt;harm() is missing"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not have %q", want)
		}
	}
	if strings.Contains(page, "<script>harm") || strings.Contains(page, "\x1b") {
		t.Error("the page has what a lab put into it")
	}
}
