package wire

import "time"

// watchEvery is the interval of greetings to all servers if reads may go to other servers than the primary: a secondary
// that is available again gets its share of the reads again, and a new primary loses it.
const watchEvery = time.Second

// watch greets all servers at intervals until the store is closed.
func (t *topology) watch() {
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			t.mu.Lock()
			t.ask(time.Now())
			t.mu.Unlock()
		case <-t.ctx.Done():
			return
		}
	}
}

// suits returns the server for a worker's reads, "" if none is suitable.
func (t *topology) suits(want preference, worker int) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if m := t.choose(want, worker); m != nil {
		return m.addr
	}
	return ""
}

// reconsider closes the connection for reads if the topology has changed and another server is suitable for the reads.
// If no server is suitable, it keeps the connection: that fails, or its server becomes suitable again.
func (s *Session) reconsider() {
	t := s.store.topology
	if s.reads.link == nil || s.turn == t.turn.Load() {
		return
	}
	s.turn = t.turn.Load()
	if addr := t.suits(s.reads.want, s.worker); addr != "" && addr != s.reads.link.addr {
		s.reads.link.close()
		s.reads.link = nil
	}
}
