package study

// Rest is the remaining work of a running study, between two blocks.
type Rest struct {
	// Trials is the number of remaining trials of each configuration, Done the smallest number of finished ones.
	Trials, Done int
	// Seconds is the time of the rest with 0 to Trials trials of each configuration. It does not decrease.
	Seconds []float64
}

// Takes returns the time in seconds of the rest with a number of trials of each configuration.
func (r *Rest) Takes(trials int) float64 {
	if len(r.Seconds) == 0 {
		return 0
	}
	return r.Seconds[max(0, min(trials, len(r.Seconds)-1))]
}
