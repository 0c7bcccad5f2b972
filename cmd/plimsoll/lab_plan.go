package main

import (
	_ "embed"

	"github.com/spf13/cobra"

	"github.com/plimsoll-bench/plimsoll/lab"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/report"
)

// labTemplate is a lab with all keys; a test checks that.
//
//go:embed lab_template.yaml
var labTemplate []byte

func newLabInitCommand(env *environment) *cobra.Command {
	return newInitCommand(env, "lab", labTemplate, "plimsoll lab plan", `The example is a
replica set of three members on this machine's disk.`)
}

func newLabPlanCommand(env *environment) *cobra.Command {
	var format string
	var flags *labFlags
	cmd := &cobra.Command{
		Use:   "plan [SPEC.yaml]",
		Short: "Show the hosts, members and volumes of a lab; start nothing",
		Example: `  plimsoll lab plan --members 3
  plimsoll lab plan lab.yaml --format json`,
		Args: atMostOne("file"),
		RunE: func(cmd *cobra.Command, args []string) error {
			spec, err := flags.spec(env, args)
			if err != nil {
				return err
			}
			home, err := homeDir(env)
			if err != nil {
				return err
			}
			if err := flags.complete(cmd.Context(), home, &spec); err != nil {
				return err
			}
			p, err := lab.Plan(cmd.Context(), home, spec)
			if err != nil {
				return labError(flags.named(err))
			}
			return printResult(env.stdout, &report.LabView{Lab: plannedLab(p), Command: performing(env, "up")}, format)
		},
	}
	flags = addLabFlags(cmd)
	formatFlag(cmd.Flags(), &format, "plan", "text", "md", "json")
	return cmd
}

// plannedLab converts a plan to a lab with the state planned.
func plannedLab(p lab.Planned) record.Lab {
	l := record.Lab{SchemaVersion: record.SchemaVersion, Name: p.Spec.Name, State: "planned", Specification: p.Spec,
		Engine: p.Spec.Engine.Name, Version: p.Engine.Version, Notes: p.Layout.Notes, Failover: p.Layout.Failover,
		Hosts: []record.LabHost{}, Members: []record.LabMember{}}
	on := map[string][]string{}
	for _, m := range p.Layout.Members {
		on[m.Host] = append(on[m.Host], m.Name)
		l.Members = append(l.Members, record.LabMember{Name: m.Name, Kind: m.Kind, Set: m.Set, Host: m.Host, Role: m.Role,
			Durability: m.Durability})
		if m.Volume {
			l.Volumes = append(l.Volumes, record.LabVolume{Name: m.Name, Member: m.Name, Policy: p.Spec.Storage.Policy(),
				Layout: p.Storage, Capacity: int64(p.Spec.Storage.Size)})
		}
	}
	for _, h := range p.Layout.Hosts {
		l.Hosts = append(l.Hosts, record.LabHost{Name: h.Name, Role: h.Role, Mode: p.Spec.Hosts.Mode, Cores: h.Limits.Cores,
			Memory: h.Limits.Memory, Network: h.Limits.Network, Members: on[h.Name]})
	}
	return l
}
