package judge

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/plimsoll-bench/plimsoll/published"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// measurement is the measured ratio of one level and metric to the document's baseline.
type measurement struct {
	part, metric     string // the part, and the metric that was measured instead of the document's, if it is another
	ratio, low, high float64
	n                int
	verdict          record.Verdict
	note             string
	single           bool // one measurement of each side, so there is no interval: low and high are the ratio itself
	once             bool // one measurement of each side, whose interval is assumed
}

// source holds the measurements of the levels of a sweep: a study, drills or probes that are one level each, or a probe
// with threads as levels.
type source struct {
	part string
	// levels are the document's names of the measured levels, in the document's order, with the baseline.
	levels []string
	// take returns the measurement of a level, or nil and what is missing.
	measure func(level, metric string) (*measurement, reason)
	margin  float64
	// words describes the measurement of a level without a ratio, and whether it agrees with the document.
	words func(level string) finding
	notes []record.SuiteNote
}

// finding is a result without a ratio, and its agreement with the document.
type finding struct {
	found     string
	agreement record.Agreement
	reason
}

// exhibit is one figure, table or output of the document, with its statements compared with the measurements.
type exhibit struct {
	name       string
	sweep      *published.Sweep // nil if the document has nothing measurable by that name
	statements []record.SuiteStatement
	first      int // index of the first one among the statements of the suite
	notes      []record.SuiteNote
}

// exhibits returns what the parts show of the document, each once, in their order.
func (s *Suite) exhibits() []exhibit {
	var list []exhibit
	seen := map[string]bool{}
	add := func(name string, sweep *published.Sweep) {
		id := "item " + name
		if sweep != nil {
			id = sweep.ID
		}
		if !seen[id] {
			seen[id] = true
			list = append(list, s.exhibit(name, sweep))
		}
	}
	for i := range s.Parts {
		for _, name := range s.shows(&s.Parts[i]) {
			sweeps := s.Source.Figure(name)
			for _, sweep := range sweeps {
				if s.Parts[i].inWorkload(sweep) {
					add(name, sweep)
				}
			}
			if len(sweeps) == 0 {
				add(name, nil)
			}
		}
	}
	for _, sweep := range s.Source.Sweeps { // derived from figures that are shown
		ofWorkload := func(f exhibit) bool { return f.sweep != nil && f.sweep.Workload != "" }
		if slices.ContainsFunc(list, ofWorkload) && Derived(sweep) {
			add(sweep.ID, sweep)
		}
	}
	return list
}

// shows returns the figures that a part repeats, from the suite's file or its own.
func (s *Suite) shows(p *Part) []string {
	if len(p.Shows) > 0 || p.Study == nil || p.Study.Specification.Published == "" {
		return p.Shows
	}
	source, sweeps, err := published.Select(p.Study.Specification.Published)
	if err != nil || source.Name != s.Source.Name {
		return nil
	}
	var names []string
	for _, sweep := range sweeps {
		names = append(names, sweep.ID)
	}
	return names
}

// inWorkload reports whether a part may have measured a sweep, by its workload. Without a record, only the suite's
// settings are known.
func (p *Part) inWorkload(sweep *published.Sweep) bool {
	workload := ""
	if set, ok := p.Set["workload.name"].(string); ok {
		workload = set
	}
	if p.Study != nil {
		workload = p.Study.Base.Workload.Name
	}
	return sweep.Workload == "" || workload == "" ||
		sweep.Workload == strings.TrimPrefix(strings.ToLower(workload), "ycsb-")
}

func (s *Suite) showing(sweep *published.Sweep) []*Part {
	var list []*Part
	for i := range s.Parts {
		p := &s.Parts[i]
		for _, name := range s.shows(p) {
			if slices.Contains(s.Source.Figure(name), sweep) && p.inWorkload(sweep) {
				list = append(list, p)
				break
			}
		}
	}
	return list
}

// exhibit compares one sweep with all its measurements.
func (s *Suite) exhibit(name string, sweep *published.Sweep) exhibit {
	f := exhibit{name: name, sweep: sweep}
	if sweep == nil {
		f.notes = sentences(s.itemText(name))
		return f
	}
	if Derived(sweep) {
		f.statements = s.derivedStatements(sweep)
		f.notes = sentences(s.derivedLines(sweep)...)
		return f
	}
	for _, t := range s.sources(sweep) {
		f.statements = append(f.statements, s.statements(sweep, t)...)
		for i := range sweep.Trends {
			f.statements = append(f.statements, trendStatement(sweep, &sweep.Trends[i], t))
		}
		f.notes = append(f.notes, t.notes...)
	}
	if sweep.More != "" {
		f.notes = append(f.notes, sentences("the document: "+sweep.More)...)
	}
	return f
}

// sentences returns notes that consist of text only.
func sentences(lines ...string) (notes []record.SuiteNote) {
	for _, line := range lines {
		notes = append(notes, record.SuiteNote{Text: line})
	}
	return notes
}

// itemText describes a figure or table of the document without figures to compare.
func (s *Suite) itemText(name string) string {
	for _, item := range s.Source.Items {
		if strings.EqualFold(strings.ReplaceAll(item.Item, " ", "-"), strings.ReplaceAll(name, " ", "-")) {
			return fmt.Sprintf("%s, “%s”: it has no figures to compare with a measurement (%s)", item.Item, item.Caption,
				item.Holds)
		}
	}
	return "the document has no " + name
}

// sources returns what measured a sweep. There is always one, which may only say why nothing was measured.
func (s *Suite) sources(sweep *published.Sweep) []source {
	if settings(sweep) {
		return []source{{measure: func(string, string) (*measurement, reason) { return nil, reason{} }}}
	}
	var list []source
	var single []*Part
	var reasons []reason
	var notes []record.SuiteNote
	for _, p := range s.showing(sweep) {
		switch {
		case p.Kind == record.KindDrill && !ofDrills(sweep): // its losses are shown with these measurements
			notes = append(notes, record.SuiteNote{Part: p.Name, Level: cmp.Or(p.Level, p.Name)})
		case p.Drill == nil && p.invalid() != "": // what a drill lost is proven, whatever its figures are worth
			reasons = append(reasons, reason{p.Name + " is invalid (" + p.invalid() + "), so it confirms and contradicts nothing",
				record.GapOther})
		case p.Study != nil:
			if t := s.studySource(p, sweep); t != nil {
				list = append(list, *t)
			}
		case p.Level != "" && sweep.Level(p.Level) != nil || p.Kind == record.KindDrill,
			sweep.Path != "load.workers" && p.Kind == record.KindProbe:
			single = append(single, p)
		case p.Probe != nil:
			list = append(list, s.rampSource(p, sweep))
		default:
			reasons = append(reasons, s.reason(p))
		}
	}
	for _, group := range bySettings(single) {
		list = append(list, s.levelSource(group, sweep))
	}
	notes = append(notes, sentences(s.inPlaceOf(sweep)...)...)
	if len(list) == 0 {
		why := together(reasons)
		list = append(list, source{measure: func(string, string) (*measurement, reason) { return nil, why }})
	}
	list[0].notes = append(list[0].notes, notes...)
	return list
}

// together joins the reasons of several parts. The gap is time if one of them has it, because time can be given.
func together(reasons []reason) reason {
	if len(reasons) == 0 {
		return reason{"no part measured it", record.GapOther}
	}
	var why []string
	all := reason{gap: record.GapOther}
	for _, l := range reasons {
		why = append(why, l.why)
		if l.gap == record.GapTime || l.gap == record.GapHere && all.gap == record.GapOther {
			all.gap = l.gap
		}
	}
	all.why = strings.Join(why, "; ")
	return all
}

// settings reports whether a table of the document has settings only, no results.
func settings(sweep *published.Sweep) bool {
	return !slices.ContainsFunc(sweep.Metrics, func(m string) bool { return m != "records" && m != "threads" })
}

// ofDrills reports whether a sweep has metrics of drills.
func ofDrills(sweep *published.Sweep) bool {
	return slices.ContainsFunc(sweep.Metrics, func(m string) bool {
		return m == "outage" || m == "cpu" || m == lossMetric
	})
}

// bySettings groups parts by what the suite sets for them, such as the client, so that each group has each level once.
func bySettings(parts []*Part) (groups [][]*Part) {
	at := map[string]int{}
	for _, p := range parts {
		key := fmt.Sprint(p.Set)
		if _, ok := at[key]; !ok {
			at[key] = len(groups)
			groups = append(groups, nil)
		}
		groups[at[key]] = append(groups[at[key]], p)
	}
	return groups
}

// statements returns a statement for each metric and level of a sweep that was stated or measured.
func (s *Suite) statements(sweep *published.Sweep, t source) []record.SuiteStatement {
	var list []record.SuiteStatement
	for _, metric := range sweep.Metrics {
		for i := range sweep.Levels {
			level := &sweep.Levels[i]
			if level.Name == sweep.Baseline {
				continue
			}
			st := s.stated(sweep, level.Name, metric)
			st.Part = t.part
			if sweep.Baseline == "" && t.words != nil {
				drawn := st.Agreement == record.OnlyDrawn
				st.Kind, st.Agreement = record.StatementWords, record.NotStated
				if _, ok := sweep.Value(level.Name, metric); ok || metric == lossMetric {
					x := t.words(level.Name)
					st.Found, st.Agreement, st.Why, st.Gap = x.found, x.agreement, x.why, x.gap
				}
				st.Stated = saying(st.Stated, drawn, level)
				list = append(list, st)
				continue
			}
			m, reason := t.measure(level.Name, metric)
			judgeRatio(&st, s.means(sweep, level.Name, metric), m, reason, t.margin)
			if st.Published != nil || st.Ratio != nil || st.Agreement != record.OnlyDrawn {
				list = append(list, st)
			}
		}
	}
	return list
}

// saying adds the words of a level to what is stated about it, or replaces it if that is only a picture.
func saying(stated string, drawn bool, level *published.Level) string {
	said := []string{stated, level.Sets["recovery"], level.Sets["words"]}
	if drawn && said[1]+said[2] != "" {
		said[0] = ""
	}
	return strings.Join(slices.DeleteFunc(said, func(s string) bool { return s == "" }), "; ")
}

// stated returns a statement with what the document states about a level and metric. Its agreement is
// [record.OnlyDrawn] if that is only a picture, otherwise not decided yet.
func (s *Suite) stated(sweep *published.Sweep, level, metric string) record.SuiteStatement {
	x := sweep.Stated(level, metric)
	st := record.SuiteStatement{Sweep: sweep.ID, Kind: record.StatementRatio, Level: level, Metric: metric,
		Baseline: sweep.Baseline, Stated: x.As, Place: x.Place, Published: x.Ratio, Bound: x.Bound}
	if x.Drawn {
		st.Agreement = record.OnlyDrawn
	}
	if v, ok := sweep.Value(level, metric); ok && v.Note != "" {
		st.Doubts = append(st.Doubts, "note on "+level+": "+v.Note)
	}
	for _, at := range []string{level, sweep.Baseline} {
		for _, d := range s.Source.Doubts(sweep.ID + "/" + at + "/" + metric) {
			if !slices.Contains(st.Contradictions, d.ID) {
				st.Contradictions = append(st.Contradictions, d.ID)
				st.Doubts = append(st.Doubts, contradictionText(d))
			}
		}
	}
	return st
}

func contradictionText(c *published.Contradiction) string {
	text := "the document contradicts itself: " + strings.TrimRight(c.Why, ".")
	if c.Use != "" {
		text += "; reliable: " + strings.TrimRight(c.Use, ".")
	}
	return text
}

// span is the range of ratios that a statement can mean.
type span struct{ low, high float64 }

// means returns the range of the document's ratio, from its digits and its bounds. "about" is one digit less precise.
func (s *Suite) means(sweep *published.Sweep, level, metric string) span {
	v, ok := sweep.Value(level, metric)
	base, baseOK := sweep.Value(sweep.Baseline, metric)
	if !ok || !baseOK {
		return span{math.NaN(), math.NaN()}
	}
	wide := func(v published.Value) (low, high float64) {
		low, high = v.Between()
		switch v.Bound {
		case "about":
			low, high = low-(v.Number-low), high+(high-v.Number)
		case "below", "up to":
			low = 0
		case "above":
			high = math.Inf(1)
		}
		return max(low, 0), high
	}
	vl, vh := wide(v)
	bl, bh := wide(base)
	return span{vl / bh, vh / bl}
}

// judgeRatio compares a published ratio with a measured one.
func judgeRatio(st *record.SuiteStatement, means span, m *measurement, reason reason, margin float64) {
	if m != nil {
		st.Part, st.Measure, st.N, st.Verdict = m.part, m.metric, m.n, m.verdict
		st.Doubts = append(st.Doubts, noteOf(m)...)
		if m.ratio > 0 {
			st.Ratio = record.Finite(m.ratio)
		}
		if low, high := record.Finite(m.low), record.Finite(m.high); low != nil && high != nil && !m.single {
			st.Low, st.High = low, high
		}
	}
	switch {
	case st.Agreement == record.OnlyDrawn:
	case st.Published == nil:
		st.Agreement, st.Why = record.NotStated, "the document has no baseline for it, and absolute figures of other machines "+
			"are not comparable"
	case m == nil && reason.why == "":
		st.Agreement, st.Why = record.NotStated, "it is a setting, not a result"
	case m == nil:
		st.Agreement, st.Why, st.Gap = record.NotMeasured, reason.why, reason.gap
	case st.Ratio == nil:
		st.Agreement, st.Why = record.Undecided, cmp.Or(m.note, "there is no ratio")
	default:
		if !means.bounded() {
			confirming := confirmMargin(*st.Published, margin)
			st.Margin = &confirming
		}
		st.Agreement, st.Why = agreement(st, means, m, margin)
	}
}

// confirmedWithin is how far a measured ratio may be from a stated one that it confirms: a fifth up or down. A
// statement that is wrong by a factor of 1.2 or more is then confirmed in at most 2.5 % of cases, and a few trials with
// little noise can confirm a true one.
const confirmedWithin = 0.20

// confirmMargin is the margin within which a ratio is confirmed: a fifth, and at most half of the stated change, so
// that a confirmed change has the stated direction and more than half of its size. It is at least the margin of the
// study, below which a change does not matter.
func confirmMargin(stated, margin float64) float64 {
	return max(margin, min(confirmedWithin, math.Exp(math.Abs(math.Log(stated))/2)-1))
}

// bounded reports whether the document states a bound, such as "above 10 ms".
func (s span) bounded() bool { return s.low == 0 || math.IsInf(s.high, 1) }

// The reasons why a measured interval is inconclusive.
const (
	excludesOne = "the measured interval excludes 1, but with so many comparisons that can be chance"
	includesOne = "the measured interval includes 1, so the direction is not known"
)

// agreement compares a stated ratio with a measured one. It is confirmed if the whole interval is within the margin of
// it (two one-sided tests on the logarithm; Schuirmann 1987), or within the stated bound. An interval that includes it
// and is wider does not contradict it, and does not confirm it.
func agreement(st *record.SuiteStatement, means span, m *measurement, margin float64) (record.Agreement, string) {
	stated, within := *st.Published, means
	if st.Margin != nil {
		within = span{stated / (1 + *st.Margin), stated * (1 + *st.Margin)}
	}
	overlap := m.low <= means.high && means.low <= m.high
	small := math.Abs(math.Log(stated)) <= math.Log1p(margin)
	switch {
	case m.single:
		return record.Undecided, m.note
	case within.low <= m.low && m.high <= within.high && !m.once && m.verdict != record.Inconclusive:
		return record.Agrees, "the measured interval is within the margin of the document's ratio"
	case overlap && m.once:
		return record.Compatible, "it was measured once, which confirms nothing"
	case overlap:
		return record.Compatible, "the measured interval includes the document's ratio and is too wide to confirm it"
	case m.verdict == record.Inconclusive && (m.low > 1 || m.high < 1):
		return record.Undecided, excludesOne
	case m.verdict == record.Inconclusive && !math.IsNaN(m.low):
		return record.Undecided, "the measured interval excludes the document's ratio, but the direction is not known"
	case m.verdict == record.Inconclusive:
		return record.Undecided, cmp.Or(m.note, includesOne)
	case m.verdict == record.Equivalent:
		return record.Disagrees, "there is no relevant difference here"
	case small:
		return record.Disagrees, "the document has no relevant difference"
	case (stated > 1) != (m.ratio > 1):
		return record.Disagrees, "the direction is the opposite here"
	case math.Abs(math.Log(m.ratio)) > math.Abs(math.Log(stated)):
		return record.SameDirection, "the difference is larger here"
	}
	return record.SameDirection, "the difference is smaller here"
}

// studySource makes a source of a study that has the levels of a sweep; nil if it measured none of the metrics.
func (s *Suite) studySource(p *Part, sweep *published.Sweep) *source {
	f := factorOf(p.Study, sweep)
	if f == nil {
		return &source{part: p.Name, measure: func(string, string) (*measurement, reason) {
			return nil, reason{p.Name + " does not vary the " + sweep.Factor, record.GapOther}
		}}
	}
	compared := comparisonsOf(p.Study)
	levels, other := Levels(p.Study, sweep, f)
	t := source{part: p.Name, margin: float64(p.Study.Specification.Margin)}
	for i := range sweep.Levels {
		if _, ok := levels[sweep.Levels[i].Name]; ok {
			t.levels = append(t.levels, sweep.Levels[i].Name)
		}
	}
	if len(p.Study.Comparisons) > 0 {
		t.margin = p.Study.Comparisons[0].Margin
		if !slices.ContainsFunc(sweep.Metrics, compared.has) {
			return nil
		}
	}
	t.measure = func(level, metric string) (*measurement, reason) {
		c := levels[level]
		switch {
		case other != "":
			why := fmt.Sprintf("the baseline of %s is %s, not the document's %s", p.Name, other, sweep.Baseline)
			return nil, reason{why, record.GapOther}
		case c == nil:
			return nil, s.absent(p, sweep, level)
		}
		x, name := compared.find(c.ID, metric)
		if x == nil {
			why := fmt.Sprintf("%s has no comparison of %s at this level (%s)", p.Name, metric, p.Study.Status)
			return nil, reason{why, record.GapOther}
		}
		if name == metric {
			name = ""
		}
		return &measurement{part: p.Name, metric: name, ratio: orNaN(x.Ratio), low: orNaN(x.Low), high: orNaN(x.High), n: x.N,
			verdict: x.Verdict, note: x.Note}, reason{}
	}
	return &t
}

// Levels finds the configurations of a study that are the levels of a sweep, by the document's names. other is the
// study's baseline if it is not the document's, so its ratios are not comparable.
func Levels(s *record.Study, sweep *published.Sweep, f *spec.Factor) (measured map[string]*record.Configuration,
	other string) {
	measured = map[string]*record.Configuration{}
	baseline := comparisonsOf(s).baseline
	own, agreed := "", false
	for i := range s.Configurations {
		c := &s.Configurations[i]
		for _, c := range append([]*record.Configuration{c}, c.Twins(f)...) {
			level := sweep.Level(c.Levels[f.Title()])
			if c.ID == baseline {
				own = cmp.Or(own, c.Levels[f.Title()])
				agreed = agreed || level != nil && level.Name == sweep.Baseline
			}
			if level != nil && (c.Factor == f.Title() || c.ID == baseline || len(s.Specification.Factors) == 1) {
				measured[level.Name] = c
			}
		}
	}
	if !agreed {
		other = cmp.Or(own, "different")
	}
	return measured, other
}

// comparisons indexes those of a study by configuration and metric.
type comparisons struct {
	metrics  []string // in their order
	of       map[[2]string]*record.Comparison
	baseline string
}

func comparisonsOf(s *record.Study) *comparisons {
	x := &comparisons{of: map[[2]string]*record.Comparison{}, baseline: s.BaselineID()}
	for i := range s.Comparisons {
		c := &s.Comparisons[i]
		x.of[[2]string{c.Configuration, c.Metric}], x.baseline = c, c.Baseline
		if !slices.Contains(x.metrics, c.Metric) {
			x.metrics = append(x.metrics, c.Metric)
		}
	}
	return x
}

func orNaN(x *float64) float64 {
	if x == nil {
		return math.NaN()
	}
	return *x
}

// factorOf finds the factor of a study that a sweep varies, by its name or by the names of its levels.
func factorOf(s *record.Study, sweep *published.Sweep) *spec.Factor {
	for i := range s.Specification.Factors {
		f := &s.Specification.Factors[i]
		if strings.EqualFold(strings.TrimSpace(sweep.Factor), strings.TrimSpace(f.Title())) {
			return f
		}
	}
	for i := range s.Specification.Factors {
		f := &s.Specification.Factors[i]
		if slices.ContainsFunc(s.Configurations, func(c record.Configuration) bool {
			return c.Factor == f.Title() && sweep.Level(c.Levels[f.Title()]) != nil
		}) {
			return f
		}
	}
	return nil
}

// instead returns the metrics that replace one that studies do not have. The shortest and longest of a few single calls
// are compared with the median and the 90th percentile of thousands, because the extremes of thousands say nothing
// about a typical call. If most calls return at once and some wait for long, no call takes as long as the mean.
func instead(metric string) []string {
	class, what, _ := strings.Cut(metric, ".")
	switch what {
	case "min":
		return []string{metric, class + ".p50", class + ".mean", "mean"}
	case "max":
		return []string{metric, class + ".p90", class + ".mean", "mean"}
	}
	return []string{metric}
}

// has reports whether a metric was compared, or one that replaces it.
func (x *comparisons) has(wanted string) bool {
	return slices.ContainsFunc(instead(wanted), func(name string) bool { return slices.Contains(x.metrics, name) })
}

// find returns the comparison of a metric, or of one that replaces it.
func (x *comparisons) find(configuration, metric string) (*record.Comparison, string) {
	for _, name := range instead(metric) {
		if c := x.of[[2]string{configuration, name}]; c != nil {
			return c, name
		}
	}
	return nil, metric
}

func (s *Suite) absent(p *Part, sweep *published.Sweep, level string) reason {
	has := func(list string) bool {
		return slices.ContainsFunc(append(strings.Split(list, ", "), list), func(name string) bool {
			l := sweep.Level(name)
			return l != nil && l.Name == level
		})
	}
	for _, l := range s.leftOf(p.Name) {
		if l.What == level || has(l.From) && !has(l.To) {
			return reason{"skipped: " + cmp.Or(l.Why, "not enough time"), record.GapLevels}
		}
	}
	return reason{p.Name + " does not have this level", record.GapLevels}
}
