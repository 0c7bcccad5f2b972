package report

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// Entry is a record in a list: what its main file says.
type Entry struct {
	// Kind is that of the record, such as run or study.
	Kind  string
	Title string
	// What is the title that a trial has without its study.
	What string
	// Status is that of the record, or running while the record is being written.
	Status  record.Status
	Verdict string
	// Grade is how good the result is; empty if it is not known.
	Grade  Grade
	Labels map[string]string
	// Target is the target in a word, Workload the workload; empty if there is none.
	Target, Workload string
	// Disclosure is shown with the figures; see [Disclosure].
	Disclosure string
	// Lab is the loaded lab, empty if there is none.
	Lab string
	// Rate and P99 are those of the measured phase of a run as text, empty if unknown; P99 is of all operations
	// together.
	Rate, P99 string
	// Figure is the first figure of a record without a rate, with its name.
	Figure string
}

// EntryOf is a record in a list, with the names of the records below it by their directories. Other files of the
// record are not read.
func EntryOf(r record.Result) (Entry, map[string]string) {
	h := r.Common()
	k := named(h.Kind)
	e := Entry{Kind: h.Kind, Status: h.Status}
	figure := ""
	if k.holds != nil && k.holds(r) {
		d := k.document(r, nil)
		e.Title, e.Verdict, e.Grade = d.Title, d.Brief, d.Grade
		if k.told {
			e.Title += ": " + d.Answer
		}
		if len(d.Tiles) > 0 {
			figure = join(" ", d.Tiles[0].Value, lower(d.Tiles[0].Name))
		}
	}
	if k.list != nil {
		k.list(r, &e)
	}
	if e.Rate == "" && e.Figure == "" {
		e.Figure = figure
	}
	if k.parts == nil {
		return e, nil
	}
	return e, k.parts(r)
}

// Below says what is below a record of a kind, for a link to them, such as "all trials"; "" if nothing is. each is true
// if there are so few that each has a link.
func Below(kind string) (all string, each bool) {
	k := named(kind)
	return k.all, k.each
}

// KindText is a number of records of a kind: "2 studies".
func KindText(n int, kind string) string {
	if stem, ok := strings.CutSuffix(kind, "y"); ok && n != 1 {
		return fmt.Sprintf("%d %sies", n, stem)
	}
	return figure.Plural(n, kind)
}

// loaded notes what was loaded, and with what. The directory of an embedded store and the options of an address are
// left out, so that records of the same target have the same word.
func (e *Entry) loaded(target, engine string, w spec.Workload) {
	e.Disclosure, e.Workload = cmp.Or(Disclosure(target), Disclosure(engine)), w.Name
	kind, _, _ := strings.Cut(target, ":")
	switch {
	case Disclosure(target) != "" && !strings.Contains(target, "//"):
		e.Target = kind
	case target == "":
		e.Target = engine // the lab of a study or drill is its own
	default:
		address := strings.TrimPrefix(strings.TrimPrefix(target, "mongodb://"), "mongodb+srv://")
		address, _, _ = strings.Cut(address, "?")
		e.Target = strings.TrimSuffix(address, "/")
	}
}

func p99Of(l *record.Latency) string {
	if text := percentileText(l, 0.99); text != "-" {
		return text
	}
	return ""
}

// labOf is the name of the lab that a target means, "" if it is none.
func labOf(target string) string {
	if name, ok := spec.LabOf(target); ok {
		return name
	}
	return ""
}
