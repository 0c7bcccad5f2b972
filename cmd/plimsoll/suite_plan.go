package main

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/report"
	"github.com/plimsoll-bench/plimsoll/spec"
	"github.com/plimsoll-bench/plimsoll/store"
	"github.com/plimsoll-bench/plimsoll/suite"
)

func newSuitePlanCommand(env *environment) *cobra.Command {
	var flags suiteFlags
	var format string
	cmd := &cobra.Command{
		Use:   "plan FOLDER",
		Short: "Show the parts, their time and needs, and the parts that cannot run here",
		Long: `Show the parts of a suite, their time and needs, and everything that is scaled down or left out on this
machine, with the reason. Nothing is run, and no target is contacted.

Exit codes: 0 valid plan, 2 error in a file.`,
		Example: `  plimsoll suite plan examples/write-concern --quick
  plimsoll suite plan examples/policy-storage --scale data=1/64,workers=1/4
  plimsoll suite plan examples/storage-io --format json`,
		Args: exactlyOne("folder of a suite"),
		RunE: func(cmd *cobra.Command, args []string) error {
			p, err := flags.plan(cmd.Context(), env, args[0], newDir("suites", "suite", env.now()))
			if err != nil {
				return err
			}
			return planSuite(env, p, format)
		},
	}
	flags.add(cmd)
	formatFlag(cmd.Flags(), &format, "plan", "text", "json")
	return cmd
}

func planSuite(env *environment, p *suite.Plan, format string) error {
	if format == "json" {
		return printJSON(env.stdout, shownSuite(p))
	}
	return writeSuitePlan(env.stdout, p)
}

// suitePlanShown is the JSON form of a plan.
type suitePlanShown struct {
	Specification spec.Suite    `json:"specification"`
	Budget        string        `json:"budget"`
	Limit         spec.Duration `json:"limit,omitempty"`
	Scale         spec.Scale    `json:"scale"`
	Against       string        `json:"against,omitempty"`
	Seconds       float64       `json:"estimate_seconds"`
	Parts         []record.Part `json:"parts"`
	Left          []spec.Left   `json:"left"`
}

func shownSuite(p *suite.Plan) suitePlanShown {
	s := suitePlanShown{Specification: p.Folder.Spec, Budget: p.Budget, Limit: spec.Duration(p.Limit), Scale: p.Scale,
		Against: store.Redact(p.Against), Seconds: p.Estimate().Seconds(), Left: p.Left}
	for i := range p.Parts {
		s.Parts = append(s.Parts, p.Parts[i].Part)
	}
	return s
}

func writeSuitePlan(w io.Writer, p *suite.Plan) error {
	b := &strings.Builder{}
	fmt.Fprintf(b, "suite %s: %s", report.Clean(p.Folder.Spec.Name), plural(len(p.Parts), "part"))
	if p.Folder.Spec.Title != "" {
		fmt.Fprintf(b, ", %s", report.Clean(p.Folder.Spec.Title))
	}
	fmt.Fprintln(b)
	if len(p.Engines) > 0 {
		fmt.Fprintf(b, "engine: %s\n", strings.Join(p.Engines, ", "))
	}
	if p.Against != "" {
		fmt.Fprintf(b, "target: %s instead of labs\n", store.Redact(p.Against))
	}
	if text := p.Scale.String(); text != "1" {
		fmt.Fprintf(b, "scale: %s of the document's hardware\n", text)
	}
	fmt.Fprintln(b)
	t := table{left: 5, last: 1}
	t.row("part", "kind", "trials", "needs", "time", "shows")
	for i := range p.Parts {
		x := &p.Parts[i]
		trials, took := "-", "left out"
		if x.Study != nil {
			trials = fmt.Sprint(len(x.Study.Trials))
		}
		if !x.Out() {
			took = clock(time.Duration(x.Estimate * float64(time.Second)))
		}
		t.row(report.Clean(x.Name), x.Kind, trials, cmp.Or(strings.Join(x.Needs, " "), "-"), took,
			report.Clean(cmp.Or(showsText(&x.Part), "-")))
	}
	t.write(b, "")
	fmt.Fprintf(b, "\ntime    about %s", clock(p.Estimate()))
	if p.Limit > 0 {
		fmt.Fprintf(b, ", to be scaled to %s", clock(p.Limit))
	}
	fmt.Fprintln(b)
	writeLeft(b, p.Left)
	var texts []string
	for _, l := range p.Left {
		texts = append(texts, leftText(l))
	}
	if line := installLine(texts...); line != "" {
		fmt.Fprintf(b, "\ninstall the missing packages: %s\n", line)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// showsText lists the statements that a part covers.
func showsText(p *record.Part) string {
	text := strings.Join(p.Shows, ", ")
	if p.Level != "" {
		text += " (" + p.Level + ")"
	}
	return text
}

func writeLeft(b *strings.Builder, left []spec.Left) {
	if len(left) == 0 {
		return
	}
	fmt.Fprintln(b, "\nscaled or left out")
	for _, l := range mergeLeft(left) {
		fmt.Fprintf(b, "  %s\n", wrap(report.Clean(leftText(l)), textWidth-2, "    "))
	}
}

// mergeLeft merges lines of several parts that differ in the part only.
func mergeLeft(left []spec.Left) []spec.Left {
	var list []spec.Left
	at := map[spec.Left]int{}
	for _, l := range left {
		same := l
		same.Part = ""
		i, ok := at[same]
		if !ok || l.Part == "" {
			at[same] = len(list)
			list = append(list, l)
			continue
		}
		list[i].Part += ", " + l.Part
	}
	return list
}

// leftText is one reduction of a suite as a sentence.
func leftText(l spec.Left) string {
	if l.What == spec.LeftPart {
		verb := " is"
		if strings.Contains(l.Part, ", ") {
			verb = " are"
		}
		return l.Part + verb + " left out: " + l.Why
	}
	text := l.What
	if l.Part != "" {
		text = l.Part + ": " + text
	}
	verb := " is "
	switch name := l.What[strings.LastIndexByte(l.What, '.')+1:]; {
	case strings.HasPrefix(name, "levels "), name == "trials", name == "threads", name == "records", name == "workers", name == "cores":
		verb = " are "
	}
	switch {
	case l.To == "":
		text += verb + "left out"
	case l.From != "":
		text += verb + l.To + " instead of " + l.From
	default:
		text += verb + l.To
	}
	return text + ": " + l.Why
}
