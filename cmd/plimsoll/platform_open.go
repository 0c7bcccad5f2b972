package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/internal/mongouri"
	"github.com/plimsoll-bench/plimsoll/platform"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
	"github.com/plimsoll-bench/plimsoll/store"
)

// openFaults are the faults in the journals that are injected into the deployment of an address now, as far as the
// journals can be read: those that a person may not expect.
func openFaults(env *environment, address string) (list []platform.Entry) {
	a, err := mongouri.Parse(address)
	if err != nil {
		return nil
	}
	dir, err := journals(env)
	if err != nil {
		return nil
	}
	left, _ := platform.Left(dir) // platform status says what cannot be read
	hosts := strings.Split(a.Hosts, ",")
	for i, h := range hosts {
		hosts[i] = mongouri.WithPort(h)
	}
	for _, e := range left {
		if slices.ContainsFunc(e.Addresses, func(address string) bool { return slices.Contains(hosts, address) }) {
			list = append(list, e)
		}
	}
	return list
}

// stillInjected says of a fault what it is, since when, and how it ends.
func stillInjected(env *environment, e platform.Entry) string {
	text := fmt.Sprintf("%s is still injected on %s, since %s (%s); ", e.Fault, e.Member, e.Since.Format(time.RFC3339),
		figure.Duration(env.now().Sub(e.Since).Round(time.Second)))
	switch {
	case e.Holder > 0:
		return fmt.Sprintf("%sits drill runs (process %d) and reverts it", text, e.Holder)
	case e.Watched && env.now().Before(e.Until):
		text += "its drill has ended, and its watchdog reverts it at " + e.Until.Format(time.TimeOnly)
	default:
		text += "its drill has ended, and nothing reverts it"
	}
	return text + ". Revert it now: plimsoll platform heal"
}

// warnOfFaults warns of the faults that are injected into a target.
func warnOfFaults(env *environment, target string) {
	for _, e := range openFaults(env, target) {
		fmt.Fprintln(env.stderr, "plimsoll: warning:", stillInjected(env, e))
	}
}

// refuseFaults refuses a drill of a deployment in which there is a fault.
func refuseFaults(env *environment, target string) error {
	list := openFaults(env, target)
	if len(list) == 0 {
		return nil
	}
	var texts []string
	for _, e := range list {
		texts = append(texts, stillInjected(env, e))
	}
	return usageError("nothing was done, because %s is broken already: %s. With --anyway, the drill begins in this state",
		store.Redact(target), strings.Join(texts, "; "))
}

// leftBehind are the faults of a killed drill that are still injected.
func leftBehind(env *environment, r record.Result) (list []platform.Entry) {
	d, ok := r.(*record.Drill)
	if !ok || d.Status != record.Killed {
		return nil
	}
	if _, lab := spec.LabOf(d.Specification.Run.Target); lab {
		return nil
	}
	before := func(e platform.Entry) bool { return e.Since.Before(d.Started) }
	return slices.DeleteFunc(openFaults(env, d.Specification.Run.Target), before)
}
