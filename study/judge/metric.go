package judge

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/plimsoll-bench/plimsoll/internal/expression"
	"github.com/plimsoll-bench/plimsoll/internal/nearest"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// Metric is a figure of a run that can be compared.
type Metric struct {
	Name   string // as it is written: "throughput", "read.p99", "update.service.mean"
	Class  string // operation class, "" for all operations together
	Kind   string // of a time: "response" or "service"
	Figure string // "throughput", "errors", "mean", "p99", "cpu", …
	Unit   string // [measure.UnitRate], [measure.UnitTime] or [measure.UnitShare]
	Higher bool   // more is better
}

var (
	ofAll   = []string{"achieved", "dropped", "cpu"} // known for all operations together only
	figures = []string{"throughput", lineFigure, "errors", "not-found", "achieved", "dropped", "cpu", "mean", "max",
		"p50", "p90", "p95", "p99", "p99.9", "p99.99"}
)

var percentileForm = expression.New(`^(?:(.+)\.)?(p[0-9]+(?:\.[0-9]+)?)$`)

// ParseMetric reads the name of a metric: [class.][service.]figure. The error names the nearest figure.
func ParseMetric(name string) (Metric, error) {
	m := parseMetric(name)
	switch {
	case !slices.Contains(figures, m.Figure):
		return m, fmt.Errorf("unknown metric %q%s (known: %s, each also of an operation class, as in read.p99, and times "+
			"also of the service, as in read.service.p99)", name, nearest.DidYouMean(m.Figure, figures), strings.Join(figures, ", "))
	case m.Kind == "service" && m.Unit != measure.UnitTime:
		return m, fmt.Errorf("metric %q: %s is not a time, so it has no service", name, m.Figure)
	case m.Kind == "service" && m.Figure == "cpu":
		return m, fmt.Errorf("metric %q: cpu is what the hosts of a lab use for an operation, not a time of the service", name)
	case m.Class != "" && slices.Contains(ofAll, m.Figure):
		return m, fmt.Errorf("metric %q: %s is known for all operations together only", name, m.Figure)
	}
	return m, nil
}

// parseMetric parses a name without checking the figure.
func parseMetric(name string) Metric {
	m := Metric{Name: name, Kind: "response", Figure: name, Unit: measure.UnitTime}
	if parts := percentileForm().FindStringSubmatch(name); parts != nil {
		m.Class, m.Figure = parts[1], parts[2]
	} else if i := strings.LastIndexByte(name, '.'); i >= 0 {
		m.Class, m.Figure = name[:i], name[i+1:]
	}
	for _, kind := range []string{"service", "response"} {
		if m.Class == kind || strings.HasSuffix(m.Class, "."+kind) {
			m.Kind, m.Class = kind, strings.TrimSuffix(strings.TrimSuffix(m.Class, kind), ".")
			break
		}
	}
	switch m.Figure {
	case "throughput", lineFigure:
		m.Unit, m.Higher = measure.UnitRate, true
	case "achieved":
		m.Unit, m.Higher = measure.UnitShare, true
	case "errors", "not-found", "dropped":
		m.Unit = measure.UnitShare
	}
	return m
}

// ofObjective returns the name of the metric that an objective limits.
func ofObjective(o measure.Objective) string {
	figure := o.Metric
	if figure == "rate" {
		figure = "throughput"
	}
	if o.Kind == "service" {
		figure = "service." + figure
	}
	return below(o.Class, figure)
}

// Values returns the figures of the measured phase of a run by metric: operations per second, nanoseconds or shares.
// What is not known is absent: a percentile of too few operations, a missing class, everything if nothing was measured.
func Values(r *record.Run, metrics []string) map[string]float64 {
	values := map[string]float64{}
	p := r.Phase("measure")
	if p == nil || p.Seconds <= 0 {
		return values
	}
	for _, name := range metrics {
		if x, ok := parseMetric(name).of(r, p); ok {
			values[name] = x
		}
	}
	return values
}

// of returns the figure of a phase, if it has it.
func (m Metric) of(r *record.Run, p *record.PhaseResult) (float64, bool) {
	class := &p.All
	if m.Class != "" {
		if class = p.Class(m.Class); class == nil {
			return 0, false
		}
	}
	switch m.Figure {
	case "throughput":
		if m.Class == "" {
			return p.Rates.Achieved, true
		}
		return class.Rate, true
	case "achieved":
		return share(float64(p.Ended.Succeeded), float64(p.Offered))
	case lineFigure: // only a capacity has lines
		return 0, false
	case "cpu":
		return usedByHosts(r)
	}
	if m.Unit == measure.UnitShare {
		return m.share(r, p, class.Counts)
	}
	return m.time(r, class)
}

// share returns a share of the operations that were due.
func (m Metric) share(r *record.Run, p *record.PhaseResult, t measure.Tally) (float64, bool) {
	due := t.Attempted
	if m.Class == "" { // the class of operations that were never sent is not known
		t = p.Counts
		due = t.Attempted + p.Dropped + r.Course.Unsent
	}
	part := due - t.Succeeded
	switch m.Figure {
	case "not-found":
		part = t.NotFound
	case "dropped":
		part = p.Dropped
	}
	return share(float64(part), float64(due))
}

// usedByHosts returns the processor time in nanoseconds that all hosts of a lab used per successful operation, without
// the kernel's work for their disks, the load and a service in front of them.
func usedByHosts(r *record.Run) (float64, bool) {
	if r.Lab == nil {
		return 0, false
	}
	sum, known := 0.0, false
	for _, s := range r.Series {
		if strings.HasPrefix(s.Source, "host:"+r.Lab.Name+"/") && s.Name == "cpu.used" && s.PerOperation != nil {
			sum, known = sum+*s.PerOperation*1e9, true
		}
	}
	return sum, known
}

func share(part, whole float64) (float64, bool) {
	if whole <= 0 {
		return 0, false
	}
	return part / whole, true
}

// time returns a time of the operations that were due: see [measure.Due]. The mean is that of the answered ones.
func (m Metric) time(r *record.Run, class *record.ClassResult) (float64, bool) {
	l := m.latency(class)
	if l == nil || l.Count == 0 {
		return 0, false
	}
	switch m.Figure {
	case "mean":
		return l.Mean, true
	case "max":
		return float64(l.Max), l.Lost+l.Unclassed == 0
	}
	q, known := stated[m.Figure]
	if !known {
		return m.stated(r)
	}
	ns, reach := l.Quantile(q)
	return float64(ns), reach == measure.Stated || reach == measure.OneMoment // trials show how much it varies
}

func (m Metric) latency(class *record.ClassResult) *record.Latency {
	if m.Kind == "service" {
		return class.Service
	}
	return class.Response
}

// stated are the percentiles that a record has.
var stated = map[string]float64{"p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99, "p99.9": 0.999, "p99.99": 0.9999}

// NoAnswer returns the metrics of a run that have no answer, because operations that were due did not succeed: see
// [measure.Due]. Values has none of them but the mean, which is that of the answered operations.
func NoAnswer(r *record.Run, metrics []string) []string {
	var names []string
	p := r.Phase("measure")
	if p == nil {
		return nil
	}
	for _, name := range metrics {
		if m := parseMetric(name); m.Unit == measure.UnitTime && m.Figure != "cpu" && m.noAnswer(p) {
			names = append(names, name)
		}
	}
	return names
}

func (m Metric) noAnswer(p *record.PhaseResult) bool {
	class := &p.All
	if m.Class != "" {
		if class = p.Class(m.Class); class == nil {
			return false
		}
	}
	answered, lost := int64(0), class.Counts.Bad()
	if l := m.latency(class); l != nil {
		answered, lost = l.Count, l.Lost
	}
	if percent, ok := strings.CutPrefix(m.Figure, "p"); ok {
		x, err := strconv.ParseFloat(percent, 64)
		return err == nil && measure.HasNoAnswer(x/100, answered, lost)
	}
	return lost > 0
}

// stated finds a percentile that the record has only because of an objective.
func (m Metric) stated(r *record.Run) (float64, bool) {
	for _, o := range r.Objectives {
		parsed, err := measure.ParseObjectives(o.Objective)
		if err == nil && len(parsed) == 1 && ofObjective(parsed[0]) == m.Name && o.Measured != nil {
			return *o.Measured, true
		}
	}
	return 0, false
}

// Metrics returns the metrics to keep of a trial: those of the study, or else throughput, errors, and per operation
// class mean and p99 of the response time and errors. In addition those that its objectives limit or, if such a
// percentile is not known, the maximum, which may prove it.
func Metrics(asked spec.Study, r *record.Run) []string {
	names := slices.Clone(asked.Metrics)
	if len(names) == 0 {
		names = kept(classes(r))
	}
	for _, o := range objectives(asked) {
		if name := ofObjective(o); !slices.Contains(names, name) {
			names = append(names, name)
		}
		if bound := boundOf(o); bound != "" && !slices.Contains(names, bound) && needsBound(r, o) {
			names = append(names, bound)
		}
	}
	return names
}

// needsBound reports whether a run had too few operations for the percentile that an objective limits, so only the
// maximum may prove it.
func needsBound(r *record.Run, o measure.Objective) bool {
	values := Values(r, []string{ofObjective(o), boundOf(o)})
	_, stated := values[ofObjective(o)]
	_, bound := values[boundOf(o)]
	return !stated && bound
}

func defaults(classes []string) []string {
	names := []string{"throughput", "errors"}
	for _, c := range classes {
		names = append(names, c+".mean", c+".p99")
	}
	return names
}

// kept returns the defaults and the errors of each class, which are shown if there are any.
func kept(classes []string) []string {
	names := defaults(classes)
	for _, c := range classes {
		names = append(names, c+".errors")
	}
	return names
}

// classes returns the operation classes of the measured phase, without parts of operations.
func classes(r *record.Run) []string {
	var names []string
	if p := r.Phase("measure"); p != nil {
		for _, c := range p.Classes {
			if !c.Part {
				names = append(names, c.Name)
			}
		}
	}
	return names
}

// objectives returns those of a study and of its base run. Malformed ones cannot be in a stored specification.
func objectives(asked spec.Study) []measure.Objective {
	var list []measure.Objective
	for _, text := range slices.Concat(asked.Objectives, asked.Run.Objectives) {
		parsed, err := measure.ParseObjectives(text)
		if err != nil {
			continue
		}
		for _, o := range parsed {
			if !slices.ContainsFunc(list, func(have measure.Objective) bool { return have.Text == o.Text }) {
				list = append(list, o)
			}
		}
	}
	return list
}

// compared returns the metrics to compare, in order: the requested ones, or the usual ones that trials have.
func compared(asked []string, trials []map[string]float64) []Metric {
	names := asked
	if len(names) == 0 {
		names = found(trials)
	}
	var metrics []Metric
	for _, name := range names {
		if !slices.ContainsFunc(metrics, func(m Metric) bool { return m.Name == name }) {
			metrics = append(metrics, parseMetric(name))
		}
	}
	return metrics
}

// unstated returns the metrics that no trial has; none without trials.
func unstated(metrics []Metric, trials []map[string]float64) []string {
	if len(trials) == 0 {
		return nil
	}
	var names []string
	for _, m := range metrics {
		if !slices.ContainsFunc(trials, func(values map[string]float64) bool { _, ok := values[m.Name]; return ok }) {
			names = append(names, m.Name)
		}
	}
	return names
}

// found returns the usual metrics that some trial has. Errors of a class count only if there were any.
func found(trials []map[string]float64) []string {
	has, positive := map[string]bool{}, map[string]bool{}
	for _, values := range trials {
		for name, x := range values {
			has[name] = true
			if x > 0 {
				positive[name] = true
			}
		}
	}
	var names []string
	for _, name := range kept(classesOf(has)) {
		if m := parseMetric(name); has[name] && (m.Figure != "errors" || m.Class == "" || positive[name]) {
			names = append(names, name)
		}
	}
	lines := slices.DeleteFunc(slices.Collect(maps.Keys(has)), func(name string) bool {
		return parseMetric(name).Figure != lineFigure
	})
	slices.SortFunc(lines, func(a, b string) int { // that of all members up first
		return cmp.Or(cmp.Compare(len(parseMetric(a).Class), len(parseMetric(b).Class)), cmp.Compare(a, b))
	})
	return append(names, lines...)
}

// classesOf finds the operation classes among the names of metrics, in alphabetical order.
func classesOf(names map[string]bool) []string {
	found := map[string]bool{}
	for name := range names {
		if m := parseMetric(name); m.Class != "" && m.Kind == "response" {
			found[m.Class] = true
		}
	}
	return slices.Sorted(maps.Keys(found))
}
