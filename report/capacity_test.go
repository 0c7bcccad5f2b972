package report

import (
	"bytes"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/report/recordtest"
)

func capacityMarkdown(t *testing.T, c *record.Capacity) string {
	t.Helper()
	var b bytes.Buffer
	if err := Write(&b, c, "md"); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

var capacityEvents = []string{"kill:secondary", "initial-sync:secondary"}

func TestCapacityMarkdown(t *testing.T) {
	golden(t, "capacity.md", func(w io.Writer, _ *record.Run) error {
		return Write(w, recordtest.Capacity{Events: capacityEvents, Now: 0.95}.Record(), "md")
	}, nil)
}

// The first line answers how much, the last names the next command.
func TestCapacityFirstAndLastLine(t *testing.T) {
	d := Of(recordtest.Capacity{}.Record())
	if want := "The deployment safely carries 2,945 operations/s with p99<20ms, errors<0.1% (its load line is at 3,100; 95 %: 2,945 to 3,240)"; d.Answer != want {
		t.Errorf("the answer is %q, want %q", d.Answer, want)
	}
	if !strings.Contains(d.Sure, "7 steps, 5 trials near the answer; the probability that the answer is wrong by more than 5 % is 4 %") {
		t.Errorf("the second line is %q", d.Sure)
	}
	if !strings.HasPrefix(d.Next.Command, "plimsoll capacity DIR --now") {
		t.Errorf("next is %+v", d.Next)
	}
	d = Of(recordtest.Capacity{Events: capacityEvents, Now: 0.3}.Record())
	if !strings.Contains(d.Answer, "while initial-sync:secondary; now 1,100 ops/s, 50.0 % of the line") {
		t.Errorf("the answer is %q", d.Answer)
	}
	if !strings.HasPrefix(d.Next.Command, "plimsoll workload record mongodb://db1/") {
		t.Errorf("with other operations, next is %+v", d.Next)
	}
	busy := recordtest.Capacity{}.Record()
	l := &busy.Lines[0]
	l.Status, l.Limit, l.Rate, l.Low, l.High = record.LineUndecided, record.LimitClient, 0, nil, nil
	if d = Of(busy); !strings.HasSuffix(d.Answer, "p99<20ms, errors<0.1%: the load generator was the limit") || d.Grade == Good {
		t.Errorf("a busy load generator: %s %q", d.Grade, d.Answer)
	}
	killed := recordtest.Capacity{Status: record.Killed}.Record()
	if d = Of(killed); d.Next.Command != "plimsoll capacity resume DIR" {
		t.Error("a killed search is not continued")
	}
}

// Each way in which a share of the line is uncertain has its words, and the same operations are not accused.
func TestPresentTrust(t *testing.T) {
	point := func(change func(*record.PresentLoad)) Point {
		p := recordtest.Capacity{Now: 0.95}.Record().Now
		change(p)
		return presentTrust(p)
	}
	half, little := 0.5, 0.08
	for _, x := range []struct {
		grade  Grade
		want   string
		change func(*record.PresentLoad)
	}{
		{Good, "the kinds of operations are those of the measured workload", func(*record.PresentLoad) {}},
		{Note, "8.00 % are of another kind", func(p *record.PresentLoad) { p.Apart = &little }},
		{Warn, "50.0 % are of another kind", func(p *record.PresentLoad) { p.Apart = &half }},
		{Warn, "the share may be higher", func(p *record.PresentLoad) { p.Apart, p.High = &little, nil }},
		{Warn, "plimsoll workload record", func(p *record.PresentLoad) { p.Apart = &half }},
		{Warn, "the share assumes the operations of the measured workload: gone", func(p *record.PresentLoad) { p.Problem = "gone" }},
		{Warn, "the share of the line is unknown: none", func(p *record.PresentLoad) { p.Problem, p.Share = "none", nil }},
		{Note, "there is no load", func(p *record.PresentLoad) { p.Apart = nil }},
	} {
		if got := point(x.change); got.Grade != x.grade || !strings.Contains(got.Text, x.want) {
			t.Errorf("%s: %+v", x.want, got)
		}
	}
}

func TestPresentLoadWords(t *testing.T) {
	c := recordtest.Capacity{Now: 0.95}.Record()
	p := c.Now
	p.Unread, p.Restarted = []string{"db3:27017: connection refused"}, []string{"db2:27017"}
	p.PerOperation, p.ReachedAt = 1.5, nil
	text := capacityMarkdown(t, c)
	for _, want := range []string{"At least 1,100 ops/s", "not read, so its load is missing: db3:27017: connection refused",
		"db2:27017 was restarted during the reading", "so the line is 4,650 of them", "not reached within a hundred years",
		"other commands 444/s, reads of the oplog by other members 330/s"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in\n%s", want, text)
		}
	}
	above := 1.2
	p.Share = &above
	if d := Of(c); d.Grade != Warn || !slices.ContainsFunc(d.Findings, func(p Point) bool {
		return strings.Contains(p.Text, "above the load line")
	}) {
		t.Errorf("a load above the line is %s, with %v", d.Grade, d.Findings)
	}
	if got := presentGrowth(p); got != "The load is at the line now." {
		t.Errorf("growth: %q", got)
	}
	p.Share, p.High = p.Low, nil
	at := p.From.Add(40 * 24 * time.Hour)
	p.ReachedAt, p.ReachedEarly = &at, nil
	if got := presentGrowth(p); !strings.Contains(got, "in 40 days") || !strings.Contains(got, "or earlier") {
		t.Errorf("growth: %q", got)
	}
}

// Met and missed steps are in order of the rate, apart from each other.
func TestLineCurve(t *testing.T) {
	c := recordtest.Capacity{}.Record()
	f := lineCurve(c, &c.Lines[0], "line-1")
	if about := f.Chart.About(); !strings.Contains(about.Description, "3 met, 3 missed, 1 undecided") {
		t.Errorf("%+v", about)
	}
	c.Lines[0].Steps = c.Lines[0].Steps[:1]
	if f := lineCurve(c, &c.Lines[0], "line-1"); f != nil {
		t.Error("a single step has a curve")
	}
}

func TestCapacityCSV(t *testing.T) {
	var b bytes.Buffer
	if err := Write(&b, recordtest.Capacity{Events: capacityEvents}.Record(), "csv"); err != nil {
		t.Fatal(err)
	}
	if lines := strings.Split(strings.TrimSpace(b.String()), "\n"); len(lines) != 22 || !strings.HasPrefix(lines[1], "all members up,1,ramp,1550,") {
		t.Errorf("%d lines, the second is %q", len(lines), lines[1])
	}
}

// A line that is not as sure as its precision is no good answer, and its first screen has the reason.
func TestCapacityWithoutItsConfidence(t *testing.T) {
	c := recordtest.Capacity{}.Record()
	if d := Of(c); d.Grade != Good || len(d.Short) > 0 {
		t.Errorf("a line that is sure: %s, %v", d.Grade, d.Short)
	}
	wrong, why := 0.36, "all members up: the line is wrong by more than 5 % with a probability of 36 %"
	c.Lines[0].Wrong = &wrong
	c.Validity = append(c.Validity, measure.Finding{ID: "line-doubtful", Severity: measure.Warning, Text: why + ". Search longer."})
	d := Of(c)
	if d.Grade != Warn || len(d.Short) != 1 || d.Short[0].Text != why || !strings.Contains(d.Sure, "is 36 %; time 290 s, planned 300 s") {
		t.Errorf("%s, %+v, %q", d.Grade, d.Short, d.Sure)
	}
}

// No answer that is wrong by more than its precision with more than 5 % is good, whatever the record's findings are,
// and the probability is in the first screen.
func TestCapacityIsGoodOnlyIfSure(t *testing.T) {
	for percent := range 101 {
		for _, events := range [][]string{nil, capacityEvents} {
			c := recordtest.Capacity{Events: events}.Record()
			l := c.SafeLine()
			*l.Wrong = float64(percent) / 100
			d, sure := Of(c), percent <= 5
			if (d.Grade == Good) != sure || strings.HasPrefix(d.Sure, "valid; ") != sure ||
				(d.Next.Command == "plimsoll capacity resume DIR") == sure {
				t.Errorf("%d %%: %s, %q, next %q", percent, d.Grade, d.Sure, d.Next.Command)
			}
			if l.Counts = false; len(events) == 0 || percent < 100 {
				continue
			}
			if c.FindSafe(); Of(c).Grade != Good {
				t.Errorf("a line that does not count makes the answer %s", Of(c).Grade)
			}
		}
	}
}

// A line that counts and holds no rate is the answer, with its reason. One that does not count is not.
func TestCapacityWithALineWithoutRate(t *testing.T) {
	c := recordtest.Capacity{Events: capacityEvents}.Record()
	l := c.Line("kill:secondary")
	l.Status, l.Rate, l.Low, l.High, l.Reason = record.LineNone, 0, nil, nil, "acknowledged writes were lost"
	c.FindSafe()
	d := Of(c)
	if d.Answer != "The deployment does not hold p99<20ms, errors<0.1% at any rate that was tried while kill:secondary; with all members up "+
		"3,100 operations/s (95 %: 2,945 to 3,240)" || d.Grade != Warn || len(d.Short) != 1 ||
		d.Short[0].Text != "kill:secondary: acknowledged writes were lost" {
		t.Errorf("%s %q %+v", d.Grade, d.Answer, d.Short)
	}
	single, several := linesSection(recordtest.Capacity{}.Record()).Table.Header, d.Summary.Header
	if got := strings.Join(single, ", "); got != "load line, ops/s, 95 % interval, limit" || slices.Contains(several, "counts") {
		t.Errorf("without events, the columns are %s; with events %q", got, several)
	}
	l.Counts = false
	c.FindSafe()
	if d = Of(c); !slices.Contains(d.Summary.Header, "counts") {
		t.Errorf("with a line that does not count, the columns are %q", d.Summary.Header)
	}
	if d = Of(c); !strings.Contains(d.Answer, "safely carries 2,090 operations/s") || len(d.Short) > 0 {
		t.Errorf("%q %+v", d.Answer, d.Short)
	}
}
