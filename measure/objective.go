package measure

// ObjectiveResult is an objective held against what was measured.
type ObjectiveResult struct {
	Objective string   `json:"objective"`          // as the user wrote it
	Measured  *float64 `json:"measured,omitempty"` // in Unit; absent if unknown
	Limit     float64  `json:"limit"`              // in Unit
	Unit      string   `json:"unit"`               // "ns", "share" or "1/s"
	Met       bool     `json:"met"`
	Unknown   bool     `json:"unknown,omitempty"` // it cannot be told; then Met is false
	Why       string   `json:"why,omitempty"`     // why it is unknown
}
