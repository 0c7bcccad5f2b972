package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/plimsoll-bench/plimsoll/spec"
	"github.com/plimsoll-bench/plimsoll/ycsb"
)

// setProperty sets a parameter of the workload. Properties with which the client of YCSB sizes and drives a run are
// fields of the specification; the workload knows the others.
func setProperty(r *spec.Run, name, value string) (err error) {
	switch name {
	case "recordcount":
		r.Workload.Records, err = spec.ParseCount(value)
	case "operationcount":
		r.Load.Operations, err = spec.ParseCount(value)
	case "threadcount":
		r.Load.Workers, err = spec.ParseCount(value)
	case "maxexecutiontime":
		r.Load.Duration, err = spec.ParseDuration(value + "s")
	case "target":
		return fmt.Errorf("target is not supported here: use --rate (open loop), or --pace (rate of each thread)")
	default:
		if r.Workload.Params == nil {
			r.Workload.Params = map[string]string{}
		}
		r.Workload.Params[name] = value
	}
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// readProperties applies YCSB property files; later files override earlier ones. Properties of the client of YCSB (its
// measurements, output and databases) are ignored with a message.
func readProperties(env *environment, files []string, r *spec.Run) error {
	if len(files) == 0 {
		return nil
	}
	all := map[string]string{}
	for _, name := range files {
		props, note, err := ycsb.ReadFile(name)
		if err != nil {
			return ycsbExit(err)
		}
		if note != "" {
			fmt.Fprintln(env.stderr, "plimsoll:", note)
		}
		maps.Copy(all, props)
	}
	if r.Workload.Name == "" {
		r.Workload.Name = "core"
	}
	var left []string
	for _, name := range slices.Sorted(maps.Keys(all)) {
		switch {
		case name == "workload":
			if err := checkWorkloadClass(all[name]); err != nil {
				return err
			}
		case clientOnly(name):
			left = append(left, name)
		default:
			if err := setProperty(r, name, all[name]); err != nil {
				return withExit(exitUsage, err)
			}
		}
	}
	if len(left) > 0 {
		fmt.Fprintln(env.stderr, "plimsoll: these properties are ignored; only plimsoll ycsb supports them:", strings.Join(left, ", "))
	}
	return nil
}

// clientOnly reports whether a property is for the client of YCSB or for a database binding.
func clientOnly(name string) bool {
	switch name {
	case "recordcount", "operationcount", "threadcount", "maxexecutiontime", "target", "insertcount":
		return false
	}
	return ycsb.ForeignProperty(name)
}

// checkWorkloadClass accepts the new and the old Java name of CoreWorkload.
func checkWorkloadClass(class string) error {
	switch class {
	case "", "site.ycsb.workloads.CoreWorkload", "com.yahoo.ycsb.workloads.CoreWorkload":
		return nil
	}
	return usageError("workload: %s is not supported; the only class is YCSB's CoreWorkload", class)
}
