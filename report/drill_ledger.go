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

// writeResults are the classes of writes in the order of the table, with the name and the meaning of each. Writes
// without a definite answer are called indeterminate, as in the sentence above the table.
var writeResults = []struct{ class, name, meaning string }{
	{record.WriteOK, "ok", "acknowledged, and present at the end"},
	{record.WriteLost, "lost", "acknowledged, and absent at the end"},
	{record.WriteRecovered, "indeterminate, present", "no definite answer, and present at the end"},
	{record.WriteDropped, "indeterminate, absent", "no definite answer, and absent at the end; this is not a loss"},
	{record.WriteStale, "missed by a read", "acknowledged, absent in a later read, and present at the end"},
	{record.WriteDiverged, "diverged", "different between members after replication had caught up"},
	{record.WritePhantom, "phantom", "reported as not applied, but present"},
	{record.WriteDuplicated, "duplicated", "applied more than once"},
	{record.WriteTorn, "torn", "of a transaction of which some inserts are present and others are not"},
	{record.WriteCorrupt, "corrupt", "present with other content than was written"},
	{record.WriteUnexpected, "unexpected", "present, but no client of this drill wrote it"},
	{record.WriteNeverRead, "not read", "the final read did not cover it, so its result is unknown"},
}

// driverRepeats is why writes during an outage have an answer.
const driverRepeats = "After a network error or a change of the primary, the client driver repeats a write until its timeout. " +
	"The answer to the last attempt counts, so such a write can be acknowledged."

func drillLedger(r *record.DrillRound, client string) Section {
	s := Section{Title: "ledger of writes"}
	l := r.Ledger
	if l == nil {
		return s
	}
	s.Lines = append(s.Lines, fmt.Sprintf("%s sent %s: %s acknowledged, %s indeterminate (without a definite answer), %s not applied.",
		figure.Plural(l.Writers, "writer"), figure.Plural(int(l.Attempted), "write"), figure.Count(l.Acknowledged),
		figure.Count(l.Indeterminate), figure.Count(l.NotApplied)))
	if n := l.UncheckedWrites(); n > 0 {
		s.Lines = append(s.Lines, fmt.Sprintf("%s further writes were sent and cannot be checked. They are in no row.", figure.Count(n)))
	}
	if client == "driver" {
		s.Lines = append(s.Lines, driverRepeats)
	}
	s.Table = &Table{Header: []string{"result", "inserts", "updates", "meaning"}, Left: 1, Last: 1}
	for _, w := range writeResults {
		inserts, inserted := l.Inserts[w.class]
		updates, updated := l.Updates[w.class]
		if inserted || updated {
			s.Table.row(w.name, figure.Count(inserts), figure.Count(updates), w.meaning)
		}
	}
	s.Notes = l.Notes
	if text := foundElsewhere(l); text != "" {
		s.Lines = append(s.Lines, text)
	}
	if r.Seeds > 0 {
		s.Lines = append(s.Lines, fmt.Sprintf("%d of %d documents that were written before the load are present.", r.SeedsFound, r.Seeds))
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
	if r.Members > 0 && r.Kubernetes == nil {
		text := fmt.Sprintf("the lab, with data on %s, used %s of CPU", figure.Plural(r.Members, "member"), seconds(r.CPUSeconds))
		if r.WrittenBytes > 0 {
			text += " and wrote " + figure.Bytes(r.WrittenBytes)
		}
		parts = append(parts, text)
	}
	if r.ServiceCPUSeconds > 0 {
		parts = append(parts, fmt.Sprintf("the REST service used %s of CPU", seconds(r.ServiceCPUSeconds)))
	}
	if r.ClientCPUSeconds > 0 {
		parts = append(parts, fmt.Sprintf("the load generator used %s of CPU", seconds(r.ClientCPUSeconds)))
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
	if nowhere == len(l.Lost) && l.Unsearched != "" {
		return fmt.Sprintf("Of %s, nothing is known in other places. %s.", of, l.Unsearched)
	}
	if nowhere == len(l.Lost) {
		return fmt.Sprintf("Of %s, none was found in a rollback file, in a discarded log or on another member.", of)
	}
	var list []string
	for _, place := range slices.Sorted(maps.Keys(places)) {
		list = append(list, fmt.Sprintf("%s found in %s", figure.Count(int64(places[place])), place))
	}
	if nowhere > 0 {
		list = append(list, figure.Count(int64(nowhere))+" not found")
	}
	return fmt.Sprintf("Of %s, %s.", of, strings.Join(list, ", "))
}

// drillReads is what the audit read: the final read, and how each member differs from it.
func drillReads(r *record.DrillRound) Section {
	s := Section{Title: "members"}
	if r.Ledger == nil || len(r.Ledger.Reads) == 0 {
		return s
	}
	s.Table = &Table{Header: []string{"read from", "state", "documents", "writes it lacks", "writes only it has", "took", "details"}, Left: 2, Last: 1}
	s.Lines = append(s.Lines, memberMeaning)
	if r.Ledger.Judged != nil {
		s.Lines = append(s.Lines, ownDocuments)
	}
	for _, state := range memberStates {
		if slices.ContainsFunc(r.Ledger.Reads, func(x record.LedgerRead) bool { return x.State == state.state }) {
			s.Lines = append(s.Lines, state.name+": "+state.meaning+".")
		}
	}
	for _, x := range r.Ledger.Reads {
		place, kept := shortPlace(x.Source)
		if kept != "" {
			s.Lines = append(s.Lines, Capitalised(place)+" is "+kept+". Of it, only writes of this round count.")
		}
		if x.Source == record.FinalSource {
			place = "final read"
		}
		what := strings.TrimPrefix(x.Behind+"; "+x.Problem, "; ")
		s.Table.row(place, memberState(x.State), figure.Count(x.Documents), figure.Count(x.Missing),
			figure.Count(x.Extra),
			seconds(x.Seconds), strings.TrimSuffix(what, "; "))
	}
	return s
}

// memberStates are the states of members in the order in which they are explained.
var memberStates = []struct{ state, name, meaning string }{
	{record.MemberAgrees, "agrees", "the member has the same writes as the final read"},
	{record.MemberStale, "lags", "the member lacks only writes that it has not applied yet"},
	{record.MemberDiverged, "diverged", "the member differs from the final read, although it does not lag"},
	{record.MemberNeverRead, "not read", "the member could not be read completely"},
}

func memberState(state string) string {
	for _, s := range memberStates {
		if s.state == state {
			return s.name
		}
	}
	return cmp.Or(state, "–")
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

// mostLost is how many lost writes are listed; the record has more.
const mostLost = 20

func drillLost(r *record.DrillRound) Section {
	s := Section{Title: "lost writes", Long: true}
	if r.Ledger == nil || len(r.Ledger.Lost) == 0 {
		return s
	}
	s.Table = &Table{Header: []string{"id", "writer", "number of the write", "acknowledged", "found in"}, Left: 1, Last: 1}
	shown := r.Ledger.Lost[:min(mostLost, len(r.Ledger.Lost))]
	if slices.ContainsFunc(shown, func(w record.LostWrite) bool { return strings.Contains(w.ID, ".") }) {
		s.Lines = append(s.Lines, updateMeaning)
	}
	if n := r.Ledger.LostWrites(); n > mostLost {
		s.Lines = append(s.Lines, fmt.Sprintf("These are %d of %s. drill.json lists all of them, as ranges of numbers for each writer.",
			mostLost, figure.Plural(int(n), "lost write")))
	}
	for _, w := range shown {
		found, _ := shortPlace(w.Found)
		acknowledged := "not known"
		if w.Acknowledged >= 0 {
			acknowledged = sinceFault(-w.Age, effect)
		}
		s.Table.row(w.ID, strconv.Itoa(w.Writer), strconv.FormatInt(w.Sequence, 10), acknowledged,
			cmp.Or(found, map[bool]string{true: "nowhere", false: "not searched"}[r.Ledger.Unsearched == ""]))
	}
	return s
}
