package ledger

// unchecked says why a write of a wrapped workload cannot be checked.
type unchecked uint8

const (
	checked unchecked = iota
	upsert
	many
	pipeline
	filtered
	replacement
	removal
	removed
	output
	untagged
	uncheckedKinds
)

// String names the writes, in the plural.
func (u unchecked) String() string {
	return [...]string{"checked", "upserts", "updates of several documents", "updates by a pipeline",
		"updates by a filter other than _id", "replacements", "removals",
		"writes to collections whose documents are removed or replaced", "aggregations with $merge or $out",
		"inserts of documents without _id"}[u]
}

// uncheckedWrites adds up the writes that cannot be checked, by the reason.
func (l *Ledger) uncheckedWrites() map[string]int64 {
	out := map[string]int64{}
	for _, w := range l.by {
		for why, n := range w.skipped {
			if n > 0 {
				out[unchecked(why).String()] += n
			}
		}
	}
	return out
}

// changes reports whether the writer makes writes after which contents of documents cannot be compared.
func (w *writer) changes() bool { return w.skipped != [uncheckedKinds]int64{} }
