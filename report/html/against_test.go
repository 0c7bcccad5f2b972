package html

import (
	"bytes"
	"errors"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/report"
	"github.com/plimsoll-bench/plimsoll/report/recordtest"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// compared is a page of two runs that a comparer holds against each other.
func compared(t *testing.T, compare report.Comparer) string {
	t.Helper()
	other := small()
	other.Median, other.Seed = 3*time.Millisecond, 8
	other.Change = func(s *spec.Run) { s.Load.Workers = 40 }
	var b bytes.Buffer
	if err := Write(&b, openAll(t, run(t, small()), run(t, other)), report.PageOptions{Compare: compare}); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestSeveralRunsAreCompared(t *testing.T) {
	var got []report.Side
	page := compared(t, func(sides []report.Side) (*record.ComparisonReport, error) {
		got = sides
		var low, ratio, high = 1.1, 1.2, 1.3
		return &record.ComparisonReport{Head: record.Head{Kind: record.KindComparison},
			Sides:       []record.ComparisonSide{{Name: sides[0].Name, N: 6}, {Name: sides[1].Name, N: 6}},
			Differences: []record.Difference{{What: "load.workers", Values: []string{"16", "40"}, Severity: "note", Why: "more workers"}},
			Comparisons: []record.Comparison{{Configuration: sides[1].Name, Baseline: sides[0].Name, Metric: "throughput",
				Unit: "1/s", Higher: true,
				N: 6, NBase: 6, Ratio: &ratio, Low: &low, High: &high, Verdict: record.Better, Margin: 0.03}}}, nil
	})
	if len(got) != 2 || got[0].Name != "my-record (1)" || got[1].Name != "my-record (2)" || got[0].Dir == got[1].Dir {
		t.Fatalf("compared %+v", got)
	}
	at := 0
	for _, want := range []string{ // in this order
		"<h1>Comparison of my-record (2) with my-record (1)</h1>", "<dt>Throughput</dt><dd>+20.0 %", "[+10.0 %, +30.0 %] better, n = 6 + 6",
		`<figcaption>Ratios to the baseline`, `<figcaption>Percentile spectrum of read`, `<figcaption>Percentile spectrum of update`,
		"<td>load.workers</td><td>16</td><td>40</td>", "Side by side as measured.", "Disclosure of the comparison", "plimsoll compare ",
		"<td>≠</td><td>load.workers</td><td>16</td><td>16</td><td>40</td>", "<td></td><td>load.rate</td>", "<td></td><td>Processor</td>",
		"Exact command of my-record (1)", "Exact command of my-record (2)", "my-record (1): ", "my-record (1): result", "my-record (2): result",
	} {
		i := strings.Index(page[at:], want)
		if i < 0 {
			t.Errorf("%q is not at its place (elsewhere: %v)", want, strings.Contains(page, want))
			continue
		}
		at += i
	}
	seen := map[string]bool{}
	for _, m := range regexp.MustCompile(` id="([^"]*)"`).FindAllStringSubmatch(assetsOf.ReplaceAllString(page, ""), -1) {
		if seen[m[1]] {
			t.Errorf("duplicate id %q", m[1])
		}
		seen[m[1]] = true
	}
}

func TestWhatCannotBeComparedIsSaid(t *testing.T) {
	page := compared(t, func([]report.Side) (*record.ComparisonReport, error) {
		return nil, errors.New("the <b>sides</b> have nothing in common")
	})
	if !strings.Contains(page, "They cannot be compared: the &lt;b&gt;sides&lt;/b&gt; have nothing in common") || !strings.Contains(page, "Report of 2 records") {
		t.Error("the page does not explain the missing comparison")
	}
	var b bytes.Buffer
	mixed := func([]report.Side) (*record.ComparisonReport, error) {
		t.Error("a comparison was to be compared")
		return nil, nil
	}
	if err := Write(&b, openAll(t, run(t, small()), comparison(t)), report.PageOptions{Compare: mixed}); err != nil {
		t.Fatal(err)
	}
}

// Studies have no distributions of their own; their bases are laid beside each other.
func TestStudiesAreCompared(t *testing.T) {
	a, b := study(t, recordtest.Study{Workers: []int{8, 16}, Blocks: 2}),
		study(t, recordtest.Study{Workers: []int{8, 32}, Blocks: 2})
	var page bytes.Buffer
	compare := func(sides []report.Side) (*record.ComparisonReport, error) {
		return &record.ComparisonReport{Sides: []record.ComparisonSide{{Name: sides[0].Name}, {Name: sides[1].Name},
			{Name: "c"}}}, nil
	}
	if err := Write(&page, openAll(t, a, b), report.PageOptions{Compare: compare}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"Comparison of 3 sides", "<td>≠</td><td>factors</td>", "my-study (2): result"} {
		if !strings.Contains(page.String(), want) {
			t.Errorf("%q is missing", want)
		}
	}
}
