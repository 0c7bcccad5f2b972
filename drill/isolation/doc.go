// Package isolation judges histories of transactions: whether they kept the isolation that their settings promise. A
// verdict is a pure function of a [History] and of a [Promise]. The package knows no servers, workloads, faults or
// clocks.
//
// # Registers
//
// A key is one document {_id, n, v, p}. Each write gives it a new [ID] v, adds 1 to its number n, and keeps the ID
// before as p. So a read shows a version, its place in the order of the versions of its key, and its predecessor. A
// write that returns the document as it was before knows its own place. The order of the versions is known then, not
// searched for, and the check is linear; in general it is NP-complete.
//
// # What is judged
//
// One transaction, or two and a version, show the direct anomalies: a value that nobody wrote, or that was written
// only after the read had ended; a value of an aborted transaction, or of one that was rolled back (G1a); a value that
// its transaction replaced (G1b); own writes that are not seen; two answers for one document; one ID in two places; two
// transactions that replaced the same version (lost update); half of a transaction (torn); an acknowledged transaction
// that is gone (lost); and a version or a snapshot that contradicts the server's own times.
//
// A version was rolled back if the final one does not follow from it: it is later, or another one has its place and the
// final one follows from that. Each transaction that read before it wrote says what its version follows from.
//
// The others are cycles of dependencies (Adya, Liskov and O'Neil, 2000): ww, a transaction replaced a version of
// another one; wr, it read one; rw, it read a version that the other one replaced. Read committed forbids cycles of ww
// and wr. Snapshot isolation forbids cycles in which no two rw are next to each other; serializability forbids all. A
// promise with sessions adds an edge from each transaction of a session to the next one; a strong promise adds one from
// each transaction to all that began after it had ended.
//
// The check for snapshot isolation is exact for what was observed. Each transaction is two nodes. An edge that is not
// rw leads from both to the first node of the other transaction, an rw edge from the first node to the second. So a
// path never has two rw in a row, and a cycle of nodes is a cycle that snapshot isolation forbids. Real time costs as
// many edges as there are transactions: they meet at barriers, one for each end that something began after.
//
// # What is not judged
//
// Reads of transactions whose commit was not acknowledged, because the server promises nothing about them. A
// transaction without a definite answer is committed if one of its writes is seen; else it is optional. Versions that
// nobody read have no order. Several cycles in one strongly connected component count once, so counts are lower bounds.
package isolation
