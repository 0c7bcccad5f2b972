// Package ledger keeps what every writer was told about its writes, and finds out afterwards what became of them.
//
// A write is an inserted document or one update of a document. While the load runs, the ledger notes for each one
// whether it was acknowledged, proven not to have been applied, or neither. After that an audit reads everything
// back: first the final read (the primary, at read concern majority), then each member directly.
//
// # Classes
//
// Each write gets exactly one class, the first of this list that fits. A write that was refused and is not there
// has no class, as nothing happened. Where Jepsen's set checkers have the same word, it means the same.
//
//   - corrupt: present with other content than was written, or under another _id alone. Documents that are too
//     damaged to tell whose they are count here too, beside the writes.
//   - duplicated: present in more than one document, or an update that was applied more than once. (Jepsen's
//     set-full means to have this class, but never fills it.)
//   - phantom: declared not applied, and present. The client was told a falsehood, or we believed an error that
//     proves nothing.
//   - lost: acknowledged, and absent from the final read. As in Jepsen.
//   - never-read: the final read did not come to its end, or there was none, and the write was not seen. Nothing is
//     said about it; Jepsen calls a set that was never read unknown.
//   - stale: acknowledged, missing in a read that the same writer began after that, and present in the final read.
//     Also: missing on a member that is known to be behind the primary while the audit reads it.
//   - diverged: a member that is not behind does not agree with the final read about it, or one that is has what the
//     final read has not.
//   - ok: acknowledged and present. (Jepsen counts recovered writes as ok as well; here they are apart.)
//   - recovered: indeterminate and present. As in Jepsen.
//   - dropped: indeterminate and absent.
//   - unexpected: present, with a proof that it comes from this run, and never attempted. As in Jepsen. It is beside
//     the writes, not one of them.
//
// A write is indeterminate unless it is proven otherwise: no answer, an error that does not say what happened, a
// write concern that was not reached, w:0, an error after a hidden retry, a batch of which a part failed, and every
// write of a worker that was given up.
//
// # What a document carries
//
// An inserted document gets the field _plimsoll at its end: 24 bytes (binary, 40 with the name) that are the run (4),
// the writer and the sequence (8), and checksums (4 each) of these, of their connection with _id, and of all other
// fields. Contents are checked unless updates change them. What stands before that field was there when the document
// was inserted, whatever it is called; what stands behind it are counters, and fields that somebody added.
//
// A document that is updated gets a counter for each run, _plimsollRUN with the run in eight hexadecimal digits: a
// field of the document itself, and a short number, because a server finds and increments that with the least work.
//
// The own workload ("ledger", [Ledger.Workload]) tells each update apart, because each one has a counter of its own.
// The updates of another workload ([Ledger.Wrap]) go to documents that all writers share, so each of them increments
// one counter of its document, and the audit compares groups of documents with what was told about them: as Jepsen's
// counter, what is found must lie between the acknowledged and the attempted updates. What is claimed there
// happened; but a loss and a double in one group can hide each other, it is not known which update was lost, and an
// update too many counts as a phantom if one of the group was refused. Upserts, replacements, and updates that find
// their document by anything but its _id cannot be told at all: the result says how many there were.
//
// # Memory
//
// Two bits for each write, and next to nothing where neighbours have the same fate: see lane. Exact times are kept
// of the last acknowledgements ([Options.Recent]), of all others to within 64 writes.
//
// # Several processes
//
// Each process has a ledger of its own with other numbers of writers, marshals it when its run is over, and the one
// that audits merges them. The ledger of a process that was killed is gone: nothing is known about what it was told,
// its documents are not called unexpected, and the result says so ([Ledger.Gone]).
package ledger
