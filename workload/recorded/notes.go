package recorded

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
)

// Notes count what the entries of one database did not show.
type Notes struct {
	Skipped  map[Skip]int64
	Others   map[string]int64 // other commands, by name
	Cut      map[string]int64 // operations whose command was cut, by verb
	Hidden   map[string]int64 // operations whose shape depends on what was redacted, by verb
	NoDocs   int64            // inserts whose documents are not shown
	InTxn    int64            // operations of transactions
	Routed   int64            // operations that a mongos sent to a shard
	Failed   int64
	Redacted int64
}

// mostDatabases limits the memory of a model. The notes of further databases are those of none.
const mostDatabases = 1000

// Notes returns the notes of a database. Those of "" are of entries that name none.
func (m *Model) Notes(db string) *Notes {
	if m.notes[db] == nil && len(m.notes) > mostDatabases {
		db = ""
	}
	if m.notes[db] == nil {
		m.notes[db] = &Notes{Skipped: map[Skip]int64{}, Others: map[string]int64{}, Cut: map[string]int64{},
			Hidden: map[string]int64{}}
	}
	return m.notes[db]
}

// Skip counts an entry that is not an operation, and returns the error if it ends the reading.
func (m *Model) Skip(op *Operation, err error) error {
	var why Skip
	if !errors.As(err, &why) {
		return err
	}
	m.see(op)
	n := m.Notes(op.Database)
	n.Skipped[why]++
	switch {
	case why == OtherCommand && len(n.Others) < mostDatabases:
		n.Others[op.Verb]++
	case why == Envelope && op.InTxn: // statements do not say that
		n.InTxn += op.Count
	}
	return nil
}

// count counts what an operation did not show.
func (n *Notes) count(op *Operation) {
	if op.Failed {
		n.Failed += op.Count
	}
	if op.InTxn {
		n.InTxn += op.Count
	}
	if op.NoDocs {
		n.NoDocs += op.Count
	}
	if op.Routed {
		n.Routed += op.Count
	}
	if op.Redacted {
		n.Redacted += op.Count
	}
}

// see counts the form of an entry.
func (m *Model) see(op *Operation) {
	if m.forms == nil {
		m.forms = map[Form]int64{}
	}
	m.forms[op.Form]++
	if op.Slow {
		m.slow++
	}
}

// Forms returns the forms of the entries that were operations or could have been, in the order of their names.
func (m *Model) Forms() []string {
	var out []string
	for form := range m.forms {
		if form != "" && form != Binary {
			out = append(out, string(form))
		}
	}
	slices.Sort(out)
	return out
}

// Total returns the notes of all databases together.
func (m *Model) Total() *Notes {
	all := Model{notes: map[string]*Notes{}}
	sum := all.Notes("")
	for _, n := range m.notes {
		addAll(sum.Skipped, n.Skipped)
		addAll(sum.Others, n.Others)
		addAll(sum.Cut, n.Cut)
		addAll(sum.Hidden, n.Hidden)
		sum.NoDocs += n.NoDocs
		sum.InTxn += n.InTxn
		sum.Routed += n.Routed
		sum.Failed += n.Failed
		sum.Redacted += n.Redacted
	}
	return sum
}

// Nothing says in one sentence what a text without operations of a database has, and in another one what to do. The
// database "" is any.
func (m *Model) Nothing(db string) string {
	var entries int64
	for _, n := range m.forms {
		entries += n
	}
	all, others := m.Total(), m.Databases()
	n := all
	if db != "" {
		n = m.Notes(db)
		delete(others, db)
	}
	lines := int(m.forms[StructuredLog] + m.forms[TextLog])
	switch {
	case entries == 0:
		return "it is empty"
	case m.forms[Binary] > 0 && len(m.Forms()) == 0:
		return "it has binary data. Logs, and exports by mongoexport, are text"
	case db != "" && len(others) > 0:
		return fmt.Sprintf("it has operations of other databases: %s. Choose one with --database", counted(others))
	case all.Skipped[Shortened] > 0:
		return fmt.Sprintf("it has %s that the shell printed without inner documents. Print them with "+
			"EJSON.stringify(db.system.profile.find().toArray())", figure.Plural(int(all.Skipped[Shortened]), "document"))
	case total(n.Hidden) > 0:
		return fmt.Sprintf("the server redacted its values (redactClientLogData), and the shapes of all operations depend on "+
			"them: %s. Record the profiler: it has values", counted(n.Hidden))
	case total(n.Cut) > 0:
		return fmt.Sprintf("the server shortened all commands: %s. Log longer lines: "+
			"db.adminCommand({setParameter: 1, maxLogSizeKB: 100})", counted(n.Cut))
	case all.Skipped[Unlisted] > 0:
		return fmt.Sprintf("it has %d update and delete commands, but not their statements. Set slowms lower, or use the log "+
			"of the shards instead of that of a mongos", all.Skipped[Unlisted])
	case lines > 0 && m.slow == 0:
		return fmt.Sprintf("it has %s of a log, but none about a slow operation. Log more operations: "+
			"db.setProfilingLevel(0, {slowms: 20}) on each server", figure.Plural(lines, "line"))
	case all.Skipped[Damaged] == entries:
		return fmt.Sprintf("it has %s that are damaged or cut off. Copy the file again, without changing its lines",
			figure.Plural(int(entries), "line"))
	case len(m.Forms()) == 0:
		return fmt.Sprintf("it has %s of another kind. Known are logs of mongod and mongos, exports of system.profile as JSON, "+
			"and captured commands", figure.Plural(int(entries), "line"))
	}
	return "it has other entries: " + reasons(all.Skipped) + ". Check --database, and log more operations with a lower slowms"
}

// reasons lists why entries were skipped.
func reasons(skipped map[Skip]int64) string {
	var parts []string
	for _, why := range slices.Sorted(maps.Keys(skipped)) {
		parts = append(parts, fmt.Sprintf("%d %s", skipped[why], why))
	}
	return strings.Join(parts, ", ")
}

func addAll[K comparable](to, from map[K]int64) {
	for key, n := range from {
		to[key] += n
	}
}

func total(counts map[string]int64) (n int64) {
	for _, k := range counts {
		n += k
	}
	return n
}
