package ledger

import "github.com/plimsoll-bench/plimsoll/record"

// newShards makes room for what is told by shard.
func (a *audit) newShards() {
	if a.l.shards == 0 {
		return
	}
	a.shards = make([]record.LedgerShard, a.l.shards+1)
	for i := range a.shards {
		a.shards[i].LossWindow = -1
		if i > 0 && i <= len(a.opts.Shards) {
			a.shards[i].Shard = a.opts.Shards[i-1]
		}
	}
}

// slot is where a shard is in shards. What was handed over may be of a shard that nobody knows here.
func (a *audit) slot(shard int) *record.LedgerShard {
	if shard >= a.l.shards {
		shard = -1
	}
	return &a.shards[shard+1]
}

// countShards counts the acknowledged writes of a lane by shard.
func (a *audit) countShards(l *lane) {
	if a.shards == nil {
		return
	}
	for n := range l.next {
		if l.state(n) == acknowledged {
			a.slot(l.shardOf(n)).Acknowledged++
		}
	}
}

// loseOn counts a lost write on its shard. age is how long before the fault it was acknowledged; below 0 that is not
// known, or was later.
func (a *audit) loseOn(shard int, n, age int64) {
	if a.shards == nil || n == 0 {
		return
	}
	s := a.slot(shard)
	s.Lost += n
	s.LossWindow = max(s.LossWindow, age)
}

// byShard puts what is told by shard into the result. Writes whose shard is not known are there only if there are any.
func (a *audit) byShard() {
	for i, s := range a.shards {
		if i > 0 || s.Acknowledged > 0 {
			a.result.Shards = append(a.result.Shards, s)
		}
	}
}
