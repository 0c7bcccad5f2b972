package judge

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/published"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
)

const (
	// noticed is how long nothing may succeed before users notice: the tools of the documents look once a second.
	noticed = 1e9
	// once stands for an interval where a thing was measured once: a tenth up and down.
	once = 0.10
)

// levelTaker are drills or probes that are one level each.
func (s *Suite) levelTaker(parts []*Part, sweep *published.Sweep) taker {
	t := taker{margin: once}
	at := map[string]*Part{}
	for i := range sweep.Levels {
		name := sweep.Levels[i].Name
		for _, p := range parts {
			if sweep.Level(s.levelIn(p, sweep)) == &sweep.Levels[i] && (at[name] == nil || !at[name].measured() && p.measured()) {
				at[name] = p // one that was measured in the place of one that was left out
			}
		}
		if p := at[name]; p != nil && p.measured() {
			t.levels = append(t.levels, name)
		}
	}
	t.take = func(level, metric string) (*taken, lack) {
		base, value := at[sweep.Baseline], at[level]
		for _, x := range []struct {
			name string
			part *Part
		}{{level, value}, {sweep.Baseline, base}} {
			if x.part == nil {
				return nil, lack{"no part is the level " + x.name, record.GapOther}
			}
			if !x.part.measured() {
				return nil, s.lack(x.part)
			}
		}
		m := value.against(base, metric)
		if m == nil {
			return nil, lack{fmt.Sprintf("%s or %s has no %s", value.Name, base.Name, metric), record.GapOther}
		}
		return m, lack{}
	}
	t.words = func(level string) finding {
		p := at[level]
		switch {
		case p == nil:
			return finding{agreement: record.NotMeasured, lack: lack{"no part is this level", record.GapOther}}
		case p.Drill == nil:
			return finding{agreement: record.NotMeasured, lack: s.lack(p)}
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

// measured says whether a part has a record that is no study.
func (p *Part) measured() bool { return p.Drill != nil || p.Probe != nil }

// levelIn is the level of a sweep that a part is: the one that the suite says, or another figure that it shows and that
// belongs to one level: the output xfs is the level xfs, md the striped md.
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

// against is the ratio of a part to another one in a metric of a document, nil if one of them does not have it. With
// few rounds it has no confidence: its interval is from the least to the most that any two rounds give.
func (p *Part) against(base *Part, metric string) *taken {
	values, bases := p.values(metric), base.values(metric)
	if len(values) == 0 || len(bases) == 0 || slices.Min(bases) <= 0 || slices.Min(values) <= 0 {
		return nil
	}
	m := &taken{part: p.Name, ratio: measure.Median(values) / measure.Median(bases), low: slices.Min(values) / slices.Max(bases),
		high: slices.Max(values) / slices.Min(bases), n: min(len(values), len(bases))}
	switch {
	case metric == "members": // counted and not measured
		m.verdict = verdictOf(m.low, m.high, 0)
	case p.Probe != nil:
		*m = onceMeasured(p.Name, m.ratio)
	case m.n < 2:
		m.verdict, m.note, m.single = record.Inconclusive, "one round of each does not tell how far rounds differ", true
	default:
		m.verdict = verdictOf(m.low, m.high, 0)
	}
	return m
}

// onceMeasured is a ratio of two measurements that were made once.
func onceMeasured(part string, ratio float64) taken {
	m := taken{part: part, ratio: ratio, low: ratio / (1 + once), high: ratio * (1 + once), n: 1, verdict: record.Better}
	switch {
	case math.Abs(math.Log(ratio)) <= math.Log1p(once):
		m.verdict = record.Equivalent
	case ratio < 1:
		m.verdict = record.Worse
	}
	return m
}

// values are those of a drill's rounds, or the best that a probe reached.
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

// noticing is in how many rounds of a drill users noticed the failure.
type noticing struct {
	n, of int
	// unknown is why it cannot be told.
	unknown string
	lost    string
}

func noticingOf(d *record.Drill) noticing {
	switch {
	case d.Outages == nil || len(d.Outages.Values) == 0:
		return noticing{unknown: "no round tells how long nothing succeeded"}
	case !d.Struck():
		return noticing{unknown: "the failure did not come about in every round"}
	}
	x := noticing{of: len(d.Outages.Values), lost: LossText(d.Losses)}
	for _, outage := range d.Outages.Values {
		if outage >= noticed {
			x.n++
		}
	}
	return x
}

// String is what was noticed, and what was lost. It has no times: beside those of the document they would be read as
// equals, and the part's own section has them.
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

// Noticed says in how many rounds of a drill users noticed the failure; "" if that cannot be told.
func Noticed(d *record.Drill) string {
	x := noticingOf(d)
	if x.unknown != "" {
		return ""
	}
	return x.rounds()
}

// drillFinding says whether users noticed a failure, and whether that is as the document has it.
func drillFinding(d *record.Drill, said bool) finding {
	x := noticingOf(d)
	switch {
	case x.unknown != "":
		return finding{agreement: record.NotTold, lack: lack{why: x.unknown}}
	case x.n > 0 && x.n < x.of:
		return finding{x.String(), record.NotTold, lack{why: "rounds differ"}}
	}
	words := map[bool]string{true: "the service was interrupted", false: "nobody noticed it"}
	if here := x.n > 0; here != said {
		return finding{x.String(), record.Disagrees, lack{why: "in the document " + words[said] + ", here " + words[here]}}
	}
	return finding{x.String(), record.Agrees, lack{why: words[said] + ", in the document and here"}}
}

// rampTaker is a probe whose numbers of threads are the levels of a sweep.
func (s *Suite) rampTaker(p *Part, sweep *published.Sweep) taker {
	t := taker{part: p.Name, margin: once}
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
	t.take = func(level, metric string) (*taken, lack) {
		base, ok := at[sweep.Baseline]
		value, okValue := at[level]
		if !ok || !okValue {
			return nil, s.absent(p, sweep, level)
		}
		x, b := rampValue(value, metric), rampValue(base, metric)
		if x <= 0 || b <= 0 {
			return nil, lack{"the probe has no " + metric, record.GapOther}
		}
		m := onceMeasured(p.Name, x/b)
		return &m, lack{}
	}
	if len(steps) > 0 {
		t.notes = sentences(rampText(p, sweep, steps[0].Operation))
	}
	if text := s.devicesText(p, sweep, steps); text != "" {
		t.notes = append(t.notes, sentences(text)...)
	}
	return t
}

// rampSteps are the steps of random access with more and more threads; mixed ones where there are any, as the
// documents did.
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

// threadsOf is how many threads a level of the document is here: by the place in the list of the suite's file where
// it was scaled, and the number itself otherwise.
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

// rampText says where more threads stop helping, here and in the document, by the same rule.
func rampText(p *Part, sweep *published.Sweep, operation string) string {
	text := p.Name + ": "
	gain := once
	i := slices.IndexFunc(p.Probe.Ramps, func(r record.ProbeRamp) bool { return r.Operation == operation })
	switch {
	case i < 0:
		text += "where more threads stop helping was not looked at"
	case p.Probe.Ramps[i].Threads == 0:
		text += "more threads helped to the end"
	default:
		text += NoMoreHelp(p.Probe.Ramps[i].Threads)
	}
	if i >= 0 && p.Probe.Ramps[i].Gain > 0 {
		gain = p.Probe.Ramps[i].Gain
	}
	return text + "; " + cmp.Or(publishedRamp(sweep, gain), "the document does not tell") +
		". Each step was measured once: a tenth up and down stands for its interval"
}

// devicesText is what the devices that hold the data did with the most threads, and what the document's own iostat
// shows beside the same output. All of it is shares and ratios: the devices are others. Empty where no device was
// counted.
func (s *Suite) devicesText(p *Part, sweep *published.Sweep, steps []record.ProbeStep) string {
	if len(steps) == 0 {
		return ""
	}
	last := steps[len(steps)-1]
	var here []string
	for _, d := range last.Devices {
		leaf := slices.ContainsFunc(p.Probe.Storage.Devices, func(b record.ProbeBlock) bool { return b.Name == d.Name && b.Leaf })
		if !leaf || d.Reads <= 0 || d.Writes <= 0 {
			continue
		}
		text := deviceText(d.Name, d.Util, d.Reads, d.Writes, d.WriteKB)
		if d.FlushCount > 0 {
			text += ", " + figure.Significant(d.Flushes/d.Writes) + " flushes for each write"
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

// deviceText is one device in figures that do not depend on how fast it is.
func deviceText(name string, busy, reads, writes, writtenKiB float64) string {
	return fmt.Sprintf("%s busy for %s, %s writes for each read, %s KiB each", name, figure.Percent(min(busy, 100)/100),
		figure.Significant(writes/reads), figure.Significant(writtenKiB/writes))
}

// publishedDevices are the devices that the document has beside the output of a sweep, the first word of their names
// being its ID.
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

// publishedRamp is the first number of threads of the document after which the next one gave less than gain more for
// each doubling.
func publishedRamp(sweep *published.Sweep, gain float64) string {
	for i := 1; i < len(sweep.Levels); i++ {
		a, b := &sweep.Levels[i-1], &sweep.Levels[i]
		x, ok := a.Values["throughput"]
		y, okNext := b.Values["throughput"]
		if !ok || !okNext || a.Workers <= 0 || b.Workers <= a.Workers {
			continue
		}
		doublings := math.Log2(float64(b.Workers) / float64(a.Workers))
		if math.Pow(y.Number/x.Number, 1/doublings) < 1+gain {
			return "in the document more than " + figure.Plural(a.Workers, "thread") + " did not"
		}
	}
	if len(sweep.Levels) > 1 {
		return "in the document more threads helped to the end"
	}
	return ""
}

// toldDoubt is what has to be known of a difference that is certain but for that; where nothing is told it is the
// reason.
func toldDoubt(m *taken) []string {
	if m.note == "" || m.verdict == record.Inconclusive {
		return nil
	}
	return []string{m.note}
}

// inPlaceOf says which probes of a figure were measured in the place of others that were left out, and why: a stripe
// of btrfs where the kernel has neither md nor LVM. In a ramp of threads any probe that shows it stands in, and else
// one that is the same level.
func (s *Suite) inPlaceOf(sweep *published.Sweep) (lines []string) {
	parts := s.showing(sweep)
	for _, p := range parts {
		if p.Kind != record.KindProbe || p.Status != record.PartLeft {
			continue
		}
		var in []string
		for _, q := range parts {
			if q.Probe != nil && (sweep.Path == "load.workers" || sweep.Level(s.levelIn(q, sweep)) == sweep.Level(s.levelIn(p, sweep))) {
				in = append(in, q.Name)
			}
		}
		if len(in) > 0 {
			lines = append(lines, fmt.Sprintf("%s was measured in the place of %s, which was left out: %s",
				strings.Join(in, ", "), p.Name, cmp.Or(p.Problem, "no reason is known")))
		}
	}
	return lines
}

// NoMoreHelp says from how many threads on more of them do not help.
func NoMoreHelp(threads int) string {
	if threads == 1 {
		return "a second thread does not help"
	}
	return fmt.Sprintf("more than %d threads do not help", threads)
}
