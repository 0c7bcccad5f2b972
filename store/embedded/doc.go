// Package embedded keeps documents in Pebble in a local directory: the target that needs no server.
//
// It is a real engine with a write-ahead log, so the durability levels mean something, and the disk is
// the user's own. It is not MongoDB: no network, no replication, no transactions, and of the query
// language only what the shipped workloads send. Everything it reports carries the kind "embedded".
//
// # Language
//
// What follows is all that the engine knows. Everything else is rejected by its name (outcome rejected,
// reason client) before anything is read or written; the engine never guesses.
//
//	filters:      equality, $gte and $lt, on dotted paths; an array matches if one of its elements does
//	projections:  fields of the document itself, by 1; the _id always comes along
//	sorting:      by 1 and -1, on dotted paths; in memory where neither _id nor an index gives the order
//	updates:      $set and $inc, on dotted paths through documents, and replacements; of the one document
//	              whose _id the filter names and nothing else; with or without upsert
//	pipelines:    $match, $group with $sum and $avg of fields or constants, $sort, $limit; each at most
//	              once, in this order
//	indexes:      ascending, on one field that may hold an array, or on several that may not
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
// is w:1, and what nobody waited for is synced every 100 ms. Concurrent
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
