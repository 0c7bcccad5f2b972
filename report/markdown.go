package report

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// Markdown writes one run for a pull request or a page of documentation: what it is worth, what was asked and
// achieved, the operations with response and service time, what went wrong, and what it takes to repeat it.
func Markdown(w io.Writer, r *record.Run) error {
	return markdown(w, runTitle(r), runSections(r))
}

func runTitle(r *record.Run) string {
	name := r.Specification.Workload.Name
	if r.Specification.Workload.Mode == "ycsb" && !strings.HasPrefix(name, "ycsb") {
		name = "ycsb-" + name
	}
	software := strings.TrimSpace(r.Target.Kind + " " + r.Target.Version)
	if r.Target.Topology != "" {
		software += ", " + r.Target.Topology
	}
	title := "workload " + name + " on " + r.Target.Address
	if software != "" {
		title += " (" + software + ")"
	}
	return title
}

func runSections(r *record.Run) []Section {
	first := Section{Lines: []string{"verdict: " + RunVerdict(r)}}
	if r.Problem != "" {
		first.Lines = append(first.Lines, "problem: "+r.Problem)
	}
	p := r.Phase("measure")
	if p == nil {
		first.Lines = append(first.Lines, "nothing was measured")
		return appendFilled([]Section{first}, findingsSection(r.Validity), conditions(r))
	}
	first.Lines = append(first.Lines, achievedLine(p))
	sections := []Section{runObjectives(r), findingsSection(r.Validity), operations(r, p), failures(p)}
	if r.Lab != nil {
		sections = append(sections, LabSections(r.Lab, r.LabAfter, r.Series)...)
	}
	return appendFilled([]Section{first}, append(sections, conditions(r))...)
}

func achievedLine(p *record.PhaseResult) string {
	text := fmt.Sprintf("achieved %s ok/s in %s with %s", figure.Rate(p.Rates.Achieved), figure.Duration(time.Duration(p.Seconds*1e9)), figure.Plural(p.Workers, "worker"))
	if p.Offered > 0 {
		text += fmt.Sprintf(", of %s/s offered", figure.Rate(p.Rates.Offered))
	}
	if p.Counts.Bad() > 0 {
		text += fmt.Sprintf("; %s/s failed, %s/s indeterminate", figure.Rate(p.Rates.Failed), figure.Rate(p.Rates.Indeterminate))
	}
	return text
}

func runObjectives(r *record.Run) Section {
	s := Section{Title: "objectives", Table: &Table{Header: []string{"", "objective", "measured"}, Left: 2}}
	for _, o := range r.Objectives {
		mark, got := "✗ missed", ""
		switch {
		case o.Unknown:
			mark, got = "? unknown", o.Why
		case o.Met:
			mark = "✓ met"
		}
		if o.Measured != nil {
			got = figure.Value(*o.Measured, o.Unit)
		}
		s.Table.row(mark, o.Objective, got)
	}
	return s
}

// operations is the table of the operation classes, response time first.
func operations(r *record.Run, p *record.PhaseResult) Section {
	s := Section{Title: "operations", Table: &Table{Header: []string{"operation", "time", "count", "ok/s", "p50", "p90", "p99", "p99.9", "max", "mean"}, Left: 2}}
	if r.Scheduled {
		s.Lines = []string{"response: from when an operation was due to its answer, what users feel; service: from sending it"}
	}
	for _, c := range p.Classes {
		name, count, rate := c.Name, figure.Count(c.Counts.Succeeded), figure.Rate(c.Rate)
		if c.Part {
			name += " (part)"
		}
		if r.Scheduled && !c.Part {
			s.Table.row(append([]string{name, "response", count, rate}, latencyCells(c.Response)...)...)
			name, count, rate = "", "", ""
		}
		s.Table.row(append([]string{name, "service", count, rate}, latencyCells(c.Service)...)...)
	}
	return s
}

func latencyCells(l *record.Latency) []string {
	if l == nil {
		return []string{"-", "-", "-", "-", "-", "-"}
	}
	var cells []string
	for _, q := range []*int64{l.P50, l.P90, l.P99, l.P999} {
		if q == nil {
			cells = append(cells, "-")
			continue
		}
		cells = append(cells, figure.Duration(time.Duration(*q)))
	}
	return append(cells, figure.Duration(time.Duration(l.Max)), figure.Duration(time.Duration(l.Mean)))
}

func failures(p *record.PhaseResult) Section {
	s := Section{Title: "not ok", Table: &Table{Header: []string{"operation", "outcome", "reason", "count", "for example"}, Left: 3}}
	for _, f := range p.Failures {
		reason := f.Reason
		if f.Code != 0 || f.CodeName != "" {
			reason += fmt.Sprintf(" %d %s", f.Code, f.CodeName)
		}
		s.Table.row(f.Class, f.Outcome, strings.TrimSpace(reason), figure.Count(f.Count), f.Example)
	}
	return s
}

// conditions is what somebody needs who wants to repeat the run or doubts it.
func conditions(r *record.Run) Section {
	s := Section{Title: "conditions", Long: true, Table: &Table{Header: []string{"what", "value"}, Left: 2}}
	add := func(what, value string) {
		if value != "" {
			s.Table.row(what, value)
		}
	}
	if !r.Started.IsZero() {
		add("started", r.Started.UTC().Format(time.RFC3339))
	}
	add("command", strings.Join(r.Command, " "))
	add("workload", workloadText(r.Specification.Workload))
	add("durability", durabilityText(r))
	if r.Target.Level != "" {
		add("level of the lab's servers", r.Target.Level)
	}
	add("client", r.Specification.Client)
	if p := r.Phase("measure"); p != nil && p.Service != nil {
		add("REST service", fmt.Sprintf("%s of CPU per operation, %s in all, %s of memory at most", nanoseconds(p.Service.CPUPerOperation),
			nanoseconds(p.Service.CPUSeconds*1e9), figure.Bytes(p.Service.MemoryBytes)))
	}
	if r.Fill != nil {
		add("data", figure.Count(r.Fill.Records)+" records")
	}
	for _, key := range slices.Sorted(maps.Keys(r.Target.Settings)) {
		add("target: "+key, r.Target.Settings[key])
	}
	e := r.Environment
	add("processor", e.CPU)
	if e.Cores > 0 {
		add("cores available", figure.Significant(e.Cores))
	}
	if e.MemoryBytes > 0 {
		add("memory", figure.Bytes(int64(e.MemoryBytes)))
	}
	add("system", strings.TrimSpace(e.OS+" "+e.Arch+" "+e.Kernel+" "+e.Distro))
	add("tool", strings.TrimSpace(r.Tool.Name+" "+r.Tool.Version+" "+r.Tool.Commit))
	return s
}

func workloadText(w spec.Workload) string {
	text := w.Name + ", seed " + strconv.FormatUint(w.Seed, 10)
	for _, key := range slices.Sorted(maps.Keys(w.Params)) {
		text += ", " + key + "=" + w.Params[key]
	}
	return text
}

// durabilityText says what writes were asked to wait for, and what the server does where nothing was asked for.
func durabilityText(r *record.Run) string {
	d := r.Specification.Durability
	var parts []string
	for _, p := range [][2]string{{"", d.Name}, {"w: ", d.W}, {"read concern ", d.ReadConcern}, {"read from ", d.ReadPreference}} {
		if p[1] != "" {
			parts = append(parts, p[0]+p[1])
		}
	}
	if d.Journal != nil {
		parts = append(parts, "j: "+strconv.FormatBool(*d.Journal))
	}
	if len(parts) == 0 && r.Target.Level != "" {
		parts = append(parts, "that of the lab's servers for "+r.Target.Level)
	}
	if len(parts) == 0 {
		parts = append(parts, "as the address or the server says")
	}
	if w := r.Target.Settings["defaultWriteConcern.w"]; w != "" && d.Name == "" && d.W == "" {
		parts = append(parts, "the server's default is w: "+w)
	}
	return strings.Join(parts, ", ")
}
