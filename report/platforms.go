package report

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/record"
)

// vsphereFacts are the machines of the members, their hosts, datastores and clusters, with a fact for each.
func vsphereFacts(v *record.VSphere) (facts []Fact) {
	if v == nil {
		return nil
	}
	facts = append(facts, Fact{"vSphere", v.Version})
	for _, m := range v.Machines {
		parts := []string{fmt.Sprintf("%s is %s on %s, %s, %s", m.Member, m.Name, m.Host, figure.Plural(m.CPUs,
			"CPU"), figure.Bytes(m.Memory))}
		for _, d := range m.Disks {
			text := fmt.Sprintf("disk %s of %s on %s", d.Label, figure.Bytes(d.Bytes), d.Datastore)
			for _, policy := range d.Policies {
				text += ", policy " + policy
			}
			if d.Compliance != "" {
				text += ", " + d.Compliance
			}
			parts = append(parts, text)
		}
		facts = append(facts, Fact{"machine", strings.Join(parts, "; ")})
	}
	for _, h := range v.Hosts {
		text := fmt.Sprintf("%s, %s, %s, %s, %s, %s", h.Name, h.Version, h.Model, h.CPU, figure.Plural(h.Cores,
			"core"), figure.Bytes(h.Memory))
		if h.Cluster != "" {
			text += ", in cluster " + h.Cluster
		}
		facts = append(facts, Fact{"host", text})
	}
	for _, d := range v.Datastores {
		facts = append(facts, Fact{"datastore", fmt.Sprintf("%s (%s), %s, %s free", d.Name, d.Type,
			figure.Bytes(d.Capacity), figure.Bytes(d.Free))})
	}
	for _, c := range v.Clusters {
		facts = append(facts, Fact{"cluster", c.Name + ": " + strings.Join(clusterSettings(c), ", ")})
	}
	for _, p := range v.Problems {
		facts = append(facts, Fact{"not read", p})
	}
	return facts
}

// clusterSettings are the settings that decide what a failure does.
func clusterSettings(c record.VSphereCluster) []string {
	word := func(name string, on bool, details ...string) string {
		if !on {
			return name + " off"
		}
		var said []string
		for _, d := range details {
			if d != "" {
				said = append(said, d)
			}
		}
		if len(said) == 0 {
			return name + " on"
		}
		return name + " on (" + strings.Join(said, ", ") + ")"
	}
	named := func(name, value string) string {
		if value == "" {
			return ""
		}
		return name + " " + value
	}
	admission := ""
	if c.AdmissionControl {
		admission = "admission control"
	}
	return []string{word("HA", c.HA, named("host monitoring", c.HostMonitoring), named("VM monitoring",
		c.MachineMonitoring), admission),
		word("DRS", c.DRS, c.Automation), word("vSAN", c.VSAN)}
}

// storageSection shows the storage policies that a study applied.
func storageSection(trials []record.Trial) Section {
	s := Section{ID: "storage", Title: "storage policies",
		Table: &Table{Header: []string{"#", "policy", "disks changed", "until compliance",
			"vSAN copied at most", "until copied", "rules"}, Left: 2, Last: 1}}
	for _, t := range executed(trials) {
		c := t.Storage
		if c == nil || c.Changed == 0 {
			continue
		}
		copied, until := "unknown: "+c.ResyncProblem, ""
		if r := c.Resync; r != nil {
			copied = fmt.Sprintf("%s, %s", figure.Plural(int(r.Objects), "object"), figure.Bytes(r.Bytes))
			until = seconds(r.Seconds)
		}
		s.Table.row(fmt.Sprint(t.Number), c.Policy, fmt.Sprintf("%d of %d", c.Changed, c.Disks),
			seconds(c.Seconds), copied, until,
			strings.Join(c.Rules, ", "))
	}
	if len(s.Table.Rows) == 0 {
		return Section{}
	}
	return s
}

// kubernetesFacts are the deployment and its pods, with a fact for each pod.
func kubernetesFacts(k *record.Kubernetes) (facts []Fact) {
	if k == nil {
		return nil
	}
	facts = append(facts, Fact{"Kubernetes", fmt.Sprintf("%s/%s (%s), %s", k.Namespace, k.Name, k.Kind,
		figure.Plural(len(k.Pods), "pod"))})
	for _, p := range k.Pods {
		text := p.Name + " on " + p.Node
		if p.Zone != "" {
			text += " in zone " + p.Zone
		}
		parts := []string{text}
		for _, v := range p.Volumes {
			text := fmt.Sprintf("volume %s of %s", v.Claim, v.Size)
			for _, more := range [][2]string{{"class", v.Class}, {"driver", v.Driver}} {
				if more[1] != "" {
					text += ", " + more[0] + " " + more[1]
				}
			}
			parts = append(parts, text)
		}
		for _, r := range []struct {
			name string
			of   map[string]string
		}{{"requests", p.Requests}, {"limits", p.Limits}} {
			var list []string
			for _, name := range slices.Sorted(maps.Keys(r.of)) {
				list = append(list, name+" "+r.of[name])
			}
			if len(list) > 0 {
				parts = append(parts, r.name+" "+strings.Join(list, ", "))
			}
		}
		facts = append(facts, Fact{"pod", strings.Join(parts, "; ")})
	}
	return facts
}
