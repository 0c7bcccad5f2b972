package report

import (
	"strings"
	"testing"

	"github.com/plimsoll-bench/plimsoll/capacity/predict"
)

// The page shows the points of a document beside their predictions, and a form with its curves.
func TestBacktestOnAPage(t *testing.T) {
	factors, _, err := predict.Published("policy-storage/figure-6")
	if err != nil {
		t.Fatal(err)
	}
	section, ok := backtestSection(factors, "backtest")
	if !ok {
		t.Fatal("six levels are no backtest")
	}
	question := &Question{Base: 1000, Curves: []predict.Curve{{Factor: "workers", Model: "usl",
		Now: 8, NowText: "8", From: "1", To: "32", At: []float64{1, 32},
		Ratio: []float64{0.2, 2}, Low: []float64{0.1, 1.5}, Up: []float64{0.3, 2.5}}}}
	asked, err := question.JSON()
	if err != nil {
		t.Fatal(err)
	}
	text := section.Lead + asked
	for _, part := range section.Parts {
		for _, f := range part.Figures {
			text += f.Chart.About().Title + svg(f)
		}
	}
	for _, want := range []string{"8C+32GB", "Predicted (dots) and measured (diamonds)", "median error", `{"Base":1000`} {
		if !strings.Contains(text, want) {
			t.Errorf("the section lacks %q", want)
		}
	}
	if n := strings.Count(text, `class="pub`); n < 6 {
		t.Errorf("%d diamonds, want at least 6", n)
	}
	if _, ok := backtestSection([]predict.Factor{{Levels: factors[0].Levels[:3]}}, "x"); ok {
		t.Error("three levels are a backtest")
	}
}
