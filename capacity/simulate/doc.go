// Package simulate computes event by event what operations of a deployment wait for. A [Commits] is one server with
// cores, whose durable writes share the syncs of a journal. Its times are drawn from measured distributions, which the
// caller has; nothing here knows records or reads the clock.
//
// There is no well-kept library of discrete events in Go (2026), and an event loop is a heap.
package simulate
