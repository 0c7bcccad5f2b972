// Package transactions is the workload "transactions" of drills, and what it keeps of each transaction for
// [isolation.Check]. Transactions read and change a few small documents that many sessions share. Each document is a
// register {_id, n, v}: an update sets v to a new number and adds 1 to n.
//
// # Epochs
//
// Every few seconds all sessions move on to documents that nobody has used. Transactions of different epochs share no
// document, so no dependency leads from one epoch to another, and a cycle lies in one of them: order in sessions and in
// real time only leads forwards. So each epoch is a history of its own. A transaction takes about 200 bytes until it is
// taken for judging.
//
// # What a transaction is
//
// A transaction that the client repeats because the server aborted it is one transaction with the reads of its last
// attempt, and begins with its first one. So a value of an attempt that was aborted and repeated is not told from one
// of the last attempt. Writes outside of transactions are transactions of one write. Other reads outside of
// transactions have other promises, and are judged by the workload "ledger".
//
// # Times of the server
//
// A replica set gives each commit a time, and each snapshot read outside of transactions one. A read of the past is one
// of those: it may be older than what was acknowledged before, but must be exact for its time.
//
// The package knows no faults and servers. It does not judge.
package transactions
