package observe

import "time"

// rates turns counters that only grow into rates per second.
type rates struct {
	last map[string]float64
	at   time.Time
	next map[string]float64
}

func (r *rates) begin() { r.next = map[string]float64{} }

// add notes a counter and returns its growth since the last sample. ok is false at the first sample and after a reset
// of the counter.
func (r *rates) add(name string, total float64) (grown float64, ok bool) {
	r.next[name] = total
	before, known := r.last[name]
	if !known || total < before {
		return 0, false
	}
	return total - before, true
}

// seconds is the time since the last sample, 0 at the first one.
func (r *rates) seconds(now time.Time) float64 {
	if r.at.IsZero() {
		return 0
	}
	return now.Sub(r.at).Seconds()
}

func (r *rates) end(now time.Time) { r.last, r.at = r.next, now }

func (r *rates) reset() { *r = rates{} }

// perSecond adds the rate of a counter to values, if it is known.
func (r *rates) perSecond(values map[string]float64, name string, total float64, now time.Time) {
	if grown, ok := r.add(name, total); ok {
		if s := r.seconds(now); s > 0 {
			values[name] = grown / s
		}
	}
}
