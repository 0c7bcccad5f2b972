// Package ledger records the outcome of every write, and finds out afterwards whether the write is there.
//
// A write is an inserted document or one update of a document. During the load, the ledger records whether each write
// was acknowledged, proven not applied, or neither. Then an audit reads everything back: first the final read (the
// primary, at read concern majority), then each member directly.
//
// # Classes
//
// Each write gets one class, the first of this list that fits. A write that was refused and is absent has no class.
// Words that Jepsen's set checkers use have the same meaning here.
//
//   - corrupt: present with other content than was written, or only under another _id. Documents that are too
//     damaged to identify count here too, in addition to the writes.
//   - duplicated: present in more than one document, or an update that was applied more than once. (Jepsen's
//     set-full means to have this class, but never fills it.)
//   - phantom: declared not applied, and present. Either the server was wrong, or the ledger took an error for a proof
//     that is none.
//   - lost: acknowledged, and absent from the final read. As in Jepsen.
//   - never-read: the final read failed or there was none, and the write was not seen. Jepsen calls a set that was
//     never read unknown.
//   - torn: an insert of a transaction that was not aborted, present while another insert of it is absent, or the
//     reverse. MongoDB applies a transaction as a whole, also if its commit has no answer, and rolls it back as a
//     whole.
//     Two final reads in succession have to show it, because a transaction may commit while one runs.
//   - stale: acknowledged, missing in a read that the same writer began after that, and present in the final read.
//     Also: missing on a member that is known to be behind the primary while the audit reads it.
//   - diverged: a member that is not behind differs from the final read, or a member that is behind has a write that
//     the final read lacks.
//   - ok: acknowledged and present. (Jepsen counts recovered writes as ok, too.)
//   - recovered: indeterminate and present. As in Jepsen.
//   - dropped: indeterminate and absent.
//   - unexpected: present, with a proof that it comes from this run, and never attempted. As in Jepsen. It is counted
//     in addition to the writes.
//
// A write is indeterminate unless it is proven otherwise: without an answer, after an error that does not say what
// happened, if the write concern was not reached, at w:0, after an error that follows a hidden retry, in a batch that
// failed partly, and in a call that was abandoned.
//
// # What a document carries
//
// An inserted document gets the field _plimsoll at its end: 24 bytes (binary, 40 with the name) with the run (4),
// the writer and the sequence (8), and checksums (4 each) of these, of their connection with _id, and of all other
// fields. Contents are checked unless updates change them. The fields before the tag were in the inserted document,
// whatever their names are. Counters and fields that were added later follow the tag.
//
// A document that is updated gets a counter for each run, _plimsollRUN with the run in eight hexadecimal digits: a
// field of the document itself and a short number, because that costs the server the least work.
//
// In the own workload ("ledger", [Ledger.Workload]) each update has a counter of its own, so updates are known one by
// one. The updates of another workload ([Ledger.Wrap]) go to documents that all writers share. Each increments one
// counter of its document, and the audit compares groups of documents with their outcomes. As in Jepsen's counter, the
// sum must be between the acknowledged and the attempted updates. A reported loss or double is real, but a loss and a
// double in one group can hide each other, the lost update is not known, and an extra update counts as a phantom if one
// of the group was refused. A loss can also be hidden by an indeterminate update that was applied; the result says how
// many can. The sums can prove that a transaction whose commit got no answer was applied in part (divided.go). Upserts,
// replacements, and updates that find their document by anything but its _id cannot be checked; the result counts them
// by kind. Contents of inserted documents are not compared where updates changed them or may have; the result counts
// those, too.
//
// # Memory
//
// Two bits for each write, and almost nothing where neighbours have the same outcome: see outcomes. The times of the
// last acknowledgements ([Options.Recent]) are exact, all others are known to within 64 writes. The age of a lost write
// has limits: those of its acknowledgement, and those of the moment when the fault took effect ([Fault]).
//
// # Several processes
//
// Each process has a ledger with its own writer numbers and hands over every few seconds what is new ([Ledger.Delta]).
// The process that audits adds it to its own ledger ([Remote]). If a process was killed, its writes since the last
// hand-over are not known: they are neither lost nor present, their documents are not called unexpected, and the result
// says so ([Ledger.Cut]).
package ledger
