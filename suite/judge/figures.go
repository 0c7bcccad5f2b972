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

// taken is what was measured of one level and metric: a ratio to the document's baseline.
type taken struct {
	part, metric     string // the part, and what was measured in the place of the document's metric, if it is another
	ratio, low, high float64
	n                int
	verdict          record.Verdict
	note             string
	// single measurements are one of each side, of which nobody knows how far the next ones would differ: there is no
	// interval, and low and high are the ratio itself.
	single bool
}

// taker is something that measured the levels of a sweep: a study, the drills or probes that are one level each, or a
// probe whose threads are the levels.
type taker struct {
	part string
	// levels are the document's names of what was measured, in the document's order, the baseline among them.
	levels []string
	// take is what was measured of a level; nil with what lacks where nothing was.
	take   func(level, metric string) (*taken, lack)
	margin float64
	// words is what was found at a level where no ratio can be formed, and how that stands to the document.
	words func(level string) finding
	notes []record.SuiteNote
}

// finding is what was found where no ratio can be formed, and whether that is as the document has it.
type finding struct {
	found     string
	agreement record.Agreement
	lack
}

// exhibit is one figure, table or output of the document, with its statements held against what was measured.
type exhibit struct {
	name       string
	sweep      *published.Sweep // nil if the document has nothing by that name that could be measured
	statements []record.SuiteStatement
	first      int // the place of the first one among those of the suite
	notes      []record.SuiteNote
}

// exhibits are what the parts show of the document, each once, in their order.
func (s *Suite) exhibits() []exhibit {
	var list []exhibit
	seen := map[string]bool{}
	add := func(name string, sweep *published.Sweep) {
		if id := sweepID(name, sweep); !seen[id] {
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
	for _, sweep := range s.Source.Sweeps { // what follows from figures that are shown
		ofWorkload := func(f exhibit) bool { return f.sweep != nil && f.sweep.Workload != "" }
		if slices.ContainsFunc(list, ofWorkload) && Derived(sweep) {
			add(sweep.ID, sweep)
		}
	}
	return list
}

func sweepID(name string, sweep *published.Sweep) string {
	if sweep == nil {
		return "item " + name
	}
	return sweep.ID
}

// shows are the figures that a part repeats: those that the suite says, or its own file.
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

// inWorkload says whether a part can have measured a sweep by its workload. Of a part that left no record only what the
// suite set is known.
func (p *Part) inWorkload(sweep *published.Sweep) bool {
	workload := ""
	if set, ok := p.Set["workload.name"].(string); ok {
		workload = set
	}
	if p.Study != nil {
		workload = p.Study.Base.Workload.Name
	}
	return sweep.Workload == "" || workload == "" || sweep.Workload == strings.TrimPrefix(strings.ToLower(workload), "ycsb-")
}

// showing are the parts that show a sweep.
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

// exhibit holds one sweep against everything that measured it.
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
	for _, t := range s.takers(sweep) {
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

// sentences are notes that say all themselves.
func sentences(lines ...string) (notes []record.SuiteNote) {
	for _, line := range lines {
		notes = append(notes, record.SuiteNote{Text: line})
	}
	return notes
}

// itemText says what a figure or table of the document is that has nothing to be held against.
func (s *Suite) itemText(name string) string {
	for _, item := range s.Source.Items {
		if strings.EqualFold(strings.ReplaceAll(item.Item, " ", "-"), strings.ReplaceAll(name, " ", "-")) {
			return fmt.Sprintf("%s, “%s”: it has no figures that could be held against a measurement (%s)", item.Item, item.Caption, item.Holds)
		}
	}
	return "the document has no " + name
}

// takers are what measured a sweep. There is always one, if only to say why nothing was.
func (s *Suite) takers(sweep *published.Sweep) []taker {
	if settings(sweep) {
		return []taker{{take: func(string, string) (*taken, lack) { return nil, lack{} }}}
	}
	var list []taker
	var single []*Part
	var lacks []lack
	var notes []record.SuiteNote
	for _, p := range s.showing(sweep) {
		switch {
		case p.Kind == record.KindDrill && !ofDrills(sweep): // what it lost belongs to what is measured here
			notes = append(notes, record.SuiteNote{Part: p.Name, Level: cmp.Or(p.Level, p.Name)})
		case p.Study != nil:
			if t := s.studyTaker(p, sweep); t != nil {
				list = append(list, *t)
			}
		case p.Level != "" && sweep.Level(p.Level) != nil || p.Kind == record.KindDrill,
			sweep.Path != "load.workers" && p.Kind == record.KindProbe:
			single = append(single, p)
		case p.Probe != nil:
			list = append(list, s.rampTaker(p, sweep))
		default:
			lacks = append(lacks, s.lack(p))
		}
	}
	for _, group := range alikeSet(single) {
		list = append(list, s.levelTaker(group, sweep))
	}
	notes = append(notes, sentences(s.inPlaceOf(sweep)...)...)
	if len(list) == 0 {
		why := together(lacks)
		list = append(list, taker{take: func(string, string) (*taken, lack) { return nil, why }})
	}
	list[0].notes = append(list[0].notes, notes...)
	return list
}

// together is one reason of several parts: the word is that of time if one of them has it, since that can be had.
func together(lacks []lack) lack {
	if len(lacks) == 0 {
		return lack{"no part measured it", record.GapOther}
	}
	var why []string
	all := lack{gap: record.GapOther}
	for _, l := range lacks {
		why = append(why, l.why)
		if l.gap == record.GapTime || l.gap == record.GapHere && all.gap == record.GapOther {
			all.gap = l.gap
		}
	}
	all.why = strings.Join(why, "; ")
	return all
}

// settings says whether a table of the document has what was set, and no results.
func settings(sweep *published.Sweep) bool {
	return !slices.ContainsFunc(sweep.Metrics, func(m string) bool { return m != "records" && m != "threads" })
}

// ofDrills says whether a sweep has what drills measure.
func ofDrills(sweep *published.Sweep) bool {
	return slices.ContainsFunc(sweep.Metrics, func(m string) bool { return m == "outage" || m == "cpu" || m == lossMetric })
}

// alikeSet groups parts by what the suite set for them, such as the way to the database, so that each group has each
// level once.
func alikeSet(parts []*Part) (groups [][]*Part) {
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

// statements are the levels of a sweep, metric by metric. Levels of which nothing is stated and nothing was measured
// have none; what was left out is told with what the suite left out.
func (s *Suite) statements(sweep *published.Sweep, t taker) []record.SuiteStatement {
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
			m, lack := t.take(level.Name, metric)
			judgeRatio(&st, s.means(sweep, level.Name, metric), m, lack, t.margin)
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
	st := record.SuiteStatement{Sweep: sweep.ID, Kind: record.StatementRatio, Level: level, Metric: metric, Baseline: sweep.Baseline,
		Stated: x.As, Place: x.Place, Published: x.Ratio, Bound: x.Bound}
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

// contradictionText is what a reader of a figure has to know.
func contradictionText(c *published.Contradiction) string {
	text := "the document contradicts itself: " + strings.TrimRight(c.Why, ".")
	if c.Use != "" {
		text += "; what can be relied on: " + strings.TrimRight(c.Use, ".")
	}
	return text
}

// span are the ratios that a statement can mean.
type span struct{ low, high float64 }

// means is what the document's ratio can be, by the digits that it gives and by its bounds ("about" is one digit more).
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

// judgeRatio says how a published ratio stands to a measured one.
func judgeRatio(st *record.SuiteStatement, means span, m *taken, lack lack, margin float64) {
	if m != nil {
		st.Part, st.Measure, st.N, st.Verdict = m.part, m.metric, m.n, m.verdict
		st.Doubts = append(st.Doubts, toldDoubt(m)...)
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
		st.Agreement, st.Why = record.NotStated, "the document has no baseline for it, and absolute figures of other machines say nothing"
	case m == nil && lack.why == "":
		st.Agreement, st.Why = record.NotStated, "it is a setting, and no result"
	case m == nil:
		st.Agreement, st.Why, st.Gap = record.NotMeasured, lack.why, lack.gap
	case st.Ratio == nil:
		st.Agreement, st.Why = record.NotTold, cmp.Or(m.note, "no ratio can be formed")
	default:
		st.Agreement, st.Why = agreement(*st.Published, means, m, margin)
	}
}

// agreement holds a stated ratio against a measured one.
func agreement(stated float64, means span, m *taken, margin float64) (record.Agreement, string) {
	overlap := m.low <= means.high && means.low <= m.high
	small := math.Abs(math.Log(stated)) <= math.Log1p(margin)
	switch {
	case m.single:
		return record.NotTold, m.note
	case m.verdict == record.Inconclusive && (m.low > 1 || m.high < 1):
		return record.NotTold, "the measured interval leaves out that nothing changes, but among so many comparisons that can be chance"
	case m.verdict == record.Inconclusive && !overlap && !math.IsNaN(m.low):
		return record.NotTold, "the measured interval leaves out the document's ratio, and does not tell the direction"
	case m.verdict == record.Inconclusive:
		return record.NotTold, cmp.Or(m.note, "the measured interval has room for both directions")
	case overlap:
		return record.Agrees, "the document's ratio lies in the measured interval"
	case m.verdict == record.Equivalent && small:
		return record.Agrees, "no difference that matters, in the document and here"
	case m.verdict == record.Equivalent:
		return record.Disagrees, "there is no difference here that matters"
	case small:
		return record.Disagrees, "the document has no difference that matters"
	case (stated > 1) != (m.ratio > 1):
		return record.Disagrees, "it goes the other way here"
	case math.Abs(math.Log(m.ratio)) > math.Abs(math.Log(stated)):
		return record.SameDirection, "the difference is larger here"
	}
	return record.SameDirection, "the difference is smaller here"
}

// studyTaker is a study that has the levels of a sweep, nil if it measured none of its metrics.
func (s *Suite) studyTaker(p *Part, sweep *published.Sweep) *taker {
	f := factorOf(p.Study, sweep)
	if f == nil {
		return &taker{part: p.Name, take: func(string, string) (*taken, lack) {
			return nil, lack{p.Name + " does not vary the " + sweep.Factor, record.GapOther}
		}}
	}
	compared := comparisonsOf(p.Study)
	levels, other := Levels(p.Study, sweep, f)
	t := taker{part: p.Name, margin: float64(p.Study.Specification.Margin)}
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
	t.take = func(level, metric string) (*taken, lack) {
		c := levels[level]
		switch {
		case other != "":
			why := fmt.Sprintf("the baseline of %s is %s, which is not the document's %s", p.Name, other, sweep.Baseline)
			return nil, lack{why, record.GapOther}
		case c == nil:
			return nil, s.absent(p, sweep, level)
		}
		x, name := compared.find(c.ID, metric)
		if x == nil {
			why := fmt.Sprintf("%s has no comparison of %s at this level (%s)", p.Name, metric, p.Study.Status)
			return nil, lack{why, record.GapOther}
		}
		if name == metric {
			name = ""
		}
		return &taken{part: p.Name, metric: name, ratio: orNaN(x.Ratio), low: orNaN(x.Low), high: orNaN(x.High), n: x.N,
			verdict: x.Verdict, note: x.Note}, lack{}
	}
	return &t
}

// Levels finds the configurations of a study that are the levels of a sweep, by the names that the document has for
// them. other is the study's own baseline where it is not the document's: then its ratios are against something else.
func Levels(s *record.Study, sweep *published.Sweep, f *spec.Factor) (measured map[string]*record.Configuration, other string) {
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
		other = cmp.Or(own, "another one")
	}
	return measured, other
}

// comparisons are those of a study, by configuration and metric.
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

// factorOf finds the factor of a study that a sweep varies, by its name, or by the names of its levels.
func factorOf(s *record.Study, sweep *published.Sweep) *spec.Factor {
	for i := range s.Specification.Factors {
		f := &s.Specification.Factors[i]
		if strings.EqualFold(strings.TrimSpace(sweep.Factor), strings.TrimSpace(f.Title())) {
			return f
		}
	}
	for i := range s.Specification.Factors {
		f := &s.Specification.Factors[i]
		known := 0
		for _, c := range s.Configurations {
			if c.Factor == f.Title() && sweep.Level(c.Levels[f.Title()]) != nil {
				known++
			}
		}
		if known > 0 {
			return f
		}
	}
	return nil
}

// instead are what stands for a metric that studies do not have. The shortest and the longest of a few single calls
// are held against the median and the 90th percentile of thousands: the extremes of so many say nothing about calls,
// and where most return at once and some wait for long, no call takes as long as the mean.
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

// has says whether a metric was compared, or what stands for it.
func (x *comparisons) has(wanted string) bool {
	return slices.ContainsFunc(instead(wanted), func(name string) bool { return slices.Contains(x.metrics, name) })
}

// find is what a study found of a metric, or of what stands for it.
func (x *comparisons) find(configuration, metric string) (*record.Comparison, string) {
	for _, name := range instead(metric) {
		if c := x.of[[2]string{configuration, name}]; c != nil {
			return c, name
		}
	}
	return nil, metric
}

// absent says why a level was not measured.
func (s *Suite) absent(p *Part, sweep *published.Sweep, level string) lack {
	has := func(list string) bool {
		return slices.ContainsFunc(append(strings.Split(list, ", "), list), func(name string) bool {
			l := sweep.Level(name)
			return l != nil && l.Name == level
		})
	}
	for _, l := range s.leftOf(p.Name) {
		if l.What == level || has(l.From) && !has(l.To) {
			return lack{"left out: " + cmp.Or(l.Why, "to be done in time"), record.GapLevels}
		}
	}
	return lack{p.Name + " does not have this level", record.GapLevels}
}
