package spec

import "time"

// Defaults fills in missing values except Duration, whose default is that of the base run.
func (t *Threads) Defaults() {
	if len(t.Levels) == 0 {
		def(&t.From, 1)              // response time without a queue, from which the knee is measured
		def(&t.To, max(256, t.From)) // more than saturates any single server
	}
	def(&t.Trials, 3)  // the fewest with a meaningful interval
	def(&t.Gain, 0.05) // doubling the workers for less is not worth their response time
}

// Defaults fills in missing values.
func (s *Steady) Defaults() {
	def(&s.By, "duration")
	def(&s.Cycle, Duration(time.Minute)) // how often WiredTiger takes a checkpoint
	if s.By == "operations" {
		def(&s.From, 1_000_000) // minutes on a small server
	} else {
		// Four checkpoints within the measured time, as TPC-C 5.5.2 asks.
		def(&s.From, max(1, Count(4*time.Duration(s.Cycle).Seconds())))
	}
	def(&s.To, 8*s.From)
	def(&s.Factor, 2)
	def(&s.Tolerance, 0.02) // what TPC-C 5.5.2 tolerates
	def(&s.Trials, 1)       // a step is confirmed by the next one
}
