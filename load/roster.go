package load

import "sync/atomic"

// roster counts the workers that have not ended. Only the last one that ends wakes the conductor, which has something to do for
// every worker each time that it wakes: if every worker woke it, the end of a run would take the square of their number.
type roster struct {
	left atomic.Int64
	gone chan struct{} // closed when nobody is left
}

func newRoster(n int) *roster {
	r := &roster{gone: make(chan struct{})}
	r.left.Store(int64(n))
	return r
}

// leave takes one worker off, one that ended or one that was given up.
func (r *roster) leave() {
	if r.left.Add(-1) == 0 {
		close(r.gone)
	}
}
