package record

import "github.com/plimsoll-bench/plimsoll/measure"

// Conclusion is what a result comes to as a whole, in the word by which those act who do not read it: scripts, by the
// exit code that the command line has for each, and suites, which have the result as a part. The rooms that judge a
// kind of record decide it.
type Conclusion string

const (
	// Satisfied: it is done, and everything that was expected holds.
	Satisfied Conclusion = "satisfied"
	// Missed: it is done, and something that was expected does not hold or cannot be told.
	Missed Conclusion = "missed"
	// WritesLost: an acknowledged write that had to survive is gone.
	WritesLost Conclusion = "writes lost"
	// Incredible: it is done, and must not be believed.
	Incredible Conclusion = "invalid"
	// Ended: it was asked to stop, or killed. What was measured is kept.
	Ended Conclusion = "interrupted"
	// Refused: what was asked for is wrong, so that nothing was done.
	Refused Conclusion = "refused"
	// OutOfReach: the target cannot be reached, or refuses the credentials.
	OutOfReach Conclusion = "unreachable"
	// NoResult: it ended without a result, for any other reason.
	NoResult Conclusion = "failed"
)

// ConcludeHead is what a record comes to by its head alone, for kinds that nobody judges further.
func ConcludeHead(h *Head) Conclusion {
	switch {
	case h.Status == Interrupted, h.Status == Killed:
		return Ended
	case h.Status == Failed:
		return NoResult
	case measure.Worst(h.Validity) == measure.Invalid:
		return Incredible
	}
	return Satisfied
}
