package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/record"
)

func drillLedger(r *record.DrillRound) Section {
	s := Section{Title: "ledger"}
	l := r.Ledger
	if l == nil {
		return s
	}
	s.Lines = append(s.Lines, fmt.Sprintf("%s of %s: %s acknowledged, %s indeterminate, %s not applied.", figure.Plural(int(l.Attempted), "write"),
		figure.Plural(l.Writers, "writer"), figure.Count(l.Acknowledged), figure.Count(l.Indeterminate),
		figure.Count(l.NotApplied)))
	s.Table = &Table{Header: []string{"class", "inserts", "updates"}, Left: 1}
	classes := maps.Clone(l.Inserts)
	if classes == nil {
		classes = map[string]int64{}
	}
	maps.Copy(classes, l.Updates)
	for _, class := range slices.Sorted(maps.Keys(classes)) {
		s.Table.row(class, figure.Count(l.Inserts[class]), figure.Count(l.Updates[class]))
	}
	if text := foundElsewhere(l); text != "" {
		s.Lines = append(s.Lines, text)
	}
	if r.Seeds > 0 {
		s.Lines = append(s.Lines, fmt.Sprintf("%d of %d seed records were found.", r.SeedsFound, r.Seeds))
	}
	if text := drillUse(r); text != "" {
		s.Lines = append(s.Lines, text)
	}
	return s
}

// drillUse is what a round used, the servers first: from before the load until redundancy was back, the load processes
// and the REST service while there was load. Empty where nothing is known.
func drillUse(r *record.DrillRound) string {
	var parts []string
	if r.Members > 0 {
		text := fmt.Sprintf("the lab, with data on %s, used %s of CPU", figure.Plural(r.Members, "member"), nanoseconds(r.CPUSeconds*1e9))
		if r.WrittenBytes > 0 {
			text += " and wrote " + figure.Bytes(r.WrittenBytes)
		}
		parts = append(parts, text)
	}
	if r.ServiceCPUSeconds > 0 {
		parts = append(parts, fmt.Sprintf("the REST service used %s of CPU", nanoseconds(r.ServiceCPUSeconds*1e9)))
	}
	if r.ClientCPUSeconds > 0 {
		parts = append(parts, fmt.Sprintf("the load generator used %s of CPU", nanoseconds(r.ClientCPUSeconds*1e9)))
	}
	if len(parts) == 0 {
		return ""
	}
	return Capitalised(strings.Join(parts, "; ")) + "."
}

// foundElsewhere says where lost writes still are, so that somebody can fetch them: the old timeline of a member, its
// rollback files, a member that has what the primary lacks. It is empty if nothing was lost.
func foundElsewhere(l *record.LedgerResult) string {
	if len(l.Lost) == 0 {
		return ""
	}
	places, nowhere := map[string]int{}, 0
	for _, w := range l.Lost {
		if w.Found == "" {
			nowhere++
			continue
		}
		places[w.Found]++
	}
	of := figure.Plural(len(l.Lost), "lost write")
	if int64(len(l.Lost)) < l.LostWrites() {
		of = "the first " + of
	}
	if nowhere == len(l.Lost) {
		return fmt.Sprintf("Of %s, none is found anywhere else.", of)
	}
	var list []string
	for _, place := range slices.Sorted(maps.Keys(places)) {
		list = append(list, fmt.Sprintf("%s in %s", figure.Count(int64(places[place])), place))
	}
	if nowhere > 0 {
		list = append(list, figure.Count(int64(nowhere))+" nowhere")
	}
	return fmt.Sprintf("Of %s, there are still %s.", of, strings.Join(list, ", "))
}

// drillReads is what the audit read: the final read, and how each member differs from it.
func drillReads(r *record.DrillRound) Section {
	s := Section{Title: "members"}
	if r.Ledger == nil || len(r.Ledger.Reads) == 0 {
		return s
	}
	s.Table = &Table{Header: []string{"read", "state", "documents", "missing", "only there", "took", "what"}, Left: 2, Last: 1}
	s.Lines = append(s.Lines, "Each member that can be read directly, compared with the final read through the client.")
	for _, x := range r.Ledger.Reads {
		place, kept := shortPlace(x.Source)
		if kept != "" {
			s.Lines = append(s.Lines, Capitalised(place)+" is "+kept+"; only writes of this round whose tags were found count there.")
		}
		what := strings.TrimPrefix(x.Behind+"; "+x.Problem, "; ")
		s.Table.row(place, cmp.Or(readStates[x.State], x.State, "–"), figure.Count(x.Documents), figure.Count(x.Missing),
			figure.Count(x.Extra),
			nanoseconds(x.Seconds*1e9), strings.TrimSuffix(what, "; "))
	}
	return s
}

// shortPlace is the name of a place in which writes were found, without the path that it may have in brackets, and that
// path with what it is, "" if it has none. A table would be as wide as the path.
func shortPlace(name string) (short, kept string) {
	short, rest, ok := strings.Cut(name, " (")
	if !ok || !strings.HasSuffix(rest, ")") {
		return name, ""
	}
	return short, strings.TrimSuffix(rest, ")")
}

var readStates = map[string]string{record.MemberNeverRead: "never read"}

// mostLost is how many lost writes are listed; the record has more.
const mostLost = 20

func drillLost(r *record.DrillRound) Section {
	s := Section{Title: "lost writes", Long: true}
	if r.Ledger == nil || len(r.Ledger.Lost) == 0 {
		return s
	}
	s.Table = &Table{Header: []string{"id", "writer", "sequence", "before the fault", "found"}, Left: 1, Last: 1}
	for i, w := range r.Ledger.Lost {
		if i == mostLost {
			s.Notes = append(s.Notes, "the record has all of them, as ranges by writer")
			break
		}
		found, _ := shortPlace(w.Found)
		s.Table.row(w.ID, strconv.Itoa(w.Writer), strconv.FormatInt(w.Sequence, 10), nanoseconds(float64(w.Age)),
			cmp.Or(found, "nowhere"))
	}
	return s
}
