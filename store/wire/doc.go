// Package wire is the fast client for MongoDB servers: it speaks OP_MSG over one connection per
// session, builds messages in the session's own buffer from raw BSON and reads answers in place, so
// that the client is not what a benchmark measures.
//
// The commands have the same elements in the same order as those of the official Go driver; it makes
// one attempt per request and never retries. What it does not have (compression, other authentication
// mechanisms than SCRAM, client-side encryption, load-balanced mode) it refuses by name, and the
// official driver (store/mongo) is there for it. What an answer means is decided in package store.
package wire
