package report

import (
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/internal/visible"
	"github.com/plimsoll-bench/plimsoll/record"
)

// gateDocument is the verdict about a new record of a branch.
func gateDocument(g *record.Gate) *Document {
	d := answered(gateTitle(g), "", g.Validity)
	d.Summary = gateSummary(g)
	d.Next = Next{"plimsoll show DIR", "the new record"}
	s := Section{Title: "metrics", Table: &Table{Header: []string{"metric", "of", "new", "before", "expected", "change", "n", "verdict"}, Left: 2, Last: 1}}
	for i := range g.Metrics {
		m := &g.Metrics[i]
		s.Table.row(m.Metric, m.Group, gateValue(m), optional(m.Mean, m.Unit), span(m.Low, m.High, m.Unit),
			gateChange(m), fmt.Sprint(m.N), string(m.Verdict))
	}
	d.Sections = appendFilled(nil, s)
	return d
}

// gateValue is the value of the new record.
func gateValue(m *record.GateMetric) string {
	if m.Value == nil {
		return NoAnswer
	}
	return optional(m.Value, m.Unit)
}

func gateTitle(g *record.Gate) string {
	text := fmt.Sprintf("%s against %s: %s", g.Branch, g.Against, g.Verdict)
	if len(g.Metrics) > 0 && g.Metrics[0].Ratio != nil && (g.Verdict == record.Worse || g.Verdict == record.Better) {
		text += fmt.Sprintf(" (%s %s)", g.Metrics[0].Metric, gateChange(&g.Metrics[0]))
	}
	return text
}

func gateChange(m *record.GateMetric) string {
	if m.Ratio == nil {
		return "-"
	}
	return signed(*m.Ratio - 1)
}

// GateComment is the comment on a change: the document, and the course of the gravest metric as a picture that code
// hosts draw themselves (Mermaid).
func GateComment(w io.Writer, g *record.Gate) error {
	if err := gateDocument(g).In("").Markdown(w); err != nil {
		return err
	}
	if len(g.Metrics) == 0 || len(g.Metrics[0].Course) == 0 {
		return nil
	}
	const most = 50
	m := &g.Metrics[0]
	course := append([]float64{}, m.Course[max(0, len(m.Course)-most):]...)
	if m.Value != nil {
		course = append(course, *m.Value)
	}
	var values, names []string
	for i, x := range course {
		values, names = append(values, fmt.Sprintf("%g", x)), append(names, fmt.Sprint(i-len(course)+1))
	}
	names[len(names)-1] = `"new"`
	_, err := fmt.Fprintf(w, "\n```mermaid\nxychart-beta\n  title \"%s by record\"\n  x-axis [%s]\n  y-axis \"%s\"\n  line [%s]\n```\n",
		visible.Line(m.Metric), strings.Join(names, ", "), visible.Line(m.Unit), strings.Join(values, ", "))
	return err
}

// JUnit writes a test case for each metric; a worse one has failed.
func JUnit(w io.Writer, g *record.Gate) error {
	type failure struct {
		Message string `xml:"message,attr"`
		Type    string `xml:"type,attr"`
		Text    string `xml:",chardata"`
	}
	type testcase struct {
		Name    string    `xml:"name,attr"`
		Class   string    `xml:"classname,attr"`
		Failure *failure  `xml:"failure,omitempty"`
		Skipped *struct{} `xml:"skipped,omitempty"`
	}
	type suite struct {
		XMLName  xml.Name   `xml:"testsuite"`
		Name     string     `xml:"name,attr"`
		Tests    int        `xml:"tests,attr"`
		Failures int        `xml:"failures,attr"`
		Skipped  int        `xml:"skipped,attr"`
		Cases    []testcase `xml:"testcase"`
	}
	s := suite{Name: "plimsoll", Tests: len(g.Metrics)}
	for i := range g.Metrics {
		m := &g.Metrics[i]
		c := testcase{Name: m.Metric, Class: m.Group}
		switch m.Verdict {
		case record.Worse:
			s.Failures++
			c.Failure = &failure{m.Metric + " is worse: " + gateChange(m), string(m.Verdict), gateSentence(m)}
		case record.Better, record.Equivalent, record.Inconclusive:
		}
		if m.Mean == nil { // there is nothing to compare with yet
			s.Skipped++
			c.Skipped = &struct{}{}
		}
		s.Cases = append(s.Cases, c)
	}
	b, err := xml.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "%s%s\n", xml.Header, b)
	return err
}

// gateSentence says what was measured, what it means, and what to do.
func gateSentence(m *record.GateMetric) string {
	if m.Value == nil && m.Verdict == record.Inconclusive {
		return fmt.Sprintf("%s of %s has no value in the new record. Look into the record for the reason.", m.Metric, m.Group)
	}
	if m.Value == nil {
		return fmt.Sprintf("%s of %s has no answer: more operations did not succeed than lie above it. See the failures of the run.",
			m.Metric, m.Group)
	}
	return fmt.Sprintf("%s of %s is %s; %s before it had a mean of %s, and one more is expected in %s. Compare this change with the one before, "+
		"or run again if the machine was busy.", m.Metric, m.Group, gateValue(m), figure.Plural(m.N, "record"),
		optional(m.Mean, m.Unit), span(m.Low, m.High, m.Unit))
}

// SARIF writes the worse metrics as results of version 2.1.0, which code hosts show as annotations.
func SARIF(w io.Writer, g *record.Gate) error {
	type object = map[string]any
	text := func(s string) object { return object{"text": s} }
	results, rules := []object{}, []object{}
	for i := range g.Metrics {
		m := &g.Metrics[i]
		if m.Verdict != record.Worse {
			continue
		}
		id := "worse/" + m.Metric
		if !slices.ContainsFunc(rules, func(r object) bool { return r["id"] == id }) {
			rules = append(rules, object{"id": id, "shortDescription": text(m.Metric + " is worse than before")})
		}
		results = append(results, object{"ruleId": id, "level": "error", "message": text(gateSentence(m)),
			"partialFingerprints": object{"group/v1": m.Group},
			"locations": []object{{"physicalLocation": object{"artifactLocation": object{"uri": g.Source},
				"region": object{"startLine": 1}}}}})
	}
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(object{"$schema": "https://json.schemastore.org/sarif-2.1.0.json", "version": "2.1.0", "runs": []object{{
		"tool":    object{"driver": object{"name": "plimsoll", "version": g.Tool.Version, "rules": rules}},
		"results": results,
	}}})
}

func gateKind() *kind { return kindOf("a check", figureless(gateDocument)) }
