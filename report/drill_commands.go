package report

import (
	"strings"

	"github.com/plimsoll-bench/plimsoll/record"
)

// drillCommands are the commands of the user that a round ran, with their results.
func drillCommands(r *record.DrillRound) Section {
	s := Section{Title: "commands", Table: &Table{
		Header: []string{"fault", "step", "started after the request", "took", "result", "command", "output"}, Left: 2, Last: 3}}
	for _, f := range r.Faults {
		for _, c := range f.Commands {
			after := "–" // the fault was not injected, so there is no request to count from
			if f.Injected > 0 {
				after = nanoseconds(float64(c.Asked - f.Injected))
			}
			s.Table.row(f.Fault.String()+" on "+f.Target, c.Step, after, nanoseconds(float64(c.Returned-c.Asked)), c.Result(),
				c.Command, strings.Join(strings.Fields(c.Output), " "))
		}
	}
	return s
}
