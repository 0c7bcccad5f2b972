package main

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/plimsoll-bench/plimsoll/internal/permit"
)

// permits are what commands may do on behalf of the files and records that they are given. Commands of a group that is
// in the table have the permit of the group. A command that is not in the table may do nothing.
var permits = map[string]permit.Permit{
	"run":             permit.All,
	"ab":              permit.All,
	"capacity":        permit.All,
	"capacity resume": permit.All,
	"study run":       permit.All,
	"study resume":    permit.All,
	"suite run":       permit.All,
	"suite resume":    permit.All,
	"drill":           permit.All,
	"drill clean":     permit.All, // a port-forward is another program
	"disk":            permit.All,
	"ycsb":            permit.All,
	"ci":              permit.All,
	"calibrate":       permit.All,
	"doctor":          permit.All,
	"agent":           permit.All,
	"agent clean":     permit.Dial,
	"engine":          permit.All,
	"lab up":          permit.All,
	"lab list":        permit.Dial,
	"lab status":      permit.Dial,
	"lab connect":     permit.Execute | permit.Dial,
	"lab exec":        permit.Execute | permit.Dial,
	"lab logs":        permit.Dial,
	"lab fail":        permit.All,
	"lab revert":      permit.All,
	"lab repair":      permit.All,
	"lab down":        permit.All,
	"platform heal":   permit.All,
	"platform watch":  permit.All,
	"faultfs":         permit.All,
	"workload record": permit.Dial | permit.Read,
	clientCommand:     permit.All,
	personsCommand:    permit.All,
	"null-responder":  permit.All,
	"lab-supervisor":  permit.All,

	// These only plan, check, show or write examples.
	"study init":       permit.None,
	"study plan":       permit.None,
	"study schema":     permit.None,
	"study status":     permit.None,
	"suite plan":       permit.None,
	"suite schema":     permit.None,
	"suite status":     permit.None,
	"suite show":       permit.None,
	"lab plan":         permit.None,
	"lab init":         permit.None,
	"lab schema":       permit.None,
	"show":             permit.None,
	"report":           permit.None,
	"serve":            permit.None,
	"compare":          permit.None,
	"history":          permit.None,
	"size":             permit.None,
	"workload list":    permit.None,
	"workload init":    permit.None,
	"workload schema":  permit.None,
	"workload check":   permit.None,
	"workload show":    permit.None,
	"workload sample":  permit.None,
	"workload compare": permit.None,
	"agent manifest":   permit.None,
	"platform status":  permit.None,
	"faultfs ctl":      permit.None,
	"faultfs classes":  permit.None,
	"version":          permit.None,
	"man":              permit.None,
	"help":             permit.None,
	"completion":       permit.None,
}

// dryFlags are flags that take from the permit of their command. A dry run of a drill connects to the deployment,
// because it names the member that a fault would break.
var dryFlags = map[string]permit.Permit{"print-spec": permit.None, "dry-run": permit.Dial | permit.Read}

// permitOf returns what a command may do, with its flags. known is false if it is not in the table.
func permitOf(cmd *cobra.Command) (p permit.Permit, known bool) {
	for at := cmd; at.HasParent() && !known; at = at.Parent() {
		_, name, _ := strings.Cut(at.CommandPath(), " ")
		p, known = permits[name]
	}
	for name, rest := range dryFlags {
		if f := cmd.Flags().Lookup(name); f != nil && f.Value.String() == "true" {
			p &= rest
		}
	}
	return p, known
}

// prepare runs before each command: it sets the permit of the command, and checks its arguments.
func prepare(cmd *cobra.Command, args []string) error {
	p, _ := permitOf(cmd)
	cmd.SetContext(permit.With(cmd.Context(), p))
	return checkArguments(cmd, args)
}
