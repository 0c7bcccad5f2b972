package measure

import "cmp"

// Severity says how much a [Finding] weighs.
type Severity string

const (
	// Invalid: the result must not be believed.
	Invalid Severity = "invalid"
	// Warning: the result may be believed with care.
	Warning Severity = "warning"
	// Note: good to know; nothing is wrong.
	Note Severity = "note"
)

// Finding is a reason why a result must not be believed, or only with care. It is data that is stored
// with the result, not a line in a log.
type Finding struct {
	ID       string   `json:"id"` // stable name, for example "client-cpu"
	Severity Severity `json:"severity"`
	Text     string   `json:"text"`            // one sentence: what, why it matters, what to do
	Value    *float64 `json:"value,omitempty"` // what was measured
	Limit    *float64 `json:"limit,omitempty"` // what it was held against
	Unit     string   `json:"unit,omitempty"`  // of both: "share", "ns", "1/s", "operations"
}

// Worst returns the greatest severity among the findings, "" if there are none.
func Worst(findings []Finding) Severity {
	worst := Severity("")
	for _, f := range findings {
		if f.Severity.rank() > worst.rank() {
			worst = f.Severity
		}
	}
	return worst
}

func (s Severity) rank() int {
	switch s {
	case Invalid:
		return 3
	case Warning:
		return 2
	case Note:
		return 1
	}
	return 0
}

// compareFindings puts the gravest first, then orders by name.
func compareFindings(a, b Finding) int {
	return cmp.Or(cmp.Compare(b.Severity.rank(), a.Severity.rank()), cmp.Compare(a.ID, b.ID))
}
