package record

import "github.com/plimsoll-bench/plimsoll/measure/limit"

// ProcedureResult is what a procedure tried and chose.
type ProcedureResult struct {
	// Name is "threads" or "steady".
	Name string `json:"name" jsonschema:"enum=threads,enum=steady"`
	// Path is the key of the run specification that it chose.
	Path string `json:"path"`
	// Rule is how the choice is made, in one sentence, and Reason why it was this one.
	Rule   string `json:"rule"`
	Reason string `json:"reason"`
	// Chosen is the value; Settled is false if the search ended without finding what it looked for.
	Chosen  float64 `json:"chosen"`
	Settled bool    `json:"settled"`
	// Points are what was tried, in order.
	Points []ProcedurePoint `json:"points"`
	// LimitedBy is what keeps the throughput from growing with workers; absent of other procedures, and without the
	// counters of a MongoDB.
	LimitedBy *limit.Limit `json:"limited_by,omitempty"`
}

// ProcedurePoint is one value that a procedure tried.
type ProcedurePoint struct {
	// Value is workers, seconds or operations.
	Value float64 `json:"value"`
	// N is how many trials of it count.
	N int `json:"n"`
	// Throughput is the geometric mean in operations per second, P99 the median of the trials' response times in ns.
	Throughput float64  `json:"throughput"`
	Low        *float64 `json:"throughput_low,omitempty"`
	High       *float64 `json:"throughput_high,omitempty"`
	P99        *float64 `json:"p99_ns,omitempty"`
	// Note says what was seen there: a gate that failed, a knee, a series that did not settle.
	Note string `json:"note,omitempty"`
	// Trials are the records, relative to the directory of the study.
	Trials []string `json:"trials,omitempty"`
}

// CapacityResult is the highest offered rate that holds the objectives, between rates that were measured.
type CapacityResult struct {
	Objectives []string `json:"objectives"`
	// Rate is the capacity in operations per second, 0 if not even the lowest rate held.
	Rate float64 `json:"rate"`
	// Confirmed is true if fresh trials just below and above the rate confirmed it. Low and High are the ends of its 95 %
	// interval; High is absent if nothing is known above it.
	Confirmed bool     `json:"confirmed"`
	Low       *float64 `json:"achieved_low,omitempty"`
	High      *float64 `json:"rate_high,omitempty"`
	// Wrong is the probability that the true capacity differs from Rate by more than the precision that was asked.
	Wrong *float64 `json:"wrong,omitempty"`
	// AtLeast is true if the highest rate that was allowed still held: the capacity is higher.
	AtLeast bool   `json:"at_least,omitempty"`
	Reason  string `json:"reason"`
	// Doubts say why the rate must be taken with care although it was confirmed: several lower rates were missed, or what
	// the target carries changed during the search. They are part of Reason as well.
	Doubts []string `json:"doubts,omitempty"`
	// Steps are all trials, in order.
	Steps []CapacityStep `json:"steps"`
	// LimitedBy is what keeps the load from growing; absent without the counters of a MongoDB.
	LimitedBy *limit.Limit `json:"limited_by,omitempty"`
}

// CapacityStep is one trial of a capacity search.
type CapacityStep struct {
	// Phase is "probe" (a closed loop, which shows where to begin), "ramp", "narrow" or "confirm"; records of
	// earlier versions have "bisect" for "narrow".
	Phase    string   `json:"phase" jsonschema:"enum=probe,enum=ramp,enum=narrow,enum=bisect,enum=confirm"`
	Offered  float64  `json:"offered"`
	Achieved float64  `json:"achieved"`
	P99      *float64 `json:"p99_ns,omitempty"`
	Errors   float64  `json:"errors"`
	Holds    bool     `json:"holds"`
	// Missed says which objective was missed, or what else was wrong.
	Missed string `json:"missed,omitempty"`
	Trial  string `json:"trial,omitempty"`
}
