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
		add("smoke", measure.Warning, "this suite was cut to one minute to show that it works. That is too short to compare anything. Use --quick for ten "+
			"minutes, or no flag for the complete suite")
	case record.BudgetQuick:
		add("quick", measure.Note, "this suite was cut to ten minutes. With fewer trials, small differences are not found")
	case record.BudgetTime:
		add("time", measure.Note, "this suite was cut to %v. With fewer trials, small differences are not found", s.Limit)
	}
	if late := s.LateParts(); len(late) > 0 {
		add("ran-late", measure.Warning, "this machine was slower than estimated, so more of %s was left out during the suite. See the list of what was left out "+
			"because of time. Use an idle machine or a longer --budget", strings.Join(late, ", "))
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
		add("parts-failed", measure.Warning, "%s ended without a result: %s. Repeat them with: plimsoll suite resume DIR --retry-failed", figure.Plural(len(failed), "part"), strings.Join(failed, ", "))
	}
	if len(left) > 0 {
		add("parts-left", measure.Note, "%s left out: %s. See the reasons under what was scaled or left out", plural(len(left), "part was", "parts were"), strings.Join(left, ", "))
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
