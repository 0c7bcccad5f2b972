package record

import "github.com/plimsoll-bench/plimsoll/measure"

// KindFailures is the kind of result that `plimsoll size --failures` prints as JSON.
const KindFailures = "failures"

// Failures is what a year of failures costs a deployment of replica sets, drawn from drills, and whether each drill is
// like the others.
type Failures struct {
	SchemaVersion string `json:"schema_version"`
	// Kind is the kind of result, "failures" here.
	Kind string `json:"kind"`
	Tool Tool   `json:"tool"`
	// Asked is the question as written.
	Asked string `json:"asked"`
	// Target is what the first drill loaded, without credentials.
	Target string `json:"target,omitempty"`
	// Shards is how many sets there are, and Members how many members each of them has, as in the drills. Members is
	// absent without usable drills.
	Shards  int `json:"shards"`
	Members int `json:"members,omitempty"`
	// Rate is the load of all shards together in operations per second, absent if it was not given.
	Rate float64 `json:"rate,omitempty"`
	// Election is the time in nanoseconds without a primary after which a set of mongod elects another one, absent if it
	// is that of the drills.
	Election int64 `json:"election_ns,omitempty"`
	// Kinds are the failures of the question.
	Kinds []FailuresKind `json:"kinds"`
	// Checks compare the outages of each drill with those of the other drills.
	Checks []FailuresCheck `json:"checks"`
	// LeftOut are the rounds and drills that are not in a check, and why.
	LeftOut []string `json:"left_out,omitempty"`
	// Refused says why there is no answer.
	Refused []string `json:"refused,omitempty"`
	// Year is the answer, absent if it is refused.
	Year     *FailuresYear     `json:"year,omitempty"`
	Validity []measure.Finding `json:"validity"`
}

// FailuresKind is one kind of failure.
type FailuresKind struct {
	// Action is what happens to a member, an action of a fault.
	Action string `json:"action"`
	// Number is how many of them a year has on average, in all shards.
	Number float64 `json:"number"`
	// Drills and Rounds are those that show it.
	Drills int `json:"drills"`
	Rounds int `json:"rounds"`
	// Outage and Away are medians of the rounds in nanoseconds: the time without writes, and the time until all members
	// are back.
	Outage int64 `json:"outage_ns,omitempty"`
	Away   int64 `json:"away_ns,omitempty"`
}

// FailuresCheck compares the median outage of a drill with that of the other drills of the same kind.
type FailuresCheck struct {
	Record string `json:"record"`
	// Setup is the failure in words.
	Setup    string `json:"setup"`
	Measured int64  `json:"measured_ns"`
	Others   int64  `json:"others_ns"`
	// Error is others / measured − 1. The check holds if it is at most Limit.
	Error float64 `json:"error"`
	Limit float64 `json:"limit"`
	Holds bool    `json:"holds"`
}

// FailuresYear is the cost of a year. Its figures are those of many simulated years.
type FailuresYear struct {
	// Years is how many were simulated.
	Years int `json:"years"`
	// Failures, Outages and Majority are means: failures of members, times in which a shard acknowledged no writes, and
	// those of them without a majority of members.
	Failures float64 `json:"failures"`
	Outages  float64 `json:"outages"`
	Majority float64 `json:"without_majority"`
	// Down is the sum of the outages of all shards, and Longest the longest outage, in seconds.
	Down    FailuresRange `json:"down_seconds"`
	Longest FailuresRange `json:"longest_seconds"`
	// Away is the median sum of the times in which a shard had a primary but not all members, in seconds.
	Away float64 `json:"away_seconds"`
	// Available is the mean share of the time in which a shard acknowledges writes, in the median year.
	Available float64 `json:"available"`
	// Operations is how many operations are due during outages in the median year, absent without a rate.
	Operations float64 `json:"operations,omitempty"`
}

// FailuresRange is a figure of simulated years: the median, and the ends of the middle 90 %.
type FailuresRange struct {
	Median float64 `json:"median"`
	Low    float64 `json:"low"`
	High   float64 `json:"high"`
}
