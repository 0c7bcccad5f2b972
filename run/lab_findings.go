package run

import (
	"fmt"
	"strings"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
)

// The limits beyond which something about a lab is worth a warning.
const (
	// sharedTooMuch is the share of this machine's cores that lab and load may use together: beyond it they wait for
	// each other, and what is measured is the machine.
	sharedTooMuch = 0.8
	// throttledTooMuch is how many cores' worth of time a host may wait at its limit before it is said.
	throttledTooMuch = 0.05
	// A member that is further behind in the end than a second of a busy primary did not keep up.
	behindTooLong  = 2 * time.Second
	behindTooMuch  = 16 << 20
	mostNamedInOne = 6
)

// findings are the reasons to doubt a result of a lab. cores are those of this machine.
func (t *labTarget) findings(cores float64) []measure.Finding {
	if t == nil {
		return nil
	}
	var list []measure.Finding
	add := func(id string, severity measure.Severity, format string, a ...any) {
		list = append(list, measure.Finding{ID: id, Severity: severity, Text: fmt.Sprintf(format, a...)})
	}
	if t.problem != "" {
		add("lab-lost", measure.Warning, "lab %s could not be asked how it stands in the end: %s", t.name, t.problem)
	}
	if faults := t.broken(); len(faults) > 0 {
		add("lab-fault", measure.Warning, "something in lab %s was broken while it was measured (%s), so the figures are not those of a whole one",
			t.name, few(faults))
	}
	if changes := t.changes(); len(changes) > 0 {
		add("lab-changed", measure.Warning, "lab %s is another one in the end than before the run: %s", t.name, few(changes))
	}
	if behind := t.behind(); len(behind) > 0 {
		add("lab-lag", measure.Warning, "in the end %s: writes were acknowledged faster than they were copied", few(behind))
	}
	if t.address.Level != "" {
		add("lab-level", measure.Note, "durability is that of the lab's servers for %s: %s; write concerns of the client change nothing there",
			t.address.Level, t.address.Means)
	}
	list = append(list, t.shared(cores)...)
	return append(list, t.throttled()...)
}

// few joins a list, cut where it is long.
func few(list []string) string {
	if n := len(list); n > mostNamedInOne {
		return strings.Join(list[:mostNamedInOne], "; ") + fmt.Sprintf("; and %d more", n-mostNamedInOne)
	}
	return strings.Join(list, "; ")
}

// broken lists the faults that were active at any time of the run.
func (t *labTarget) broken() []string {
	var list []string
	if t.before != nil {
		for _, f := range t.before.Faults {
			list = append(list, f.Action+" of "+f.Target+" before it began")
		}
	}
	return append(list, t.faults...)
}

// changes lists in what the lab differs from how it was.
func (t *labTarget) changes() []string {
	if t.before == nil || t.after == nil {
		return nil
	}
	var list []string
	compare := func(what, before, after string) {
		if before != after {
			list = append(list, fmt.Sprintf("%s was %s and is %s", what, orNothing(before), orNothing(after)))
		}
	}
	compare("the lab", t.before.State, t.after.State)
	hosts := map[string]record.LabHost{}
	for _, h := range t.after.Hosts {
		hosts[h.Name] = h
	}
	for _, h := range t.before.Hosts {
		compare("host "+h.Name, h.State, hosts[h.Name].State)
	}
	members := map[string]record.LabMember{}
	for _, m := range t.after.Members {
		members[m.Name] = m
	}
	for _, m := range t.before.Members {
		now := members[m.Name]
		compare(m.Name, strings.TrimSpace(m.State+" "+m.Role), strings.TrimSpace(now.State+" "+now.Role))
		compare("the host of "+m.Name, m.Host, now.Host)
	}
	volumes := map[string]string{}
	for _, v := range t.after.Volumes {
		volumes[v.Name] = v.Health
	}
	for _, v := range t.before.Volumes {
		compare("volume "+v.Name, v.Health, volumes[v.Name])
	}
	return list
}

func orNothing(s string) string {
	if s == "" {
		return "not there"
	}
	return s
}

// behind lists the members that are far behind in the end.
func (t *labTarget) behind() []string {
	if t.after == nil {
		return nil
	}
	var list []string
	for _, m := range t.after.Members {
		var by []string
		if m.LagSeconds != nil && *m.LagSeconds > behindTooLong.Seconds() {
			by = append(by, figure.Duration(time.Duration(*m.LagSeconds*1e9)))
		}
		if m.LagBytes != nil && *m.LagBytes > behindTooMuch {
			by = append(by, figure.Bytes(*m.LagBytes))
		}
		if len(by) > 0 {
			list = append(list, m.Name+" was "+strings.Join(by, " and ")+" behind")
		}
	}
	return list
}

// mean returns the mean of a series over the measured time.
func (t *labTarget) mean(source, name string) (float64, bool) {
	for _, s := range t.series {
		if s.Source == source && s.Name == name {
			return s.Mean, true
		}
	}
	return 0, false
}

// used is how many cores the hosts of the lab used together.
func (t *labTarget) used() (cores float64, known bool) {
	for _, s := range t.series {
		if strings.HasPrefix(s.Source, "host:"+t.name+"/") && s.Name == "cpu.used" {
			cores += s.Mean
			known = true
		}
	}
	return cores, known
}

// shared says that the load and what it loads share the cores of this machine, and how much of them they used.
func (t *labTarget) shared(cores float64) []measure.Finding {
	lab, known := t.used()
	load, knownLoad := t.mean("client", "cpu.used")
	if !known || !knownLoad || cores <= 0 {
		return []measure.Finding{{ID: "shared-machine", Severity: measure.Note,
			Text: fmt.Sprintf("lab %s and the load share the cores of this machine; how much each used is not known", t.name)}}
	}
	share, limit := (lab+load)/cores, sharedTooMuch
	f := measure.Finding{ID: "shared-machine", Severity: measure.Note, Value: &share, Limit: &limit, Unit: measure.UnitShare}
	f.Text = fmt.Sprintf("lab %s and the load share this machine: of its %s cores the hosts of the lab used %s and the load %s",
		t.name, figure.Significant(cores), figure.Significant(lab), figure.Significant(load))
	f.Text += t.byServer()
	if share > limit {
		f.Severity = measure.Warning
		f.Text += "; they waited for each other, so with cores of its own the lab would carry more"
	}
	return []measure.Finding{f}
}

// throttled names the hosts that ran into their limit of cores, which is what a study of cores wants to see.
func (t *labTarget) throttled() []measure.Finding {
	if t.before == nil {
		return nil
	}
	var list []string
	for _, h := range t.before.Hosts {
		source := "host:" + t.name + "/" + h.Name
		waited, _ := t.mean(source, "cpu.throttled")
		used, known := t.mean(source, "cpu.used")
		if known && h.Cores > 0 && waited > throttledTooMuch {
			list = append(list, fmt.Sprintf("%s used %s of its %s cores and waited %s s in each second", h.Name,
				figure.Significant(used), figure.Significant(h.Cores), figure.Significant(waited)))
		}
	}
	if len(list) == 0 {
		return nil
	}
	return []measure.Finding{{ID: "host-limited", Severity: measure.Note, Text: "hosts of the lab were at their limit of cores: " + few(list)}}
}
