package report

import (
	"math"
	"strings"
	"testing"

	"github.com/plimsoll-bench/plimsoll/report/chart"
)

func TestFigureAsText(t *testing.T) {
	nan := math.NaN()
	f := &Figure{Chart: &chart.Rows{Rows: []chart.Row{
		{Group: "figure 2", Name: "32 threads", Published: 4, Value: 2, Low: 1.5, High: 3, Text: "same direction"},
		{Group: "figure 2", Name: "a name that is longer than the column of names", Published: 0.5, Value: 0.5, Low: nan, High: nan, Text: "agrees"},
	}}}
	want := []string{
		"figure 2",
		"  32 threads                                      |       =====●========    ◇ same direction",
		"  a name that is longer than the co… ●            |                           agrees",
		"                                     ×0.5                                  ×4",
	}
	got := f.Lines()
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
