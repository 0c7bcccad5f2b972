package html

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/report"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// The sentences about a run are those of the terminal, word by word; a test of the command compares them.

// Headline says what was loaded with what.
func Headline(r *record.Run) string {
	target := r.Target.Address
	if r.Target.Kind != "embedded" && r.Target.Kind != "null" {
		target += " (" + strings.TrimSpace(r.Target.Kind+" "+r.Target.Version)
		if r.Target.Topology != "" {
			target += ", " + r.Target.Topology
		}
		target += ")"
	}
	return fmt.Sprintf("workload %s on %s", workloadName(r.Specification.Workload), target)
}

func workloadName(w spec.Workload) string {
	name := w.Name
	if w.Mode == "ycsb" && !strings.HasPrefix(name, "ycsb") {
		name = "ycsb-" + name
	}
	var list []string
	for _, k := range slices.Sorted(maps.Keys(w.Params)) {
		list = append(list, k+"="+w.Params[k])
	}
	if len(list) > 0 {
		name += " (" + strings.Join(list, ", ") + ")"
	}
	return name
}

// Verdict says whether the objectives hold, and whether the result can be believed.
func Verdict(r *record.Run) string { return report.RunVerdict(r) }

// Load says how the load was made.
func Load(r *record.Run, p *record.PhaseResult) string {
	l := r.Specification.Load
	workers := figure.Plural(p.Workers, "worker")
	if n := len(r.Clients); n > 0 {
		workers += fmt.Sprintf(" in %d load processes", n)
	}
	var how string
	switch {
	case l.Open() && l.Rate > 0:
		how = fmt.Sprintf("open loop of %s/s, %s arrivals, up to %s", figure.Rate(float64(l.Rate)), l.Arrivals, workers)
	case l.Open():
		how = fmt.Sprintf("open loop, %s arrivals, up to %s", l.Arrivals, workers)
	case l.Pace > 0:
		how = fmt.Sprintf("%s, %s/s each", workers, figure.Rate(float64(l.Pace)))
	default:
		how = "closed loop of " + workers
	}
	if n := len(l.Stages); n > 0 {
		how += ", " + figure.Plural(n, "stage")
	}
	how += ", measured for " + seconds(p.Seconds)
	if l.Warmup > 0 {
		how += " after " + l.Warmup.String() + " of warm-up"
	}
	return how + ", seed " + strconv.FormatUint(r.Specification.Workload.Seed, 10)
}

// Achieved says how much succeeded, and of how much where there was a schedule.
func Achieved(p *record.PhaseResult) string {
	if p.Offered > 0 {
		return fmt.Sprintf("%s of %s ok/s offered (%s)", figure.Rate(p.Rates.Achieved), figure.Rate(p.Rates.Offered), figure.Percent(p.Rates.Achieved/p.Rates.Offered))
	}
	return figure.Rate(p.Rates.Achieved) + " ok/s"
}

// Attempted says how much was tried and did not succeed; empty where all did.
func Attempted(p *record.PhaseResult) string {
	if p.Rates.Attempted <= 0 || p.Counts.Bad() == 0 {
		return ""
	}
	return fmt.Sprintf("%s/s, of which %s/s failed and %s/s indeterminate", figure.Rate(p.Rates.Attempted), figure.Rate(p.Rates.Failed), figure.Rate(p.Rates.Indeterminate))
}

// Durability says what writes were asked to wait for, and what the server's own default is where nothing was asked.
func Durability(r *record.Run) string {
	d := r.Specification.Durability
	asked := d.Asked()
	var parts []string
	switch {
	case d.Name != "":
		parts = append(parts, d.Name+" ("+strings.Join(asked, ", ")+")")
	case len(asked) > 0:
		parts = append(parts, asked...)
	default:
		text := "as the address or the server says"
		if w := r.Target.Settings["defaultWriteConcern.w"]; r.Target.Level != "" {
			text = "that of the lab's servers for " + r.Target.Level
		} else if w != "" { // MongoDB 4.4 and later say so
			text += " (the server's default is w: " + w + ")"
		}
		parts = append(parts, text)
	}
	if d.ReadConcern != "" {
		parts = append(parts, "read concern "+d.ReadConcern)
	}
	if d.ReadPreference != "" {
		parts = append(parts, "read from "+d.ReadPreference)
	}
	if client := r.ClientSettings["client"]; client != "in-process" && client != "" {
		parts = append(parts, "client "+client)
	}
	return strings.Join(parts, ", ")
}

// Data says what was there to be read.
func Data(r *record.Run) string {
	f := r.Fill
	if f == nil {
		return "-"
	}
	if r.Target.Kind == "null" || strings.HasPrefix(r.Target.Address, "null:") {
		return "none; the target stores nothing"
	}
	text := figure.Count(f.Records) + " records"
	switch {
	case f.Skipped:
		text += ", taken as they were (" + figure.Count(f.Counted) + " documents)"
	case f.Inserted > 0:
		text += fmt.Sprintf(", %s loaded in %s (%s/s)", figure.Count(f.Inserted), seconds(f.Seconds), figure.Rate(ratio(float64(f.Inserted), f.Seconds)))
	default:
		text += ", already loaded (" + figure.Count(f.Counted) + " documents)"
	}
	return text
}

// Machine says where the load was made.
func Machine(e record.Environment) string {
	var parts []string
	if e.Host != "" {
		parts = append(parts, e.Host)
	}
	if e.CPU != "" {
		parts = append(parts, e.CPU)
	}
	parts = append(parts, figure.Significant(e.Cores)+" of "+figure.Plural(e.Threads, "processor thread"))
	if e.MemoryBytes > 0 {
		parts = append(parts, figure.Bytes(int64(e.MemoryBytes))+" of memory")
	}
	for _, s := range []string{e.Distro, strings.TrimSpace(e.OS + " " + e.Kernel)} {
		if s != "" {
			parts = append(parts, s)
		}
	}
	if e.Virtual != "" {
		parts = append(parts, "in "+e.Virtual)
	}
	return strings.Join(parts, ", ")
}

// Version says which program made a record.
func Version(t record.Tool) string {
	text := strings.TrimSpace(t.Name + " " + t.Version)
	if t.Commit != "" {
		text += " (" + t.Commit[:min(12, len(t.Commit))]
		if t.Modified {
			text += ", with changes"
		}
		text += ")"
	}
	return text
}
