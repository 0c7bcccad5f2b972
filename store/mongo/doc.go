// Package mongo loads a MongoDB target through the official Go driver, like an application: with the driver's pools,
// monitoring, server selection and retries.
//
// A retry inside the driver can hide an outage in one slow operation. So every command that the driver sends is counted
// (store.Result.Attempts), and the time of an operation without a connection is measured separately
// (store.Result.PoolWait, see [tracker]). The table of package store decides outcomes; classify.go adds the errors of
// the driver.
//
// Documents are passed on as raw BSON. For a faster client with one connection per worker see store/wire.
package mongo
