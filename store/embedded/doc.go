// Package embedded keeps documents in Pebble in a local directory: the target that needs no server.
//
// It is a real engine with a write-ahead log on the user's disk, so the durability levels mean something. It is not
// MongoDB: it has no network, no replication and no transactions, and its query language is what the shipped workloads
// send. Its results have the kind "embedded".
//
// # Language
//
// The engine rejects everything that is not in this list by its name (outcome rejected, reason client) before it reads
// or writes anything.
//
//	filters:      equality, $eq, $ne, $in, $gt, $gte, $lt and $lte, on dotted paths; an array matches if one of its
//	              elements does
//	projections:  fields of the document itself, by 1; the _id is always included
//	sorting:      by 1 and -1, in the order that the _id or an index has, in both directions, otherwise in memory
//	updates:      $set, $inc and $push (with $each and $slice), on dotted paths through documents, and replacements; of
//	              one or many documents of any filter; with upsert if the filter is one _id
//	deletes:      of one or many documents of any filter
//	findAndModify, distinct
//	pipelines:    $match, $group by a field, a constant or a document of them, with $sum and $avg of fields or
//	              constants, $sort by 1 and -1, $limit; in this order, each at most once, $group always
//	indexes:      ascending and descending, on one field that may hold an array, or on several that may not; unique,
//	              and partial with a filter as above, without $ne; one on one field may expire documents, which are
//	              removed once a minute
//	streams:      changes of one collection from the first request on, with a $match or none; updates have the changed
//	              fields of the document itself
//	types:        documents may hold every BSON type; an _id and a filter may hold numbers but no decimals, strings,
//	              documents, arrays (not an _id), binaries, object ids, booleans, dates and null
//
// # Durability
//
// The table says when a write is acknowledged and what survives.
//
//	w            j      acknowledged              process killed       power lost
//	0            any    not at all                up to 100 ms lost    up to 100 ms lost
//	1, n, "",tag unset  once applied in memory    up to 100 ms lost    up to 100 ms lost
//	any but 0    true   once the log is synced    nothing lost         nothing lost
//	majority     unset  once the log is synced    nothing lost         nothing lost
//	majority     false  once applied in memory    up to 100 ms lost    up to 100 ms lost
//
// This follows a standalone mongod: majority journals unless j says otherwise, an unset write concern is w:1, and the
// log is synced every 100 ms if no write waits for it. Concurrent waiters share one sync.
//
// # Deadlines
//
// A deadline is checked before an operation starts and during a scan. A disk that hangs cannot be interrupted: the
// operation returns when the disk does.
//
// # Failed storage
//
// The first write, sync or create that the file system refuses freezes the store: nothing more reaches the disk, as if
// the process had died then, and every later operation returns the failure. Opening the directory again recovers every
// write that was acknowledged with a sync.
//
// Timing, scheduling, counting and the choice of the directory belong to other packages.
package embedded
