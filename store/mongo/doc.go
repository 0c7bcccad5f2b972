// Package mongo loads a MongoDB target through the official Go driver: what an application feels, with
// the driver's pools, monitoring, server selection and retries.
//
// A retry inside the driver would let one slow operation hide an outage, so every command that the
// driver sends is counted (store.Result.Attempts), and the time an operation spent without a
// connection is measured apart (store.Result.PoolWait, see [tracker]). What an error means is decided
// by the table in package store, with what the driver adds to it in classify.go.
//
// Speed is not the point here: the client with pre-built messages and one connection per worker is
// store/wire. Documents pass through as raw BSON; nothing is decoded.
package mongo
