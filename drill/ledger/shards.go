package ledger

import "github.com/plimsoll-bench/plimsoll/record"

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

// shard returns the counts of a shard. A ledger that was merged may have an unknown one.
func (a *audit) shard(shard int) *record.LedgerShard {
	if shard >= a.l.shards {
		shard = -1
	}
	return &a.shards[shard+1]
}

// countShards adds the acknowledged writes of one kind of a writer.
func (a *audit) countShards(l *outcomes) {
	if a.shards == nil {
		return
	}
	for n := range l.next {
		if l.state(n) == acknowledged {
			a.shard(l.shardOf(n)).Acknowledged++
		}
	}
}

// loseOn adds n lost writes of one age to a shard.
func (a *audit) loseOn(shard int, n int64, of age) {
	if a.shards == nil || n == 0 {
		return
	}
	s := a.shard(shard)
	s.Lost += n
	if of.known {
		s.LossWindow = max(s.LossWindow, of.of, 0)
	}
	if of.after {
		s.LossAfter = max(s.LossAfter, -of.of)
	}
}

// byShard adds the counts by shard to the result. Writes whose shard is not known are left out if there are none.
func (a *audit) byShard() {
	for i, s := range a.shards {
		if i > 0 || s.Acknowledged > 0 {
			a.result.Shards = append(a.result.Shards, s)
		}
	}
}
