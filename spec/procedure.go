package spec

import "time"

// Defaults fills in what was not said. Duration stays as it is: without one, that of the base run counts.
func (t *Threads) Defaults() {
	if len(t.Levels) == 0 {
		def(&t.From, 1)              // response time without any queue: what the knee is measured from
		def(&t.To, max(256, t.From)) // more than saturates any single server
	}
	def(&t.Trials, 3)  // the fewest whose interval says something
	def(&t.Gain, 0.05) // doubling the workers for less is not worth their response time
}

// Defaults fills in what was not said.
func (s *Steady) Defaults() {
	def(&s.By, "duration")
	def(&s.Cycle, Duration(time.Minute)) // how often WiredTiger takes a checkpoint
	if s.By == "operations" {
		def(&s.From, 1_000_000) // minutes on a small server; the documents began with five times as many
	} else {
		// Four checkpoints within the measured time, as TPC-C 5.5.2 asks.
		def(&s.From, max(1, Count(4*time.Duration(s.Cycle).Seconds())))
	}
	def(&s.To, 8*s.From)
	def(&s.Factor, 2)
	def(&s.Tolerance, 0.02) // what TPC-C 5.5.2 tolerates
	def(&s.Trials, 1)       // a step is confirmed by the next one
}

// Defaults fills in what was not said. From stays as it is: without one, a closed loop shows where to begin; so does
// To: without one, the ramp goes on until a rate does not hold. Without Duration, that of the base run counts.
func (c *Capacity) Defaults() {
	def(&c.Growth, 1.5)
	def(&c.Precision, 0.03)
	def(&c.Confirm, 3)
}
