// Package embedded keeps documents in Pebble in a local directory: the target that needs no server.
//
// It is a real engine with a write-ahead log, so the durability levels mean something, and the disk is
// the user's own. It is not MongoDB: no network, no replication, no transactions, and only the part of
// the query language that the workloads use. What it does not know it rejects by name, it never
// guesses. Everything it reports carries the kind "embedded".
//
// # Durability
//
// A write is acknowledged as follows; the last two columns say what survives.
//
//	w            j      acknowledged              process killed       power lost
//	0            any    not at all                up to 100 ms lost    up to 100 ms lost
//	1, n, "",tag unset  once applied in memory    up to 100 ms lost    up to 100 ms lost
//	any but 0    true   once the log is synced    nothing lost         nothing lost
//	majority     unset  once the log is synced    nothing lost         nothing lost
//	majority     false  once applied in memory    up to 100 ms lost    up to 100 ms lost
//
// This follows a standalone mongod: majority journals unless j says otherwise, an unset write concern
// is w:1, and what nobody waited for is synced every 100 ms ([Options.JournalInterval]). Concurrent
// waiters share one sync.
//
// # Deadlines
//
// A deadline is checked before an operation starts and while it scans. A disk that does not answer
// cannot be interrupted: such an operation returns when the disk does.
//
// # Failed storage
//
// The first write, sync or create that the file system refuses freezes the store: nothing more reaches
// the disk, as if the process had died there, and every operation from then on is answered with what
// happened. Opening the directory again recovers every write that was acknowledged with a sync.
//
// What does not live here: timing, scheduling, counting, and the choice of the directory.
package embedded
