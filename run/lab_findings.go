package run

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
)

// Limits of the findings about a lab.
const (
	// maxShared is the share of this machine's cores that lab and load may use together. Beyond it they wait for each
	// other, and the machine is what is measured.
	maxShared    = 0.8
	maxThrottled = 0.05 // seconds in each second that a host waits at its limit of cores
	// A member with a larger lag at the end than a second of a busy primary did not keep up.
	maxLag      = 2 * time.Second
	maxLagBytes = 16 << 20
	maxNamed    = 6 // items of a list in one finding
)

// findings judges the lab of a run. cores are those of this machine.
func (t *labTarget) findings(cores float64) []measure.Finding {
	if t == nil {
		return nil
	}
	var list []measure.Finding
	add := func(id string, severity measure.Severity, format string, a ...any) {
		list = append(list, measure.Finding{ID: id, Severity: severity, Text: fmt.Sprintf(format, a...)})
	}
	if t.problem != "" {
		add("lab-lost", measure.Warning, "lab %s did not report its state at the end of the run: %s. Faults and lag at the end are unknown. "+
			"Check the lab with plimsoll lab status %[1]s.", t.name, t.problem)
	}
	if faults := t.broken(); len(faults) > 0 {
		add("lab-fault", measure.Warning, "lab %s had faults during the run: %s. The result is not that of a healthy lab. Revert the faults and "+
			"run again.", t.name, few(faults))
	}
	if len(t.killed) > 0 {
		add("out-of-memory", measure.Invalid, "a server of lab %s lost a process during the run: %s. The result is that of a server that "+
			"recovers. Give its hosts more memory (hosts.memory), or use fewer workers.", t.name, few(t.killed))
	}
	if changes := t.changes(); len(changes) > 0 {
		add("lab-changed", measure.Warning, "the state of lab %s changed during the run: %s. The result covers both states. Look for the "+
			"cause with plimsoll lab logs %[1]s.", t.name, few(changes))
	}
	if behind := t.behind(); len(behind) > 0 {
		add("lab-lag", measure.Warning, "at the end of the run %s. The primary acknowledged writes faster than the others applied them. Measure "+
			"longer, or offer a lower rate.", few(behind))
	}
	if t.address.Level != "" {
		add("lab-level", measure.Note, "the run used the lab's gateway for the durability level %s: %s. The write concern of the client has "+
			"no effect there. Choose the level with --durability.", t.address.Level, t.address.Means)
	}
	list = append(list, t.shared(cores)...)
	return append(list, t.throttled()...)
}

func few(list []string) string {
	if n := len(list); n > maxNamed {
		return strings.Join(list[:maxNamed], "; ") + fmt.Sprintf("; and %d more", n-maxNamed)
	}
	return strings.Join(list, "; ")
}

func (t *labTarget) broken() []string {
	var list []string
	if t.before != nil {
		for _, f := range t.before.Faults {
			list = append(list, f.Action+" of "+f.Target+" since before the run")
		}
	}
	return append(list, t.faults...)
}

func (t *labTarget) changes() []string {
	if t.before == nil || t.after == nil {
		return nil
	}
	var list []string
	compare := func(what, before, after string) {
		if before != after {
			list = append(list, fmt.Sprintf("%s was %s and is %s", what, cmp.Or(before, "not there"), cmp.Or(after, "not there")))
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

func (t *labTarget) behind() []string {
	if t.after == nil {
		return nil
	}
	var list []string
	for _, m := range t.after.Members {
		var by []string
		if m.LagSeconds != nil && *m.LagSeconds > maxLag.Seconds() {
			by = append(by, figure.Duration(time.Duration(*m.LagSeconds*1e9)))
		}
		if m.LagBytes != nil && *m.LagBytes > maxLagBytes {
			by = append(by, figure.Bytes(*m.LagBytes))
		}
		if len(by) > 0 {
			list = append(list, "the replication lag of "+m.Name+" was "+strings.Join(by, " and "))
		}
	}
	return list
}

// mean is the mean of a series over the measured time.
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

// shared notes how many of this machine's cores the lab and the load used, and warns if they waited for each other.
func (t *labTarget) shared(cores float64) []measure.Finding {
	lab, known := t.used()
	load, knownLoad := t.mean("client", "cpu.used")
	if !known || !knownLoad || cores <= 0 {
		return []measure.Finding{{ID: "shared-machine", Severity: measure.Note,
			Text: fmt.Sprintf("lab %s and the load share the cores of this machine, and their use is unknown. One may have slowed the other. "+
				"Use a separate machine for the load if the result must not depend on this.", t.name)}}
	}
	share, limit := (lab+load)/cores, maxShared
	f := measure.Finding{ID: "shared-machine", Severity: measure.Note, Value: &share, Limit: &limit, Unit: measure.UnitShare}
	f.Text = fmt.Sprintf("lab %s and the load share this machine. The hosts of the lab used %s of its %s cores and the load %s%s.",
		t.name, figure.Significant(lab), figure.Significant(cores), figure.Significant(load), t.byServer())
	if share > limit {
		f.Severity = measure.Warning
		f.Text += " They waited for each other. Use more cores; the lab would then have a higher throughput."
	}
	return []measure.Finding{f}
}

// throttled notes the hosts that reached their limit of cores, as hosts in a study of cores should.
func (t *labTarget) throttled() []measure.Finding {
	if t.before == nil {
		return nil
	}
	var list []string
	for _, h := range t.before.Hosts {
		source := "host:" + t.name + "/" + h.Name
		waited, _ := t.mean(source, "cpu.throttled")
		used, known := t.mean(source, "cpu.used")
		if known && h.Cores > 0 && waited > maxThrottled {
			list = append(list, fmt.Sprintf("%s used %s of its %s cores and waited %s s in each second", h.Name,
				figure.Significant(used), figure.Significant(h.Cores), figure.Significant(waited)))
		}
	}
	if len(list) == 0 {
		return nil
	}
	return []measure.Finding{{ID: "host-limited", Severity: measure.Note, Text: "hosts of the lab reached their limit of cores: " +
		few(list) + ". This limit may be what limits the result. Raise it to see."}}
}
