package wire

import "time"

// watchEvery is how often servers are asked what they are while reads may go elsewhere than to the primary: a secondary
// that comes back gets its share of the reads again, and one that becomes primary loses it.
const watchEvery = time.Second

// watch asks all servers again and again until the store is closed.
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

// suits reports which server a worker's reads should go to now, "" if none suits.
func (t *topology) suits(want preference, worker int) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if m := t.choose(want, worker); m != nil {
		return m.addr
	}
	return ""
}

// reconsider closes the connection for reads if there was news and the reads should go to another server now. A
// connection whose server suits no more while there is no other that does is kept: it fails by itself, or the server
// suits again.
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
