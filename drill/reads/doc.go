// Package reads judges what reads returned: whether they kept MongoDB's guarantees for their read concern, read
// preference and write concern, and how stale they were. A verdict is a pure function of a [History], of the data at
// the end, and of the guarantees. The package knows no faults, servers, workloads or clocks.
//
// # Registers
//
// A register is one document that one writer changes, up to 16 times. Each change is a version, which stays visible
// beside later ones, so a read returns the set of versions that its server had, as a mask. That shows more than the
// latest value: a version that was rolled back leaves a hole, even if the writer went on with the same document, so it
// differs from one that has not arrived yet.
//
// # What is judged
//
//   - read-your-writes: a read lacks a version that its own session wrote and was acknowledged before.
//   - monotonic-reads: a read lacks a version that an earlier read of its session returned.
//   - monotonic-writes: a read returns a version and lacks an earlier one of the same writer, acknowledged before the
//     later one was sent.
//   - writes-follow-reads: a session read a version that was rolled back, and its next write survived.
//   - committed: a read returned a version that is missing at the end. At local these are dirty reads; at read concern
//     majority they are forbidden.
//   - written: a read returned a version that was sent only after the read had ended, that was never sent, or that
//     was refused. No level allows that.
//   - linearizable: a read lacks a version that was acknowledged before the read was sent, or one that another
//     read returned that had ended by then. Versions of a register have one order, so this check is exact and takes
//     linear time.
//
// The first four are the guarantees of causally consistent sessions. [Promise] says which of them a read concern and
// a write concern give. What is not guaranteed is counted, but is no violation.
//
// # Staleness
//
// The staleness of a read is the time from the acknowledgement of the oldest version that it lacks until the read was
// sent. Only versions that are there at the end count. It is a lower bound: the version existed before its
// acknowledgement arrived, and the read reached the server after it was sent.
//
// # Memory
//
// A session keeps about 14 bytes for a read and 11 for a write. Beyond its limit a history drops its oldest part, which
// is counted and not judged. Judging takes 24 bytes for each write that is kept, and 4 for each read.
package reads
