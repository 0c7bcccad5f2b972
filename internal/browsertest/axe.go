package browsertest

import (
	_ "embed"
	"fmt"
	"strings"
)

// axe is axe-core 4.14.1 (MPL-2.0; testdata has its licence).
//
//go:embed testdata/axe.min.js
var axe string

// Fault is an accessibility fault of axe-core.
type Fault struct {
	ID     string   `json:"id"`
	Impact string   `json:"impact"` // minor, moderate, serious or critical
	Help   string   `json:"help"`
	Nodes  []string `json:"nodes"`
}

func (f Fault) String() string {
	return fmt.Sprintf("%s (%s): %s\n    %s", f.ID, f.Impact, f.Help, strings.Join(f.Nodes, "\n    "))
}

// Faults runs axe-core on the current state of the page and returns the serious and critical faults.
func (p *Page) Faults() []Fault {
	p.t.Helper()
	return p.faults(`{resultTypes: ["violations"], preload: false}`)
}

// Contrast is [Page.Faults] for faults of colours only, for a page that was checked in other colours.
func (p *Page) Contrast() []Fault {
	p.t.Helper()
	return p.faults(`{resultTypes: ["violations"], preload: false,
		runOnly: {type: "rule", values: ["color-contrast", "link-in-text-block"]}}`)
}

func (p *Page) faults(options string) []Fault {
	p.t.Helper()
	if p.Text(`typeof window.axe`) == "undefined" {
		p.Eval(axe+"; true", nil)
	}
	var all []Fault
	p.Eval(`axe.run(document, `+options+`).then(r => r.violations.map(v => ({
		id: v.id, impact: v.impact || "", help: v.help,
		nodes: v.nodes.slice(0, 5).map(n => n.html.slice(0, 200) + " — " + (n.failureSummary || "").replace(/\s+/g, " ").slice(0, 300)),
	})))`, &all)
	var grave []Fault
	for _, f := range all {
		if f.Impact == "serious" || f.Impact == "critical" {
			grave = append(grave, f)
		}
	}
	return grave
}
