package record

// EventFigure is one figure that a planned event measured of itself, such as the chunks that it moved. Unit is "B",
// "ns", or empty for a count.
type EventFigure struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"`
	Unit  string  `json:"unit,omitempty"`
}

// Values of [DrillEvent.Outcome].
const (
	EventCompleted = "completed"
	EventFailed    = "failed" // or it did not end in time
)

// DrillEvent is how a planned event went. It began at [DrillFault.Injected] and ended at [DrillFault.Done].
type DrillEvent struct {
	Outcome string        `json:"outcome" jsonschema:"enum=completed,enum=failed"`
	Figures []EventFigure `json:"figures,omitempty"`
}

// DrillNoticed is what clients noticed of one fault or event, until the next one began. P99 is the 99th percentile of
// the latency of successful operations in nanoseconds, over whole intervals of the record; 0 if none ended then.
type DrillNoticed struct {
	// The p99 of all operations that were due; [NoAnswer] if more than 1 % of them did not succeed, 0 without operations.
	// P99Before is from the begin of the measured time until the first fault, the same for all faults.
	P99Before int64 `json:"p99_before_ns,omitempty"`
	// P99During is while the fault was in place or the event ran, and P99After from then on.
	P99During int64 `json:"p99_during_ns,omitempty"`
	P99After  int64 `json:"p99_after_ns,omitempty"`
	// Outage is the longest time without a success, -1 if it did not end. Failed is how many operations failed.
	Outage int64 `json:"outage_ns"`
	Failed int64 `json:"failed"`
}
