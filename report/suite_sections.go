package report

import (
	"cmp"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/published"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
)

func (s *Suite) facts() []Fact {
	document, there, figures := "", "", ""
	if s.Source != nil {
		document, there = s.Source.Title+" ("+publisher(s.Source)+")", s.Source.About
		figures = "ratios, each to its own baseline, because the machines differ"
	}
	return Facts("document", document, "there", there, "here", s.here(), "scale", suiteScale(s), "not measured", whyNotMeasured(s), "took", s.took(),
		"budget", budgetText(s.Record), "loaded", s.Record.Against, "figures", figures)
}

// budgetText is the time that a suite was fitted into.
func budgetText(r *record.Suite) string {
	switch r.Budget {
	case record.BudgetFull:
		return "full: as written"
	case record.BudgetTime:
		return "fitted into " + r.Limit.String()
	case record.BudgetQuick:
		return "quick: fitted into ten minutes"
	case record.BudgetSmoke:
		return "smoke: checks that every part works; its figures prove nothing"
	}
	return r.Budget
}

func publisher(s *published.Source) string { return join(", ", s.Publisher, s.Dated) }

func (s *Suite) here() string {
	var labs []string
	for i := range s.Parts {
		lab := ""
		switch p := &s.Parts[i]; {
		case p.Study != nil && p.Study.Specification.Lab != nil:
			lab = engineText(p.Study.Specification.Lab)
		case p.Study != nil:
			lab = p.Study.Base.Target
		case p.Drill != nil && p.Drill.Specification.Lab != nil:
			lab = engineText(p.Drill.Specification.Lab)
		}
		if lab != "" && !slices.Contains(labs, lab) {
			labs = append(labs, lab)
		}
	}
	what := cmp.Or(s.Record.Against, strings.Join(labs[:min(len(labs), 3)], ", "))
	return strings.TrimPrefix(what+" on "+machine(s.Record.Environment), " on ")
}

func engineText(l *spec.Lab) string {
	return strings.TrimSpace("labs of "+cmp.Or(l.Engine.Name, "the default engine")) + " " + l.Engine.Version
}

func (s *Suite) took() string {
	sum := 0.0
	for i := range s.Record.Parts {
		sum += s.Record.Parts[i].Seconds
	}
	text := "parts " + seconds(sum)
	if s.Record.Ended != nil {
		text = figure.Duration(s.Record.Ended.Sub(s.Record.Started)) + ", " + text
	}
	return text + ", begun " + s.Record.Started.UTC().Format("2006-01-02 15:04:05") + " UTC"
}

func (s *Suite) partsSection() Section {
	x := Section{Title: "parts", Table: &Table{Header: []string{"part", "kind", "status", "took", "found"}, Left: 3, Last: 1}}
	for i := range s.Parts {
		p := &s.Parts[i]
		took := "-"
		if p.Seconds > 0 {
			took = seconds(p.Seconds)
		}
		x.Table.row(p.Name, p.Kind, string(p.Status), took, partFinding(p))
	}
	if len(s.Parts) > 0 {
		x.Lines = []string{"each part has its own record; to see one: plimsoll report " + record.PartsDir + "/NAME in the directory of the suite"}
	}
	return x
}

// manyLeft is from how many steps on the list is folded.
const manyLeft = 12

// leftSection lists what was left out, before the suite began or while it was under way.
func leftSection(all []spec.Left, late bool) Section {
	left := slices.DeleteFunc(slices.Clone(all), func(l spec.Left) bool { return l.Late != late })
	x := Section{Title: "scaled or left out", Long: len(left) > manyLeft, Table: &Table{Header: []string{"part", "what", "from", "to", "why"}, Left: 5}}
	for _, l := range together(left) {
		x.Table.row(cmp.Or(l.Part, "all"), l.What, cmp.Or(l.From, "-"), cmp.Or(l.To, "left out"), l.Why)
	}
	if late && len(left) > 0 {
		x.Title = "skipped for lack of time"
		x.Lines = []string{"this machine took longer than estimated, so these were skipped while the suite ran, besides what was scaled or left out before it began"}
	}
	return x
}

// together joins parts with the same text into one line.
func together(left []spec.Left) (list []spec.Left) {
	at := map[spec.Left]int{}
	for _, l := range left {
		same := l
		same.Part = ""
		if i, ok := at[same]; ok && l.Part != "" {
			list[i].Part += ", " + l.Part
			continue
		}
		at[same] = len(list)
		list = append(list, l)
	}
	return list
}

// Title names a figure of the document.
func (f *SuiteFigure) Title() string {
	if f.Sweep == nil {
		return f.Name
	}
	name := cmp.Or(f.Sweep.Item, f.Sweep.ID)
	if f.Sweep.Workload != "" {
		name += ", workload " + strings.ToUpper(f.Sweep.Workload)
	}
	return name + ": " + f.Sweep.Factor
}

func (s *Suite) figureSection(f *SuiteFigure) Section {
	x := Section{Title: f.Title(), Lines: slices.Clone(f.Lines),
		Table: &Table{Left: 2, Last: 2, Header: []string{"level", "metric", "published", "measured", "interval", "n", "agrees?", "in the document"}}}
	if f.Sweep == nil {
		x.Table = nil
		return x
	}
	several := f.several()
	if several {
		x.Table.Header, x.Table.Left = append([]string{"part"}, x.Table.Header...), 3
	}
	for i := range f.Statements {
		st := &f.Statements[i]
		change, interval, n := changeCells(st)
		agrees := statementText(st)
		if st.Agreement != record.Agrees && st.Agreement != record.OnlyDrawn {
			agrees = strings.TrimSpace(agrees + " " + x.note(st.Why))
		}
		cells := []string{st.Level, suiteMetric(st), suiteStated(st), change, interval, n, agrees,
			strings.TrimSpace(placeCell(st) + s.marks(&x, f, st))}
		if several {
			cells = append([]string{cmp.Or(st.Part, "-")}, cells...)
		}
		x.Table.row(cells...)
	}
	where := "in the document: " + f.Sweep.Place.String()
	if f.Sweep.Baseline != "" {
		where += "; changes are against " + f.Sweep.Baseline + ", there and here"
	}
	x.Lines = append(x.Lines, where)
	return x
}

// marks are the notes on a statement: another place than that of its figure, and the contradictions of the document.
func (s *Suite) marks(x *Section, f *SuiteFigure, st *record.SuiteStatement) string {
	text := ""
	if st.Place != "" && st.Place != f.Sweep.Place.String() {
		text += " " + x.note("stated at "+st.Place)
	}
	for _, d := range st.Doubts {
		text += " " + x.note(d)
	}
	return text
}

// several says whether more than one part measured it, so that rows name theirs.
func (f *SuiteFigure) several() bool {
	return slices.ContainsFunc(f.Statements, func(st record.SuiteStatement) bool {
		return st.Part != f.Statements[0].Part
	})
}

// changeCells are the measured change, its interval and what it rests on.
func changeCells(st *record.SuiteStatement) (change, interval, n string) {
	change, interval, n = cmp.Or(st.Found, "-"), "-", "-"
	if st.Ratio != nil && st.Found == "" {
		write := writeRatio(st.Published, st.Ratio, st.Low, st.High)
		change = write(*st.Ratio)
		if st.Low != nil && st.High != nil {
			interval = "[" + write(*st.Low) + ", " + write(*st.High) + "]"
		}
	}
	if st.N > 0 {
		n = strconv.Itoa(st.N)
	}
	return change, interval, n
}

// suiteMetric names the metric of a statement, and what was measured in its place.
func suiteMetric(st *record.SuiteStatement) string {
	if st.Measure != "" {
		return unitWords(st.Metric) + " (here " + unitWords(st.Measure) + ")"
	}
	return unitWords(st.Metric)
}

// unitWords is a metric of a document as people read it: what only documents and suites have is a word already.
func unitWords(metric string) string {
	if slices.Contains([]string{"outage", "records", "members", "bandwidth", "multiplier", "nodes", "loss"}, metric) {
		return metric
	}
	return heading(metric)
}

// suiteStated is the change that the document states, or its words.
func suiteStated(st *record.SuiteStatement) string {
	switch {
	case st.Kind == record.StatementTrend:
		return st.Goes
	case st.Kind == record.StatementWords:
		return st.Stated
	case st.Metric == "multiplier" && st.Published != nil:
		return "×" + st.Stated
	case st.Metric == "nodes" && st.Published != nil:
		return st.Stated + " servers"
	case st.Metric == "multiplier" || st.Metric == "nodes":
		return st.Stated
	}
	if st.Published == nil {
		return "-"
	}
	return strings.TrimSpace(st.Bound + " " + writeRatio(st.Published, st.Ratio, st.Low, st.High)(*st.Published))
}

// placeCell is how the document has it.
func placeCell(st *record.SuiteStatement) string {
	if st.Kind == record.StatementTrend {
		return "“" + st.Words + "”"
	}
	if st.Kind == record.StatementWords || st.Agreement == record.OnlyDrawn {
		return ""
	}
	return st.Stated
}

// writeRatio is how the ratios of a statement are written, the document's among them: as changes, or all as factors
// if one is large.
func writeRatio(list ...*float64) func(float64) string {
	for _, x := range list {
		if x != nil && figure.Large(*x) {
			return figure.Factor
		}
	}
	return figure.Change
}

// suiteCSV writes one line per level and metric, and per sentence of the document that names a direction. Ratios are
// to the baseline of the document on one side, and to that of the part on the other.
func suiteCSV(w io.Writer, s *Suite) error {
	rows := [][]string{{"suite", "document", "sweep", "part", "statement", "level", "metric", "measured_metric", "stated", "place", "baseline", "published_ratio", "bound",
		"ratio", "ratio_low", "ratio_high", "n", "margin", "verdict", "found", "agreement", "why", "contradictions"}}
	for i := range s.Figures {
		for k := range s.Figures[i].Statements {
			st := &s.Figures[i].Statements[k]
			n := ""
			if st.N > 0 {
				n = strconv.Itoa(st.N)
			}
			row := []string{s.Record.Specification.Name, s.Source.Name, st.Sweep, st.Part, string(st.Kind), st.Level, st.Metric,
				st.Measure, st.Stated, st.Place, st.Baseline,
				floatOr(st.Published), st.Bound, floatOr(st.Ratio), floatOr(st.Low), floatOr(st.High), n,
				floatOr(st.Margin), string(st.Verdict), st.Found, string(st.Agreement), st.Why,
				strings.Join(st.Contradictions, " ")}
			for c := range row {
				row[c] = cell(row[c])
			}
			rows = append(rows, row)
		}
	}
	return csv.NewWriter(w).WriteAll(rows)
}

// settingsSections are the tables of the document that say how something was set, with what it is here.
func (s *Suite) settingsSections() (list []Section) {
	if s.Source == nil {
		return nil
	}
	set, part := s.settings()
	for i := range s.Source.Settings {
		x := &s.Source.Settings[i]
		title := x.Item + ": " + x.Section
		if len(list) == 0 || list[len(list)-1].Title != title {
			list = append(list, Section{Title: title, Table: &Table{Left: 3, Header: []string{"setting", "document", "here"}},
				Lines: []string{"how it was set, there and here; the scale is " + suiteScale(s)}})
			if part != "" && slices.ContainsFunc(s.Source.Settings, func(o published.Setting) bool {
				return o.Item == x.Item && o.Path != ""
			}) {
				list[len(list)-1].Lines = append(list[len(list)-1].Lines, "here: as part "+part+" has it")
			}
		}
		here := x.Here
		if x.Path != "" {
			here = cmp.Or(setting(set, x.Path), "-")
		}
		list[len(list)-1].Table.row(x.Says, x.Value, here)
	}
	return list
}

func (s *Suite) settings() (set map[string]any, part string) {
	for i := range s.Parts {
		study := s.Parts[i].Study
		if study == nil {
			continue
		}
		for _, x := range []any{study.Base, map[string]any{"lab": study.Specification.Lab}} {
			text, err := json.Marshal(x)
			if err == nil {
				err = json.Unmarshal(text, &set)
			}
			if err != nil {
				return nil, ""
			}
		}
		return set, s.Parts[i].Name
	}
	return nil, ""
}

// setting returns the value of a key such as lab.hosts.cores, "" if there is none.
func setting(set any, path string) string {
	for _, key := range strings.Split(path, ".") {
		object, ok := set.(map[string]any)
		if !ok || object[key] == nil {
			return ""
		}
		set = object[key]
	}
	if n, ok := set.(float64); ok && n == math.Trunc(n) && math.Abs(n) < 1e15 {
		return figure.Count(int64(n))
	}
	return fmt.Sprint(set)
}
