package main

import (
	"slices"

	"github.com/plimsoll-bench/plimsoll/spec"
)

// capacitySettings are the flags for the keys of a capacity. Those of its run are the flags of a run, without those
// that the search decides.
var capacitySettings = slicesOf(
	in(searchGroup,
		key("within", "within", "`time` for everything except loading the data (default 5m, or 15m with events)").inBrief(),
		form(key("while", "while", "also search the line while this event lasts, `ACTION:PLACE` such as kill:secondary; none for no event (default on a lab of several members: kill:secondary and initial-sync:secondary)"), "while", true, readActions).inBrief(),
		key("must", "must", "`names` of the lines that count for the safe load (default all)").inBrief(),
		key("recovery", "recovery", "longest time until redundancy is back after an event"),
		key("platform", "platform", "`file` that names the members of TARGET, and the commands that break them"),
		key("yes-break-it", "yes_break_it", "break a deployment that is not a lab"),
		key("from", "search.from", "first rate, in operations per second (default: half of what a closed loop reaches)"),
		key("to", "search.to", "highest rate that is tried"),
		key("precision", "search.precision", "how far the ends of the interval may be from the answer"),
		key("step", "search.duration", "measured `time` of each step (default: from the percentile and --within)"),
	),
	replaced(without(below("run", runSettings), "rate", "arrivals", "pace", "late", "drop-after", "stage", "speed", "warmup", "duration",
		"operations", "via"),
		key("threads", "run.load.workers", "least number of workers; a step has as many as its rate needs"),
		key("slo", "objectives", "`objectives`, for example 'p99<20ms,errors<0.1%'").inBrief(),
		key("out", "out", "`directory` of the record (default plimsoll-data/capacities/TIME-NAME)").inBrief(),
		key("label", "labels", "label `name=value` that is stored with the result"),
	),
)

// without removes flags from a table.
func without(table []setting, flags ...string) []setting {
	return slices.DeleteFunc(slices.Clone(table), func(s setting) bool { return slices.Contains(flags, s.flag) })
}

func readActions(to *[]spec.Action, texts []string) error {
	*to = nil
	for _, text := range texts {
		*to = append(*to, spec.ParseAction(text))
	}
	return nil
}
