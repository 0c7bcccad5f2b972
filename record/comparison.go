package record

import "github.com/plimsoll-bench/plimsoll/measure"

// KindComparison is the kind of record that `plimsoll compare --out` leaves.
const KindComparison = "comparison"

// Verdict is the verdict for one metric.
type Verdict string

const (
	// Better and Worse: the change is significant after correction.
	Better Verdict = "better"
	Worse  Verdict = "worse"
	// Equivalent: the ratio is within the margin, by two one-sided tests, after correction.
	Equivalent Verdict = "equivalent"
	// Inconclusive: neither can be said.
	Inconclusive Verdict = "inconclusive"
)

// Comparison holds one configuration against the baseline in one metric.
type Comparison struct {
	// Configuration is compared with Baseline, in Metric, whose unit is "1/s", "ns" or "share".
	Configuration string `json:"configuration"`
	Baseline      string `json:"baseline"`
	Metric        string `json:"metric"`
	Unit          string `json:"unit"`
	// Higher is true where more is better.
	Higher bool `json:"higher_is_better"`
	// N and NBase are the numbers of valid trials; Pairs is the number of blocks with both: of a study, or of four trials
	// that alternate. Without blocks there is no verdict.
	N     int `json:"n"`
	NBase int `json:"n_baseline"`
	Pairs int `json:"pairs"`
	// Value and Base are geometric means over trials (throughput) or medians of the trials' own values (latencies).
	Value     *float64 `json:"value" jsonschema:"nullable"`
	ValueLow  *float64 `json:"value_low,omitempty"`
	ValueHigh *float64 `json:"value_high,omitempty"`
	Base      *float64 `json:"base" jsonschema:"nullable"`
	BaseLow   *float64 `json:"base_low,omitempty"`
	BaseHigh  *float64 `json:"base_high,omitempty"`
	// Ratio is configuration / baseline with its interval at the study's confidence; absent if unknown.
	Ratio *float64 `json:"ratio" jsonschema:"nullable"`
	Low   *float64 `json:"ratio_low" jsonschema:"nullable"`
	High  *float64 `json:"ratio_high" jsonschema:"nullable"`
	// P is two-sided, of the log-ratio t; Adjusted is P after Holm over all verdicts of the study or comparison.
	P        *float64 `json:"p" jsonschema:"nullable"`
	Adjusted *float64 `json:"p_holm" jsonschema:"nullable"`
	// Equivalence is the p-value of the test that the ratio is within the margin (two one-sided tests), after Holm over
	// all verdicts; absent if there is no such test.
	Equivalence *float64 `json:"p_equivalence_holm,omitempty"`
	// RankP is that of Mann-Whitney, which assumes nothing about the distribution.
	RankP *float64 `json:"p_rank" jsonschema:"nullable"`
	// Difference is value − base, the only figure where a ratio makes no sense (errors of zero).
	Difference *float64 `json:"difference,omitempty"`
	Margin     float64  `json:"margin"`
	Verdict    Verdict  `json:"verdict" jsonschema:"enum=better,enum=worse,enum=equivalent,enum=inconclusive"`
	// Note is why there is no verdict, or a doubt.
	Note string `json:"note,omitempty"`
}

// ComparisonReport is the result of `plimsoll compare`.
type ComparisonReport struct {
	Head
	// Sides are the compared sides, the baseline first.
	Sides []ComparisonSide `json:"sides"`
	// Differences are the differences between the sides, and their meaning.
	Differences []Difference `json:"differences"`
	Comparisons []Comparison `json:"comparisons"`
	// Confidence is that of the intervals; absent, 0.95.
	Confidence float64 `json:"confidence,omitempty"`
	// WouldTell is the command that answers what these records cannot; absent if they answer it. If both sides are one
	// target at two times, it shows how much runs of the later side differ.
	WouldTell string `json:"would_tell,omitempty"`
}

// ComparisonSide is one of the things compared: a record, several records of the same thing, or a study's
// configuration.
type ComparisonSide struct {
	Name    string   `json:"name"`
	Records []string `json:"records"`
	N       int      `json:"n"`
	// TargetKind is the kind of target, such as "mongod" or "embedded"; absent if unknown.
	TargetKind string `json:"target_kind,omitempty"`
	// Values are those of its trials, by metric, in order of time.
	Values map[string][]float64 `json:"values"`
	// Spectra are the distributions of its operations; only a comparison that is kept as a record has them, because they
	// are read from the whole of each record. Of many sides the first [MaxSpectra] have them.
	Spectra []SideSpectrum `json:"spectra,omitempty"`
}

// MaxSpectra is the largest number of sides of a comparison with spectra: as many as one chart can show.
const MaxSpectra = 6

// SideSpectrum is how the times of successful operations of one class are distributed, over the records of a side
// together.
type SideSpectrum struct {
	Class string `json:"class"`
	// Time is "response", counted from when an operation was due, or "service", counted from sending.
	Time string `json:"time" jsonschema:"enum=response,enum=service"`
	// Records is the number of merged records, N that of operations, Max the longest one in nanoseconds.
	Records int   `json:"records"`
	N       int64 `json:"n"`
	Max     int64 `json:"max_ns"`
	// Histogram is an HdrHistogram V2 in base64.
	Histogram string `json:"histogram"`
}

// Difference is something in which the sides differ.
type Difference struct {
	// What is a path of the specification or of the environment.
	What string `json:"what"`
	// Values are those of the sides, in their order.
	Values []string `json:"values"`
	// Severity: "invalid" must be equal, "warning" should be, "note" may differ, perhaps on purpose.
	Severity measure.Severity `json:"severity"`
	// Compared is true for what the comparison is about: what was changed on purpose.
	Compared bool   `json:"compared,omitempty"`
	Why      string `json:"why,omitempty"`
}
