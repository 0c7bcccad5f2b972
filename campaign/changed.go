package campaign

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/measure"
)

// Doubts are the IDs of the findings of [Session.Doubts].
var Doubts = []string{"tool-changed", "machine-changed", "journal-damaged"}

// Doubts finds sessions with other versions of plimsoll or on other machines, and a damaged journal. jobs is the plural
// noun of the jobs.
func (s *Session[R, J]) Doubts(jobs string) (all []measure.Finding) {
	add := func(id string, severity measure.Severity, format string, args ...any) {
		all = append(all, measure.Finding{ID: id, Severity: severity, Text: fmt.Sprintf(format, args...)})
	}
	var tools, machines []string
	for _, s := range s.Sessions {
		tool := s.Tool.Version
		if s.Tool.Commit != "" {
			tool += " " + s.Tool.Commit[:min(12, len(s.Tool.Commit))]
		}
		if tool != "" && !slices.Contains(tools, tool) {
			tools = append(tools, tool)
		}
		machine := fmt.Sprintf("%s with %s cores of %s", s.Host, figure.Significant(s.Cores), cmp.Or(s.CPU, "an unknown processor"))
		if s.Host+s.CPU != "" && !slices.Contains(machines, machine) {
			machines = append(machines, machine)
		}
	}
	if len(tools) > 1 {
		add("tool-changed", measure.Warning, "%s were run by different versions of plimsoll (%s), which may be the cause of "+
			"differences", jobs, strings.Join(tools, ", "))
	}
	if len(machines) > 1 {
		add("machine-changed", measure.Warning, "%s were run on different machines (%s), which may be the cause of "+
			"differences", jobs, strings.Join(machines, ", "))
	}
	if s.Unreadable > 0 {
		add("journal-damaged", measure.Note, "%s of the journal cannot be read, as after a power cut. Their contents were taken "+
			"from the records of the %s. Those without a complete record were repeated", figure.Plural(s.Unreadable, "line"), jobs)
	}
	return all
}
