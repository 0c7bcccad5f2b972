package report

import (
	"strings"
	"testing"

	"github.com/plimsoll-bench/plimsoll/record"
)

func TestMainEffectsAreShown(t *testing.T) {
	s := sampleStudy()
	effect := record.Effect{Factor: "workers", Level: "32", Reference: "16", Method: record.EffectMatched, Pairs: 4,
		Least: num(1.05), Most: num(1.31),
		Comparison: record.Comparison{Metric: "throughput", Unit: "1/s", Higher: true, N: 6, NBase: 6, Pairs: 6,
			Ratio: num(1.2), Low: num(1.15), High: num(1.25),
			Adjusted: num(0.002), Verdict: record.Better, Note: "a note"}}
	silent := record.Effect{Factor: "engine", Level: "b", Reference: "a", Method: record.EffectMatched,
		Comparison: record.Comparison{Metric: "read.p99", Unit: "ns", Verdict: record.Inconclusive, Note: "no block"}}
	s.Effects = []record.Effect{effect, silent}
	table := tableOf(t, Of(s).Sections, "main effects")
	for i, want := range []string{"workers|32|16|ops/s|+20.0 %|[+15.0 %, +25.0 %]|0.002|6|+5.0 % to +31.0 % (4)|better [1]", "engine|b|a|read p99|-|-|-|0|-|~ [2]"} {
		if got := strings.Join(table.Rows[i], "|"); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	var b strings.Builder
	if err := Write(&b, s, "md"); err != nil || !strings.Contains(b.String(), "depends on the other factors") {
		t.Errorf("%v\n%s", err, b.String())
	}
	s.Effects[0].Method = record.EffectAdditive
	b.Reset()
	if err := Write(&b, s, "md"); err != nil || !strings.Contains(b.String(), "cannot separate interactions") {
		t.Errorf("%v\n%s", err, b.String())
	}
}
