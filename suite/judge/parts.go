package judge

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/measure/stats"
	"github.com/plimsoll-bench/plimsoll/published"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
)

const (
	// noticed is the outage in nanoseconds that users notice: the tools of the documents report once a second.
	noticed = 1e9
	// once replaces the interval of a single measurement: 10 % up and down.
	once = 0.10
)

// levelSource makes a source of drills or probes that are one level each.
func (s *Suite) levelSource(parts []*Part, sweep *published.Sweep) source {
	t := source{margin: once}
	at := map[string]*Part{}
	for i := range sweep.Levels {
		name := sweep.Levels[i].Name
		for _, p := range parts {
			better := at[name] == nil || !at[name].measured() && p.measured() // it replaces one that was skipped
			if better && sweep.Level(s.levelIn(p, sweep)) == &sweep.Levels[i] {
				at[name] = p
			}
		}
		if p := at[name]; p != nil && p.measured() {
			t.levels = append(t.levels, name)
		}
	}
	t.measure = func(level, metric string) (*measurement, reason) {
		base, value := at[sweep.Baseline], at[level]
		for _, x := range []struct {
			name string
			part *Part
		}{{level, value}, {sweep.Baseline, base}} {
			if x.part == nil {
				return nil, reason{"no part is the level " + x.name, record.GapOther}
			}
			if !x.part.measured() {
				return nil, s.reason(x.part)
			}
		}
		m := value.against(base, metric)
		if m == nil {
			return nil, reason{fmt.Sprintf("%s or %s has no %s", value.Name, base.Name, metric), record.GapOther}
		}
		return m, reason{}
	}
	t.words = func(level string) finding {
		p := at[level]
		switch {
		case p == nil:
			return finding{agreement: record.NotMeasured, reason: reason{"no part is this level", record.GapOther}}
		case p.Drill == nil:
			return finding{agreement: record.NotMeasured, reason: s.reason(p)}
		}
		if slices.Contains(sweep.Metrics, lossMetric) {
			v, stated := sweep.Value(level, lossMetric)
			return lossFinding(p.Drill, v.Number/100, stated)
		}
		v, _ := sweep.Value(level, "outage")
		return drillFinding(p.Drill, v.Number > 0)
	}
	for _, name := range t.levels {
		if at[name].Drill != nil && slices.Contains(sweep.Metrics, "outage") { // said once
			t.notes = append(t.notes, record.SuiteNote{Part: at[name].Name, Level: name})
		}
	}
	return t
}

// measured reports whether a part has the record of a drill or probe.
func (p *Part) measured() bool { return p.Drill != nil || p.Probe != nil }

// levelIn returns the level of a sweep that a part measures: the one in the suite's file, or that of another figure
// that the part shows. For example, the output xfs is the level xfs, and md is the level "striped md".
func (s *Suite) levelIn(p *Part, sweep *published.Sweep) string {
	if sweep.Level(p.Level) != nil {
		return p.Level
	}
	for _, shown := range p.Shows {
		for i := range sweep.Levels {
			words := strings.Fields(sweep.Levels[i].Name)
			if len(words) > 0 && words[len(words)-1] == shown {
				return sweep.Levels[i].Name
			}
		}
	}
	return p.Level
}

// against returns the ratio of a part to another one in a metric, nil if one does not have the metric. Its interval is
// that of Welch over the rounds of both.
func (p *Part) against(base *Part, metric string) *measurement {
	values, bases := p.values(metric), base.values(metric)
	if len(values) == 0 || len(bases) == 0 || slices.Min(bases) <= 0 || slices.Min(values) <= 0 {
		return nil
	}
	m := &measurement{part: p.Name, n: min(len(values), len(bases))}
	r, _ := stats.UnpairedRatio(bases, values, 0.95)
	if m.ratio, m.low, m.high = r.Ratio, r.Low, r.High; metric == "members" { // counted, so exact
		m.low, m.high = r.Ratio, r.Ratio
	}
	switch {
	case p.Probe != nil:
		*m = onceMeasured(p.Name, m.ratio)
	case m.n < 2 && metric != "members":
		m.low, m.high = m.ratio, m.ratio
		m.verdict, m.note, m.single = record.Inconclusive, "one round of each does not show how much rounds differ", true
	default:
		m.verdict = verdictOf(m.low, m.high, 0)
	}
	return m
}

// onceMeasured is the ratio of two single measurements.
func onceMeasured(part string, ratio float64) measurement {
	m := measurement{part: part, ratio: ratio, low: ratio / (1 + once), high: ratio * (1 + once), n: 1,
		once: true, verdict: record.Better}
	switch {
	case math.Abs(math.Log(ratio)) <= math.Log1p(once):
		m.verdict = record.Equivalent
	case ratio < 1:
		m.verdict = record.Worse
	}
	return m
}

// values returns the values of a drill's rounds, or the best value of a probe.
func (p *Part) values(metric string) (list []float64) {
	if p.Probe != nil {
		best := 0.0
		for _, x := range rampSteps(p.Probe) {
			best = max(best, rampValue(x, metric))
		}
		return []float64{best}
	}
	if metric == "outage" && p.Drill.Outages != nil {
		return p.Drill.Outages.Values
	}
	for i := range p.Drill.Rounds {
		r := &p.Drill.Rounds[i]
		switch {
		case metric == "records" && r.Ledger != nil:
			list = append(list, float64(r.Ledger.Acknowledged))
		case metric == "members" && r.Members > 0:
			list = append(list, float64(r.Members))
		case metric == "cpu" && r.CPUSeconds > 0 && r.Ledger != nil && r.Ledger.Acknowledged > 0:
			list = append(list, r.CPUSeconds/float64(r.Ledger.Acknowledged))
		}
	}
	return list
}

// noticing counts the rounds of a drill in which users noticed the failure.
type noticing struct {
	n, of   int
	unknown string // why it is not known
	lost    string
}

func noticingOf(d *record.Drill) noticing {
	switch {
	case d.Outages == nil || len(d.Outages.Values) == 0:
		return noticing{unknown: "no round has a measured outage"}
	case !d.Struck():
		return noticing{unknown: "the fault was not effective in every round"}
	}
	x := noticing{of: len(d.Outages.Values), lost: LossText(d.Losses)}
	for _, outage := range d.Outages.Values {
		if outage >= noticed {
			x.n++
		}
	}
	return x
}

// String has no times, because next to those of the document they would be compared with them. The part's own section
// has them.
func (x noticing) String() string { return x.rounds() + "; " + x.lost }

func (x noticing) rounds() string {
	switch rounds := figure.Plural(x.of, "round"); x.n {
	case 0:
		return "not noticed in " + rounds
	case x.of:
		return "noticed in " + rounds
	default:
		return fmt.Sprintf("noticed in %d of %s", x.n, rounds)
	}
}

// Noticed says in how many rounds of a drill users noticed the failure; "" if that is not known.
func Noticed(d *record.Drill) string {
	x := noticingOf(d)
	if x.unknown != "" {
		return ""
	}
	return x.rounds()
}

// drillFinding compares whether users noticed a failure with what the document says.
func drillFinding(d *record.Drill, said bool) finding {
	x := noticingOf(d)
	switch {
	case x.unknown != "":
		return finding{agreement: record.Undecided, reason: reason{why: x.unknown}}
	case x.n > 0 && x.n < x.of:
		return finding{x.String(), record.Undecided, reason{why: "rounds differ"}}
	}
	words := map[bool]string{true: "the service was interrupted", false: "users noticed nothing"}
	if here := x.n > 0; here != said {
		return finding{x.String(), record.Disagrees, reason{why: "in the document " + words[said] + ", but here " + words[here]}}
	}
	return finding{x.String(), record.Agrees, reason{why: words[said] + ", in the document and here"}}
}

// rampSource makes a source of a probe whose numbers of threads are the levels of a sweep.
func (s *Suite) rampSource(p *Part, sweep *published.Sweep) source {
	t := source{part: p.Name, margin: once}
	steps := rampSteps(p.Probe)
	at := map[string]record.ProbeStep{}
	for i := range sweep.Levels {
		name := sweep.Levels[i].Name
		if threads := s.threadsOf(p, name); threads > 0 {
			if k := slices.IndexFunc(steps, func(x record.ProbeStep) bool { return x.Threads == threads }); k >= 0 {
				at[name] = steps[k]
				t.levels = append(t.levels, name)
			}
		}
	}
	t.measure = func(level, metric string) (*measurement, reason) {
		base, ok := at[sweep.Baseline]
		value, okValue := at[level]
		if !ok || !okValue {
			return nil, s.absent(p, sweep, level)
		}
		x, b := rampValue(value, metric), rampValue(base, metric)
		if x <= 0 || b <= 0 {
			return nil, reason{"the probe has no " + metric, record.GapOther}
		}
		m := onceMeasured(p.Name, x/b)
		return &m, reason{}
	}
	if len(steps) > 0 {
		t.notes = sentences(rampText(p, sweep, steps[0].Operation))
	}
	if text := s.devicesText(p, sweep, steps); text != "" {
		t.notes = append(t.notes, sentences(text)...)
	}
	return t
}

// rampSteps returns the steps of random access with increasing threads, mixed ones if there are any, as in the
// documents.
func rampSteps(p *record.Probe) []record.ProbeStep {
	all := p.ProfileSteps(spec.ProbeRandom)
	for _, op := range []string{"mixed", "read", "write"} {
		list := slices.DeleteFunc(slices.Clone(all), func(x record.ProbeStep) bool { return x.Operation != op })
		if len(list) > 0 {
			return list
		}
	}
	return nil
}

func rampValue(x record.ProbeStep, metric string) float64 {
	switch metric {
	case "throughput":
		return x.Rate
	case "bandwidth":
		return x.BytesRate
	}
	return 0
}

// threadsOf returns the threads of a level of the document here: if the list in the suite's file was scaled, by the
// place in it, otherwise the number itself.
func (s *Suite) threadsOf(p *Part, level string) int {
	n, err := strconv.Atoi(level)
	if err != nil {
		return 0
	}
	for _, spec := range s.Record.Specification.Parts {
		if spec.Name == p.Name && spec.Probe != nil && len(spec.Probe.Threads) == len(p.Probe.Specification.Ramp) {
			for i, threads := range spec.Probe.Threads {
				if int(threads) == n {
					return p.Probe.Specification.Ramp[i]
				}
			}
		}
	}
	return n
}

// rampText says from how many threads on more do not help, here and in the document, by the same rule.
func rampText(p *Part, sweep *published.Sweep, operation string) string {
	text := p.Name + ": "
	gain := once
	i := slices.IndexFunc(p.Probe.Ramps, func(r record.ProbeRamp) bool { return r.Operation == operation })
	switch {
	case i < 0:
		text += "the threads from which more do not help were not measured"
	case p.Probe.Ramps[i].Threads == 0:
		text += "more threads helped up to the largest number"
	default:
		text += NoMoreHelp(p.Probe.Ramps[i].Threads)
	}
	if i >= 0 && p.Probe.Ramps[i].Gain > 0 {
		gain = p.Probe.Ramps[i].Gain
	}
	return text + "; " + cmp.Or(publishedRamp(sweep, gain), "the document does not say") +
		". Each step was measured once, so its interval is taken as 10 % up and down"
}

// devicesText describes the load of the data's devices with the most threads, and the document's own iostat for the
// same output. It has shares and ratios only, because the devices differ. It is empty if no device was counted.
func (s *Suite) devicesText(p *Part, sweep *published.Sweep, steps []record.ProbeStep) string {
	if len(steps) == 0 {
		return ""
	}
	last := steps[len(steps)-1]
	var here []string
	for _, d := range last.Devices {
		leaf := slices.ContainsFunc(p.Probe.Storage.Devices, func(b record.ProbeBlock) bool {
			return b.Name == d.Name && b.Leaf
		})
		if !leaf || d.Reads <= 0 || d.Writes <= 0 {
			continue
		}
		text := deviceText(d.Name, d.Util, d.Reads, d.Writes, d.WriteKB)
		if d.FlushCount > 0 {
			text += ", " + figure.Significant(d.Flushes/d.Writes) + " flushes per write"
		}
		here = append(here, text)
	}
	if len(here) == 0 {
		return ""
	}
	text := fmt.Sprintf("%s, devices with %s: %s", p.Name, figure.Plural(last.Threads, "thread"), strings.Join(here, "; "))
	if there := s.publishedDevices(sweep); there != "" {
		text += ". In the document: " + there
	}
	return text
}

// deviceText has figures that do not depend on the speed of the device.
func deviceText(name string, busy, reads, writes, writtenKiB float64) string {
	return fmt.Sprintf("%s busy %s of the time, %s writes per read, %s KiB per write", name, figure.Percent(min(busy, 100)/100),
		figure.Significant(writes/reads), figure.Significant(writtenKiB/writes))
}

// publishedDevices describes the devices in the document for a sweep. The first word of their names is the sweep's ID.
func (s *Suite) publishedDevices(sweep *published.Sweep) string {
	const sector = 0.5 // KiB
	var list []string
	for _, devices := range s.Source.Sweeps {
		if !slices.Contains(devices.Metrics, "device.sectors.written") {
			continue
		}
		for i := range devices.Levels {
			l := &devices.Levels[i]
			of, name, _ := strings.Cut(l.Name, " ")
			if of == sweep.ID {
				v := func(metric string) float64 { return l.Values["device."+metric].Number }
				list = append(list, deviceText(name, v("busy"), v("reads"), v("writes"), sector*v("sectors.written")))
			}
		}
	}
	return strings.Join(list, "; ")
}

// publishedRamp finds the first number of threads in the document after which none gained the share gain.
func publishedRamp(sweep *published.Sweep, gain float64) string {
	var rates []float64
	var threads []int
	for i := range sweep.Levels {
		l := &sweep.Levels[i]
		if x, ok := l.Values["throughput"]; ok && l.Workers > 0 && (len(threads) == 0 || l.Workers > threads[len(threads)-1]) {
			rates, threads = append(rates, x.Number), append(threads, l.Workers)
		}
	}
	if end := record.RampEnd(rates, gain); end >= 0 && end < len(threads)-1 {
		return "in the document, more than " + figure.Plural(threads[end], "thread") + " did not help"
	}
	if len(sweep.Levels) > 1 {
		return "in the document, more threads helped up to the largest number"
	}
	return ""
}

// noteOf returns the note on a verdict. The note of an inconclusive one is its reason instead.
func noteOf(m *measurement) []string {
	if m.note == "" || m.verdict == record.Inconclusive {
		return nil
	}
	return []string{m.note}
}

// inPlaceOf says which probes of a figure were measured instead of others that were skipped, and why. For example, a
// btrfs stripe if the kernel has neither md nor LVM. In a ramp of threads any probe that shows the figure counts,
// otherwise one of the same level.
func (s *Suite) inPlaceOf(sweep *published.Sweep) (lines []string) {
	parts := s.showing(sweep)
	for _, p := range parts {
		if p.Kind != record.KindProbe || p.Status != record.PartLeft {
			continue
		}
		var in []string
		for _, q := range parts {
			sameLevel := sweep.Level(s.levelIn(q, sweep)) == sweep.Level(s.levelIn(p, sweep))
			if q.Probe != nil && (sweep.Path == "load.workers" || sameLevel) {
				in = append(in, q.Name)
			}
		}
		if len(in) > 0 {
			lines = append(lines, fmt.Sprintf("%s was measured instead of %s, which was skipped: %s",
				strings.Join(in, ", "), p.Name, cmp.Or(p.Problem, "reason not known")))
		}
	}
	return lines
}

// NoMoreHelp says above which number of threads throughput does not rise.
func NoMoreHelp(threads int) string {
	if threads == 1 {
		return "a second thread does not help"
	}
	return fmt.Sprintf("more than %d threads do not help", threads)
}
