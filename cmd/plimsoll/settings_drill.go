package main

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/plimsoll-bench/plimsoll/fault"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// drillSettings are the flags for the keys of a drill. Those of its run are the flags of a run.
var drillSettings = slicesOf(
	in(faultsGroup,
		form(key("fault", "faults", "fault or planned event `ACTION:PLACE`, for example kill:primary or rolling-restart"), "faults", true, readFaults).inBrief(),
		single(key("at", "faults", "`time` of the faults, after the start of the measured time, or workers=N (default: a quarter of --duration, at most 20s)"), "faults", readAt).inBrief(),
		single(key("for", "faults", "`time` until the faults are reverted (default: until the end of the measured time)"), "faults", readFor).inBrief(),
		key("repeat", "repeat", "number of rounds").atLeast1().inBrief(),
		key("jitter", "jitter", "longest random time by which the faults of a round are later (default 10s with --repeat; 0s for none)"),
		key("recovery", "recovery", "longest time until all members are in sync after the faults"),
		key("platform", "platform", "`file` that names the members of TARGET, and the commands that break them; or k8s:NAMESPACE/NAME").inBrief(),
		key("external", "external", "you cause the fault yourself; press Enter or send SIGUSR1 when it starts and when it ends").inBrief(),
		key("fresh", "fresh", "create a new lab for each round (needs a lab in SPEC)"),
		single(key("expect-loss", "expect.loss", "allowed `loss` of acknowledged writes: none, any, or window:TIME (default: what the write concern allows)"), "expect", readLoss).inBrief().from(oneOf(spec.LossNone, spec.LossAny, spec.LossWindow+":")),
		key("expect-outage", "expect.outage", "longest allowed outage of reads and of writes, a time such as 15s (default: any)").inBrief(),
		key("expect-no-errors", "expect.no_errors", "allow no failed operations: the fault must not be visible to clients"),
	),
	replaced(briefly(below("run", runSettings), "duration", "durability", "w"),
		key("workload", "run.workload.name", "`name` of the workload: ledger, where each write is identifiable, transactions, whose isolation is judged, or one of 'plimsoll workload list'"),
		key("rate", "run.load.rate", "planned operations per second, as in an open loop of 'plimsoll run' (default 500; none with --pace or --stage)").inBrief(),
		key("threads", "run.load.workers", "number of workers: the most operations in progress at once. Each is one writer of the ledger and one session").inBrief(),
		key("records", "run.workload.records", "number of documents, for workloads other than ledger"),
		key("out", "out", "`directory` of the record (default plimsoll-data/drills/TIME-NAME)").inBrief(),
	),
)

func readFaults(to *[]spec.Fault, texts []string) error {
	*to = nil
	for _, text := range texts {
		*to = append(*to, spec.Fault{Action: spec.ParseAction(text)})
	}
	return nil
}

// readAt parses the time of all faults, or the number of workers at which they begin.
func readAt(to *[]spec.Fault, text string) (err error) {
	var at spec.Fault
	if n, ok := strings.CutPrefix(text, "workers="); ok {
		at.AtWorkers, err = spec.ParseCount(n)
	} else {
		at.At, err = spec.ParseDuration(text)
	}
	for i := range *to {
		(*to)[i].At, (*to)[i].AtWorkers = at.At, at.AtWorkers
	}
	return err
}

func readFor(to *[]spec.Fault, text string) error {
	last, err := spec.ParseDuration(text)
	for i := range *to {
		(*to)[i].For = last
	}
	return err
}

// readLoss parses none, any or window:TIME.
func readLoss(e *spec.Expect, text string) (err error) {
	kind, window, given := strings.Cut(text, ":")
	if e.Loss, e.LossWindow = kind, 0; given {
		e.LossWindow, err = spec.ParseDuration(window)
	}
	return err
}

// faultWords completes a fault: an action, then its places in the lab that is the target.
func faultWords(env *environment) completer {
	return func(cmd *cobra.Command, args []string, word string) (words []string) {
		name, _, placed := strings.Cut(word, ":")
		if !placed {
			for _, a := range fault.Everywhere() {
				words = append(words, a.Name+map[bool]string{true: "", false: ":"}[a.Implied != ""])
			}
			return words
		}
		places := []string{"primary", "secondary", "random"}
		if len(args) > 0 {
			if of, ok := spec.LabOf(args[0]); ok {
				places = labParts(env, hostNames, memberNames, roleNames, diskNames)(cmd, []string{of})
			}
		}
		for _, place := range places {
			words = append(words, name+":"+place)
		}
		return words
	}
}
