// Package reads judges what reads returned: whether they kept what MongoDB promises at their read concern, read
// preference and write concern, and how far behind they were. It knows nothing of faults, servers or workloads, and
// reads no clock: a verdict is a function of a [History], of what was there in the end, and of what was promised.
//
// # Registers
//
// A register is one document that one writer changes, up to 16 times. Each change is a version of its own and stays
// visible beside the later ones, so a read returns the set of versions that its server had: a mask. That tells more
// than the latest value would. A version that was rolled back leaves a hole, also where the writer went on with the
// same document, and it can be told from one that is not there yet.
//
// # What is judged
//
//   - read-your-writes: a read lacks a version that its own session wrote and was acknowledged before.
//   - monotonic-reads: a read lacks a version that an earlier read of its session returned.
//   - monotonic-writes: a read returns a version and lacks an earlier one of the same writer, acknowledged before the
//     later one was sent.
//   - writes-follow-reads: a session read a version that was rolled back, and its next write survived.
//   - committed: a read returned a version that is not there in the end. At read concern majority that must not be; at
//     local these are dirty reads.
//   - written: a read returned a version that was sent only after the read had ended, that was never sent, or that
//     the client was told is not applied. No level allows that.
//   - linearizable: a read lacks a version that was acknowledged before the read was sent, or one that another
//     read returned that had ended by then. Versions of a register have one order, so this check is exact and takes
//     linear time.
//
// The first four are the guarantees of causally consistent sessions. [Promise] says which combination of read concern
// and write concern promises which of them. What is not promised is counted and is no violation.
//
// # Staleness
//
// A read is stale by the time since the oldest version that it lacks was acknowledged, counted to the moment at which
// the read was sent; only versions that are there in the end count. It is a lower bound: the version was there before
// its acknowledgement arrived, and the read reached the server after it was sent.
//
// # Memory
//
// A session keeps about 14 bytes for a read and 11 for a write. A history has a limit; what is beyond it loses its
// oldest part first, which is counted and not judged. Judging takes 24 bytes for each write that is kept, and 4 for
// each read.
package reads
