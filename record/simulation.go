package record

import (
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// KindSimulation is the kind of result that `plimsoll size --simulate` prints as JSON.
const KindSimulation = "simulation"

// Simulation is what a simulation says about a deployment, and whether it reproduces records that did not calibrate it.
type Simulation struct {
	SchemaVersion string `json:"schema_version"`
	// Kind is the kind of result, "simulation" here.
	Kind string `json:"kind"`
	Tool Tool   `json:"tool"`
	// Deployment is the specification, with all defaults.
	Deployment spec.Deployment `json:"deployment"`
	// Calibrations are the runs that calibrated the load.
	Calibrations []ProbeCalibration `json:"calibrations,omitempty"`
	// Document is the document whose stated figures calibrate the load and are compared, absent with records.
	Document *SimulationDocument `json:"document,omitempty"`
	// Checks are the gate: records that did not calibrate the simulation, and what it says about them.
	Checks []SimulationCheck `json:"checks"`
	// LeftOut are the records that are not in a check, and why.
	LeftOut []string `json:"left_out,omitempty"`
	// Refused says why nothing is said about the deployment.
	Refused []string `json:"refused,omitempty"`
	// Load is the deployment under load, and Failures the time with failures; each is absent if it was not asked for or is
	// refused.
	Load     *SimulationLoad     `json:"load,omitempty"`
	Failures *SimulationFailures `json:"failures,omitempty"`
	Validity []measure.Finding   `json:"validity"`
}

// The metrics of checks.
const (
	CheckThroughput = "throughput"
	CheckP99        = "p99"
	CheckOutage     = "outage"
	CheckReadMean   = "read_mean"
	CheckWriteMean  = "write_mean"
)

// SimulationDocument is a document whose deployment is simulated.
type SimulationDocument struct {
	Name  string `json:"name"`
	Title string `json:"title"`
	// Hardware are its statements about machines and the deployment.
	Hardware []SimulationFact `json:"hardware"`
	// Rule says which figures calibrate, Parameters what they gave, and Calibrated compares these figures.
	Rule       string            `json:"rule"`
	Parameters []SimulationFact  `json:"parameters"`
	Calibrated []SimulationCheck `json:"calibrated"`
}

// SimulationFact is a stated or a calculated figure with its unit.
type SimulationFact struct {
	Says  string `json:"says"`
	Value string `json:"value"`
}

// SimulationCheck compares one figure of records with its simulation.
type SimulationCheck struct {
	Records []string `json:"records"`
	// Setup is the load or the failure in words.
	Setup string `json:"setup"`
	// Metric is what is compared: throughput in operations per second, p99 of durable writes or the median outage in
	// nanoseconds. The means are those that a document states, in nanoseconds.
	Metric    string  `json:"metric" jsonschema:"enum=throughput,enum=p99,enum=outage,enum=read_mean,enum=write_mean"`
	Simulated float64 `json:"simulated"`
	Measured  float64 `json:"measured"`
	// Error is simulated / measured − 1. The check holds if it is at most Limit.
	Error float64 `json:"error"`
	Limit float64 `json:"limit"`
	Holds bool    `json:"holds"`
}

// SimulationLoad is the steady state of the deployment.
type SimulationLoad struct {
	// Rate is in operations per second of all shards. The times are of durable writes, in nanoseconds. The figures of
	// documents calibrate means only.
	Rate float64 `json:"rate"`
	Mean float64 `json:"mean_ns"`
	P50  int64   `json:"p50_ns,omitempty"`
	P99  int64   `json:"p99_ns,omitempty"`
	// P99Low and P99High are the lowest and the highest p99 of the simulations with the syncs of each step of the probe.
	P99Low  int64 `json:"p99_low_ns,omitempty"`
	P99High int64 `json:"p99_high_ns,omitempty"`
	// Journal and CPU are the shares of the time in which the journal and the cores of a primary are busy.
	Journal float64 `json:"journal"`
	CPU     float64 `json:"cpu"`
	// Misses is how many pages an operation reads from the disk.
	Misses float64 `json:"misses,omitempty"`
	// Checkpoints is the share of the time in which a checkpoint runs, 0 if that is not simulated.
	Checkpoints float64 `json:"checkpoints,omitempty"`
	// Lag is the p99 of how much later than the primary the slowest member had a write, in nanoseconds.
	Lag int64 `json:"lag_p99_ns,omitempty"`
	// Slower are members on the storage of the second probe, absent without them.
	Slower *SimulationSlower `json:"slower,omitempty"`
}

// SimulationSlower is what members with slower storage do to a set.
type SimulationSlower struct {
	// Grows is by how many seconds the lag of the slowest member grows in a second; above 0, it falls behind for good.
	Grows float64 `json:"lag_grows"`
	// With flow control, Majority is the mean lag of the majority, in nanoseconds, and Limited the share of the time in
	// which it limits writes.
	Majority int64   `json:"majority_lag_ns,omitempty"`
	Limited  float64 `json:"limited,omitempty"`
	// Target is flowControlTargetLagSeconds in nanoseconds, 0 without flow control.
	Target int64 `json:"target_ns,omitempty"`
}

// SimulationFailures is the deployment over the time with failures.
type SimulationFailures struct {
	Seconds  float64 `json:"seconds"`
	Failures int     `json:"failures"`
	// Outages are times in which a shard acknowledged nothing; Majority of them lacked a majority of members.
	Outages  int `json:"outages"`
	Majority int `json:"without_majority"`
	// Down is the sum of the outages of all shards, Away that of the times in which a shard had a primary but not all
	// members, Longest the longest outage, in seconds.
	Down    float64 `json:"down_seconds"`
	Away    float64 `json:"away_seconds"`
	Longest float64 `json:"longest_seconds"`
	// Available is the mean share of the time in which a shard acknowledges.
	Available float64 `json:"available"`
	// P99 is that of durable writes of an open load over the whole time, in nanoseconds, of which a part waits for the end
	// of an outage; absent without an open load.
	P99 *int64 `json:"p99_ns,omitempty"`
	// Cold is what caches that are not full cost after outages; absent without a load and a cache, or if records do not
	// show what a page from the disk costs.
	Cold *SimulationCold `json:"cold,omitempty"`
}

// SimulationCold is the time after outages in which the cache of a new primary is not full.
type SimulationCold struct {
	// Outages are those with such a time, Seconds its sum over the shards, and Longest the longest one.
	Outages int     `json:"outages"`
	Seconds float64 `json:"seconds"`
	Longest float64 `json:"longest_seconds"`
	// Operations are how many fewer are done in that time (closed load), or how many of them wait for others, if Waiting
	// (open load).
	Operations float64 `json:"operations"`
	Waiting    bool    `json:"waiting,omitempty"`
}
