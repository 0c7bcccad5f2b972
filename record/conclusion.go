package record

import "github.com/plimsoll-bench/plimsoll/measure"

// Conclusion is the result of a record in one word, for scripts (each has an exit code) and for suites. The room that
// judges a kind of record decides it.
type Conclusion string

const (
	// Satisfied: it is complete, and all expectations hold.
	Satisfied Conclusion = "satisfied"
	// Missed: it is complete, and an expectation does not hold or is unknown.
	Missed Conclusion = "missed"
	// WritesLost: an acknowledged write was lost that had to survive.
	WritesLost Conclusion = "writes lost"
	// Incredible: it is complete and invalid.
	Incredible Conclusion = "invalid"
	// Ended: it was interrupted or killed. The results until then are kept.
	Ended Conclusion = "interrupted"
	// Refused: the request is wrong, and nothing was done.
	Refused Conclusion = "refused"
	// OutOfReach: the target is unreachable or refused the credentials.
	OutOfReach Conclusion = "unreachable"
	// NoResult: it ended without a result for another reason.
	NoResult Conclusion = "failed"
)

// ConcludeHead is the conclusion of a record from its head alone, for kinds without further judgement.
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
