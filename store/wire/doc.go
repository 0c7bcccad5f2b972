// Package wire is the fast client for MongoDB servers, so that a benchmark measures the server and not the client. It
// sends OP_MSG over one connection per session, builds messages from raw BSON in a buffer of the session, and parses
// replies in place.
//
// The commands have the same elements in the same order as those of the official Go driver. The client makes one
// attempt per request and never retries. It refuses unsupported options by name: compression, authentication mechanisms
// other than SCRAM, client-side encryption and load-balanced mode. Use the official driver (store/mongo) for these.
// Package store decides the outcome of a reply.
package wire
