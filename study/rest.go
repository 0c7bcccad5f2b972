package study

// Rest is what is left to do of a study that is under way, at a boundary between two of its blocks.
type Rest struct {
	// Trials is how many trials of each configuration there are to be, and Done how many of each there are at least.
	Trials, Done int
	// Seconds is how long the rest takes if there are only so many trials of each, by that number from 0 to Trials. It does not
	// fall as the number rises.
	Seconds []float64
}

// Takes is how many seconds the rest takes with so many trials of each configuration.
func (r *Rest) Takes(trials int) float64 {
	if len(r.Seconds) == 0 {
		return 0
	}
	return r.Seconds[max(0, min(trials, len(r.Seconds)-1))]
}
