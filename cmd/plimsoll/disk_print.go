package main

import "github.com/plimsoll-bench/plimsoll/record"

// showProbe prints the record of a probe again.
func showProbe(env *environment, dir, format string) error {
	p, err := record.OpenProbe(dir)
	if err != nil {
		return withExit(exitUsage, err)
	}
	if err := probeForms(p).print(env.stdout, format); err != nil {
		return err
	}
	return verdictOfProbe(p)
}
