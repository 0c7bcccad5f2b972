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
//   - writes-follow-reads: a session read a version that was rolled back, and its next write survived. A server that
//     shows the write to others before the version is not found.
//   - committed: a read returned a version that is missing at the end. At local these are dirty reads; at read concern
//     majority they are forbidden.
//   - written: a read returned a version that was sent only after the read had ended, that was never sent, or that
//     was refused. No level allows that.
//   - linearizable: a read lacks a version that was acknowledged before the read was sent, or before the writer sent a
//     version that the read returned; or one that another read returned that had ended by then.
//   - one-order: a read lacks a version that another read of the register returned, and that one lacks a version of the
//     first.
//
// monotonic-reads compares a read with the one before of the same session and register, unless the session has begun
// to read 1024 other registers since. one-order counts each read that contradicts the sets that were judged before.
// Which of the reads is wrong is not known.
//
// For linearizable reads, the last three together are exact: a register's history passes if and only if one order of
// its operations explains all answers and keeps the order in real time. Each read fixes which versions come before and
// after it. So an order exists if these relations and the real time have no cycle. If the sets of versions form a
// chain, there is a cycle only if two operations contradict each other. A write without a definite answer may come
// at any time after it was sent, or never. Times of different processes are not comparable, so a register is read by
// the sessions of one process.
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
// is counted and not judged. Judging takes 24 bytes for each write that is kept and for each different set of versions
// that reads of a register returned, and 4 for each stale read; 24 for each linearizable read.
package reads
