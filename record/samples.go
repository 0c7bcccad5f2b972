package record

// SamplesFile holds what the machines and the server did beside the load, one JSON line per second, compressed.
const SamplesFile = "samples.ndjson.zst"

// Sample is one line of samples.ndjson.zst: what was read at one moment, from one source.
type Sample struct {
	// At is nanoseconds since the start of the run.
	At int64 `json:"at_ns"`
	// Source is who was asked: "host:NAME" (a machine), "host:LAB/HOST" (a host of a lab), "member:LAB/MEMBER" (a server
	// of a lab, as the lab sees it), "server:ADDRESS" (serverStatus), "client" (the processes that make the load),
	// "service" (the REST service between load and target).
	Source string `json:"source"`
	// Values are gauges, or rates per second since the sample before, by the names of the series.
	Values map[string]float64 `json:"values"`
}

// Series describes the values of the samples of one source.
type Series struct {
	Source string `json:"source"`
	Name   string `json:"name"`
	// Unit is "1/s", "B/s", "B", "share", "cores", "ns" or "".
	Unit string `json:"unit"`
	// Mean, Max and Last are over the measured phase.
	Mean float64 `json:"mean"`
	Max  float64 `json:"max"`
	Last float64 `json:"last"`
	// PerOperation is the mean rate divided by the achieved operations per second, where that makes sense.
	PerOperation *float64 `json:"per_operation,omitempty"`
}

// ClientShare is what one of several load processes did.
type ClientShare struct {
	// Number counts from 0.
	Number int `json:"number"`
	PID    int `json:"pid,omitempty"`
	// Status is "complete", "lost" (it ended without its results), "failed", or "running" as long as the run goes on.
	Status  string `json:"status" jsonschema:"enum=running,enum=complete,enum=lost,enum=failed"`
	Problem string `json:"problem,omitempty"`
	// StartSkew is how much later than the common start it began, in nanoseconds.
	StartSkew int64 `json:"start_skew_ns"`
	// Succeeded operations in the measured phase, and their rate.
	Succeeded int64   `json:"succeeded"`
	Rate      float64 `json:"rate"`
	// Share is its part of the load, from 0 to 1: of the rate and the operations exactly, and of the workers as nearly as
	// their number allows.
	Share float64 `json:"share,omitempty"`
	// Record is its own record, below that of the run.
	Record string `json:"record,omitempty"`
	// LostAt is the run time in nanoseconds from which its part of the load is missing, if the others went on without it.
	LostAt int64 `json:"lost_at_ns,omitempty"`
	// Agent, Host and Zone are the name of the agent, that of its machine and where that is, unless it is a child of the
	// coordinator.
	Agent string `json:"agent,omitempty"`
	Host  string `json:"host,omitempty"`
	Zone  string `json:"zone,omitempty"`
	// Labels are what else the person who started the agent said of it.
	Labels map[string]string `json:"labels,omitempty"`
	// ClockOffset is how much its clock was ahead of the coordinator's at the start, in nanoseconds, and ClockUncertainty
	// by how much that may be wrong. Times in this record are the coordinator's.
	ClockOffset      int64 `json:"clock_offset_ns,omitempty"`
	ClockUncertainty int64 `json:"clock_uncertainty_ns,omitempty"`
	// Machine identifies its machine among others of the same name. Clients on one machine are judged together.
	Machine string `json:"machine,omitempty"`
	// CPU, MemoryBytes, OS and Kernel describe its machine. Its own record has all of the environment.
	CPU         string `json:"cpu,omitempty"`
	MemoryBytes uint64 `json:"memory_bytes,omitempty"`
	OS          string `json:"os,omitempty"`
	Kernel      string `json:"kernel,omitempty"`
	// Cores are the cores that it may use, and CPUCores how many it used on average in the measured phase.
	Cores    float64 `json:"cores,omitempty"`
	CPUCores float64 `json:"cpu_cores,omitempty"`
	// Ceiling is its highest rate with a target that costs nothing, in operations per second; 0 if its machine was not
	// calibrated.
	Ceiling float64 `json:"ceiling_per_second,omitempty"`
	// RoundTrip is its shortest round trip to the target before the load, in nanoseconds.
	RoundTrip int64 `json:"round_trip_ns,omitempty"`
}
