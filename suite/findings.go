package suite

import (
	"fmt"
	"strings"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
)

// findings are the reasons to take the whole with care. What is wrong with a part is said by its own record.
func findings(s *record.Suite) []measure.Finding {
	all := []measure.Finding{}
	add := func(id string, severity measure.Severity, format string, a ...any) {
		all = append(all, measure.Finding{ID: id, Severity: severity, Text: fmt.Sprintf(format, a...)})
	}
	switch s.Budget {
	case record.BudgetSmoke:
		add("smoke", measure.Warning, "this was fitted into a minute to show that it works: too little was measured to compare anything; --quick takes ten minutes, and without either it is done as it is written")
	case record.BudgetQuick:
		add("quick", measure.Note, "this was fitted into ten minutes: with fewer trials smaller differences are not found")
	case record.BudgetTime:
		add("time", measure.Note, "this was fitted into %v: with fewer trials smaller differences are not found", s.Limit)
	}
	if late := s.LateParts(); len(late) > 0 {
		add("ran-late", measure.Warning, "it took longer on this machine than was thought, so more was left out while it was under way, of %s: what exactly is listed as skipped for lack of time; a machine that has nothing else to do, or a longer --budget, does more", strings.Join(late, ", "))
	}
	var failed, left []string
	for _, p := range s.Parts {
		switch p.Status {
		case record.PartFailed:
			failed = append(failed, p.Name)
		case record.PartLeft:
			left = append(left, p.Name)
		}
	}
	if len(failed) > 0 {
		add("parts-failed", measure.Warning, "%s ended without a result: %s; plimsoll suite resume DIR --retry-failed does them again", figure.Plural(len(failed), "part"), strings.Join(failed, ", "))
	}
	if len(left) > 0 {
		add("parts-left", measure.Note, "%s left out: %s; the reasons are below what was scaled or left out", plural(len(left), "part was", "parts were"), strings.Join(left, ", "))
	}
	measure.SortFindings(all)
	return all
}

func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
