// Package simulate computes event by event what a server or many replica sets do. A [Server] is one server under a
// closed load: its cores, and the group commit of its journal. A [Fleet] is many replica sets whose members fail, for
// long times. Their times are drawn from measured distributions, which the caller has; nothing here knows records or
// reads the clock.
//
// There is no library of discrete events in Go (2026) that is well kept and fast enough: simgo runs a goroutine for
// each process, and an event loop is a heap.
package simulate
