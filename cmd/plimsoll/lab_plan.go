package main

import (
	"cmp"
	_ "embed"
	"fmt"
	"io"
	"strings"

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
	var asJSON bool
	var flags *labFlags
	cmd := &cobra.Command{
		Use:   "plan [SPEC.yaml]",
		Short: "Show the hosts, members and volumes of a lab; start nothing",
		Example: `  plimsoll lab plan --members 3
  plimsoll lab plan lab.yaml --json`,
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
			if asJSON {
				return printJSON(env.stdout, plannedLab(p))
			}
			return writeLabPlan(env.stdout, p)
		},
	}
	flags = addLabFlags(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the plan as JSON")
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

func writeLabPlan(w io.Writer, p lab.Planned) error {
	var b strings.Builder
	l := plannedLab(p)
	writeLabHead(&b, l)
	hosts := &table{left: 100}
	hosts.row("host", "role", "mode", "cores", "memory", "members")
	for _, h := range l.Hosts {
		hosts.row(h.Name, h.Role, h.Mode, limitText(h.Cores > 0, significant(h.Cores)),
			limitText(h.Memory > 0, formatBytes(h.Memory)),
			cmp.Or(strings.Join(h.Members, " "), "-"))
	}
	fmt.Fprintln(&b)
	hosts.write(&b, "")
	fmt.Fprintln(&b)
	writePlannedStorage(&b, p, len(l.Volumes))
	if l.Failover != "" {
		fmt.Fprintf(&b, "%-9s %s\n", "failover", wrap(l.Failover, textWidth-10, strings.Repeat(" ", 10)))
	}
	for i, n := range append(p.Layout.Notes, p.Storage.Notes...) {
		label := ""
		if i == 0 {
			label = "notes"
		}
		fmt.Fprintf(&b, "%-9s %s\n", label, wrap(report.Clean(n), textWidth-10, strings.Repeat(" ", 10)))
	}
	if p.Spec.Availability.Restart {
		fmt.Fprintf(&b, "%-9s members of a host that is down for %v are started on another host\n", "ha", p.Spec.Availability.RestartAfter)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func writePlannedStorage(b *strings.Builder, p lab.Planned, volumes int) {
	s := p.Storage
	fmt.Fprintf(b, "storage   %s of: %s\n", plural(volumes, "volume"), report.Clean(p.Spec.Storage.Policy()))
	fmt.Fprintf(b, "layout    %s", layoutText(s))
	if s.Disks > 0 {
		fmt.Fprintf(b, ", %s of %s", plural(s.Disks, "disk"), formatBytes(s.DiskSize))
		if s.Disks > 1 {
			fmt.Fprint(b, " each")
		}
		fmt.Fprintf(b, ", at most %s for all volumes", formatBytes(int64(volumes)*int64(s.Disks)*s.DiskSize))
	}
	if s.Checksum != "" {
		fmt.Fprintf(b, ", checksum %s", s.Checksum)
	}
	fmt.Fprintln(b)
	if s.Disks > 0 {
		fmt.Fprintf(b, "means     %s\n", wrap(meansText(s), textWidth-10, strings.Repeat(" ", 10)))
	}
}

// meansText describes how many disks of a layout may fail, and its costs.
func meansText(s record.LabLayout) string {
	survives := "no disk may fail"
	if s.Tolerates > 0 {
		survives = plural(s.Tolerates, "disk") + " may fail"
	}
	written := "each byte is written once"
	profile := strings.ReplaceAll(strings.ToLower(s.Profile), " ", "")
	switch {
	case strings.HasPrefix(profile, "raid5"), strings.HasPrefix(profile, "raid6"):
		parity := s.Tolerates
		written = fmt.Sprintf("each byte of full stripes is written %s times; a small write needs %d writes and %d reads",
			significant(s.WriteAmplification), 1+parity, 1+parity)
	case s.WriteAmplification > 1:
		written = fmt.Sprintf("each byte is written %s times", significant(s.WriteAmplification))
	}
	return fmt.Sprintf("%s; %s; %s of the raw space is usable", survives, written, formatPercent(s.RawShare))
}
