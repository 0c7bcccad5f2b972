// Package simulate computes event by event what operations of a deployment wait for. A [Shard] is one server or the
// primary of a set: tickets, cores, reads of the disk, group commit of a journal, other members, flow control, a
// router. A [Fleet] is many sets whose members fail, for long times. Their times are drawn from measured distributions,
// which the caller has; nothing here knows records or reads the clock.
//
// There is no library of discrete events in Go (2026) that is well kept and fast enough: simgo runs a goroutine for
// each process, and an event loop is a heap.
package simulate
