package record

import (
	"time"

	"github.com/plimsoll-bench/plimsoll/measure"
)

// KindGate is the kind of result that `plimsoll ci` prints as JSON.
const KindGate = "ci"

// Gate compares a new record with those of a branch before it.
type Gate struct {
	SchemaVersion string `json:"schema_version"`
	// Kind is the kind of result, "ci" here.
	Kind string `json:"kind"`
	Tool Tool   `json:"tool"`
	// Record is the new record. Branch is its branch, Against the one whose records it is compared with.
	Record  string `json:"record"`
	Branch  string `json:"branch"`
	Against string `json:"against"`
	// Source is the file of the specification, for annotations.
	Source string `json:"source,omitempty"`
	// Verdict is worse if a metric is worse, otherwise better if one is better, and otherwise equivalent or inconclusive.
	Verdict Verdict `json:"verdict" jsonschema:"enum=worse,enum=better,enum=equivalent,enum=inconclusive"`
	// Metrics are those of all configurations of the new record, the worst first.
	Metrics  []GateMetric      `json:"metrics"`
	Validity []measure.Finding `json:"validity"`
}

// GateMetric is one metric of the new record.
type GateMetric struct {
	// Group says what was measured.
	Group  string `json:"group"`
	Metric string `json:"metric"`
	Unit   string `json:"unit"`
	Higher bool   `json:"higher_is_better"`
	// Value is absent if it has no answer: more operations of the new record did not succeed than lie above it.
	Value *float64 `json:"value,omitempty"`
	// N is the number of records since the last change of the branch, Mean their mean. Low and High are where one more
	// record is expected if nothing changed, with 95 % for all metrics together.
	N    int      `json:"n"`
	Mean *float64 `json:"mean,omitempty"`
	Low  *float64 `json:"expected_low,omitempty"`
	High *float64 `json:"expected_high,omitempty"`
	// Ratio is value / mean.
	Ratio   *float64 `json:"ratio,omitempty"`
	Verdict Verdict  `json:"verdict" jsonschema:"enum=worse,enum=better,enum=equivalent,enum=inconclusive"`
	// Course has the values of the branch, the newest last, without the new one. Changed is the last change in it.
	Course  []float64      `json:"course"`
	Changed *HistoryChange `json:"last_change,omitempty"`
	// Started is when the oldest of Course was measured.
	Started time.Time `json:"course_started"`
}
