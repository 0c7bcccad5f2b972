package report

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/plimsoll-bench/plimsoll/record"
)

// effectsSection lists the main effects of the levels of combined factors, and says how they were estimated.
func effectsSection(list []record.Effect) Section {
	t := &Table{Header: []string{"factor", "level", "against", "metric", "change", "interval", "p", "blocks", "single pairs", "verdict"}, Left: 4, Last: 1}
	s := Section{ID: "effects", Title: "main effects", Table: t}
	for i := range list {
		e := &list[i]
		t.row(e.Factor, e.Level, e.Reference, heading(e.Metric), ChangeText(&e.Comparison), IntervalText(&e.Comparison),
			probability(e.Adjusted),
			strconv.Itoa(e.N), pairsText(e), strings.TrimSpace(VerdictText(e.Verdict)+" "+s.note(e.Note)))
	}
	if len(list) == 0 {
		return s
	}
	line := "mean change within blocks over all pairs of configurations that differ in this level only; if single pairs differ much, it depends on the other factors"
	if list[0].Method == record.EffectAdditive {
		line = "additive model of logarithms within blocks; a part of the grid cannot separate interactions of factors from main effects"
	}
	s.Lines = []string{line}
	return s
}

// pairsText says how far apart the changes of the single pairs of configurations are.
func pairsText(e *record.Effect) string {
	if e.Least == nil || e.Most == nil {
		return "-"
	}
	write := writeRatio(e.Least, e.Most)
	return fmt.Sprintf("%s to %s (%d)", write(*e.Least), write(*e.Most), e.Pairs)
}
