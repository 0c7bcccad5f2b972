package record

import (
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// KindRun is the kind of record that one run leaves.
const KindRun = "run"

// Run is run.json: everything about one run but its course in time.
type Run struct {
	Head
	// Specification is the specification, without credentials.
	Specification spec.Run `json:"specification"`
	// Target is what was loaded, as it really was.
	Target Target `json:"target"`
	// ClientSettings are the effective settings of the client: pool sizes, compression, retries, …
	ClientSettings map[string]string `json:"client_settings,omitempty"`
	// Classes are the operation classes of the workload.
	Classes []measure.Class `json:"classes"`
	// Outcomes are the possible outcomes of an operation.
	Outcomes []measure.Outcome `json:"outcomes"`
	// Scheduled is true if operations had an intended time. Otherwise response equals service time.
	Scheduled bool `json:"scheduled"`
	// Fill is what the load phase did.
	Fill *FillResult `json:"fill,omitempty"`
	// Course is what happened during the run besides operations.
	Course Course `json:"course"`
	// Phases are the results, in order of time. "measure" is the one that counts.
	Phases []PhaseResult `json:"phases"`
	// Objectives are the objectives and whether they were met.
	Objectives []measure.ObjectiveResult `json:"objectives,omitempty"`
	// Clients are the load processes, where there were several.
	Clients []ClientShare `json:"clients,omitempty"`
	// Series describe what the machines and the server did beside the load; the values are in samples.ndjson.zst.
	Series []Series `json:"series,omitempty"`
	// Lab is the lab that was loaded, as it was before the measured time, and LabAfter as it was in the end.
	Lab      *Lab `json:"lab,omitempty"`
	LabAfter *Lab `json:"lab_after,omitempty"`
	// Files lists the other files of the record.
	Files []File `json:"files"`
}

// Phase returns the result of a phase, nil if there is none.
func (r *Run) Phase(name string) *PhaseResult {
	for i := range r.Phases {
		if r.Phases[i].Phase == name {
			return &r.Phases[i]
		}
	}
	return nil
}

// Tool is the program that wrote a record.
type Tool struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	// Commit is the revision it was built from.
	Commit string `json:"commit,omitempty"`
	// Modified is true if the sources differed from that revision.
	Modified bool   `json:"modified,omitempty"`
	Go       string `json:"go,omitempty"`
}

// Target is what was loaded, as it is, not as it was asked for.
type Target struct {
	// Address is how the user named it, without credentials.
	Address string `json:"address"`
	// Kind is the software: mongod, mongos, ferretdb, embedded, null, …
	Kind     string `json:"kind,omitempty"`
	Version  string `json:"version,omitempty"`
	Topology string `json:"topology,omitempty"`
	SetName  string `json:"set_name,omitempty"`
	// Hosts are the members or routers, host:port.
	Hosts []string `json:"hosts,omitempty"`
	// Level is the durability level whose servers of a lab were used, where a lab has servers for each.
	Level string `json:"level,omitempty"`
	// Settings are the effective settings of the server: default concerns, cache size, journal, …
	Settings map[string]string `json:"settings,omitempty"`
	// Sharded are the workload's collections of a sharded target, and how they were spread before the load that counts.
	Sharded []LabSharding `json:"sharded,omitempty"`
	// Notes say what could not be read, and why.
	Notes []string `json:"notes,omitempty"`
}

// FillResult is what the load phase did.
type FillResult struct {
	// Records is how many documents there had to be.
	Records int64 `json:"records"`
	// Inserted is how many were inserted by this run.
	Inserted int64 `json:"inserted"`
	// Present is how many were there already.
	Present int64 `json:"present"`
	// Counted is how many the server counted afterwards, -1 if it was not asked.
	Counted int64 `json:"counted"`
	// Seconds is how long it took.
	Seconds float64 `json:"seconds"`
	// Skipped is true if the data were taken as they were.
	Skipped bool `json:"skipped,omitempty"`
}

// Course is what happened during a run besides operations.
type Course struct {
	// WindowStart and WindowEnd are the borders of the measured time, in nanoseconds since the start.
	WindowStart int64 `json:"window_start_ns"`
	WindowEnd   int64 `json:"window_end_ns"`
	// Offered operations of the measured time fell due; Sent ones were handed to a session, Dropped
	// ones given up because they were too late, Unsent ones left over when the run ended.
	Offered int64 `json:"offered,omitempty"`
	Sent    int64 `json:"sent,omitempty"`
	Dropped int64 `json:"dropped,omitempty"`
	Unsent  int64 `json:"unsent,omitempty"`
	// Flushed is the number of short batches sent at the very end.
	Flushed int64 `json:"flushed,omitempty"`
	// Verified reads had their content compared, Mismatched ones differed, VerifiedMissing ones found
	// no document.
	Verified        int64 `json:"verified,omitempty"`
	Mismatched      int64 `json:"mismatched,omitempty"`
	VerifiedMissing int64 `json:"verified_missing,omitempty"`
	// Abandoned operations did not return past their deadline.
	Abandoned int64 `json:"abandoned,omitempty"`
	// Backoffs are pauses of workers because nothing could even be sent.
	Backoffs int64 `json:"backoffs,omitempty"`
	// Displaced samples came after their interval was closed and count in a later one.
	Displaced int64 `json:"displaced,omitempty"`
	// EventsLost are events beyond what the queue could hold.
	EventsLost int64 `json:"events_lost,omitempty"`
	// EndedBy is what ended the run: "duration", "operations", "interrupt", "error", "client-lost".
	EndedBy string `json:"ended_by,omitempty"`
}

// PhaseResult is what came out of one phase.
type PhaseResult struct {
	// Phase is its name: load, warmup or measure.
	Phase string `json:"phase"`
	// Start and End are nanoseconds since the start of the run.
	Start int64 `json:"start_ns"`
	End   int64 `json:"end_ns"`
	// Seconds is its length, what rates are made with.
	Seconds float64 `json:"seconds"`
	// Workers is the most workers there were.
	Workers int `json:"workers"`
	// Counts are all operations of the phase, also those that ended after it.
	Counts measure.Tally `json:"counts"`
	// Ended are the operations that ended within the phase: what rates are made of.
	Ended measure.Tally `json:"ended"`
	// Offered operations fell due in the phase (scheduled loads only); Dropped ones were abandoned.
	Offered int64 `json:"offered"`
	Dropped int64 `json:"dropped"`
	// Rates are per second of the phase.
	Rates Rates `json:"rates"`
	// InFlight is the mean number of operations under way, sampled at random moments; LittleInFlight is
	// the same from rate and service time (N = X·R). They should agree.
	InFlight       *float64 `json:"in_flight" jsonschema:"nullable"`
	LittleInFlight float64  `json:"in_flight_by_littles_law"`
	// All is the result of all operation classes together.
	All ClassResult `json:"all"`
	// Classes are the results of each operation class.
	Classes []ClassResult `json:"classes"`
	// Failures are the ways in which operations did not succeed, the most frequent first.
	Failures []measure.FailureCount `json:"failures"`
	// Lateness is how late operations were sent although a worker was free.
	Lateness *Latency `json:"lateness,omitempty"`
	// Client is what the client itself used.
	Client ClientResult `json:"client"`
	// Service is what the REST service between load and target used, where plimsoll started one (via: rest).
	Service *ServiceResult `json:"service,omitempty"`
}

// Class returns the result of an operation class, nil if there is none.
func (p *PhaseResult) Class(name string) *ClassResult {
	for i := range p.Classes {
		if p.Classes[i].Name == name {
			return &p.Classes[i]
		}
	}
	return nil
}

// Rates are operations per second, but for Documents and Bytes.
type Rates struct {
	// Offered is how many fell due (scheduled loads only).
	Offered float64 `json:"offered"`
	// Attempted is how many ended, with any outcome.
	Attempted float64 `json:"attempted"`
	// Achieved is how many succeeded: the throughput.
	Achieved float64 `json:"achieved"`
	// Failed is how many did not do what was asked.
	Failed float64 `json:"failed"`
	// Indeterminate is how many may or may not have been applied.
	Indeterminate float64 `json:"indeterminate"`
	// Documents and Bytes are what was moved within the phase, with any outcome.
	Documents float64 `json:"documents"`
	Bytes     float64 `json:"bytes"`
}

// ClassResult is the result of one operation class.
type ClassResult struct {
	Name string `json:"name"`
	// Part is true for a step of a larger operation, which does not count as an operation.
	Part bool `json:"part,omitempty"`
	// Counts sums up the outcomes, Outcomes has those that happened by their name.
	Counts   measure.Tally    `json:"counts"`
	Outcomes map[string]int64 `json:"outcomes"`
	// Rate is the successful operations that ended within the phase, per second of it. Counts may have
	// more: those that ended after it.
	Rate float64 `json:"rate"`
	// Documents and Bytes were moved. Attempts commands were sent; Retries of them were beyond one per
	// request, which the official driver sends by itself and hides in one slow operation.
	Documents int64 `json:"documents"`
	Bytes     int64 `json:"bytes"`
	Attempts  int64 `json:"attempts"`
	Retries   int64 `json:"retries"`
	// Response is the time from when an operation was due to its answer: what a user feels. Without a
	// schedule it equals Service, the time from sending to the answer. Both are of successful operations.
	Response *Latency `json:"response,omitempty"`
	Service  *Latency `json:"service,omitempty"`
	// Wait is the time from when an operation was due to its sending, of all operations.
	Wait *Latency `json:"wait,omitempty"`
	// Failed is the response time of operations that did not succeed.
	Failed *Latency `json:"failed,omitempty"`
	// PoolWait is the time spent waiting for a connection, where there was any.
	PoolWait *Latency `json:"pool_wait,omitempty"`
}

// Latency sums up a distribution of times, all in nanoseconds. A percentile is null where there are too
// few values for a 95 % confidence interval of it.
type Latency struct {
	Count int64   `json:"count"`
	Mean  float64 `json:"mean_ns"`
	Min   int64   `json:"min_ns"`
	P50   *int64  `json:"p50_ns" jsonschema:"nullable"`
	P90   *int64  `json:"p90_ns" jsonschema:"nullable"`
	P95   *int64  `json:"p95_ns" jsonschema:"nullable"`
	P99   *int64  `json:"p99_ns" jsonschema:"nullable"`
	P999  *int64  `json:"p99_9_ns" jsonschema:"nullable"`
	P9999 *int64  `json:"p99_99_ns" jsonschema:"nullable"`
	Max   int64   `json:"max_ns"`
	// OutOfRange counts values above an hour, which count as an hour.
	OutOfRange int64 `json:"out_of_range,omitempty"`
}

// ClientResult is what the client itself used during a phase.
type ClientResult struct {
	// CPUSeconds is user and system time; CPUShare is its share of the cores that the client may use.
	CPUSeconds float64 `json:"cpu_seconds"`
	CPUShare   float64 `json:"cpu_share"`
	// CPUPerOperation is nanoseconds per attempted operation.
	CPUPerOperation float64 `json:"cpu_per_operation_ns"`
	// SchedP99 and GCPauseMax are the worst of any interval; GCPauseSum is of all pauses.
	SchedP99     int64  `json:"sched_p99_ns"`
	GCPauseMax   int64  `json:"gc_pause_max_ns"`
	GCPauseSum   int64  `json:"gc_pause_sum_ns"`
	HeapBytes    uint64 `json:"heap_bytes"`
	LatenessOver int64  `json:"lateness_over_1ms"`
}

// ServiceResult is what a REST service used during a phase. It is a process of its own: the client has nothing of it,
// and neither have the servers.
type ServiceResult struct {
	// CPUSeconds is user and system time.
	CPUSeconds float64 `json:"cpu_seconds"`
	// CPUPerOperation is nanoseconds per operation that ended within the phase.
	CPUPerOperation float64 `json:"cpu_per_operation_ns"`
	// MemoryBytes is the most that was resident when an interval closed.
	MemoryBytes int64 `json:"memory_bytes"`
}

// File is a file of a record.
type File struct {
	Name  string `json:"name"`
	About string `json:"about"`
}

// Environment is the machine that made the load. What could not be found out is absent.
type Environment struct {
	Host    string `json:"host,omitempty"`
	OS      string `json:"os"`
	Arch    string `json:"arch"`
	Kernel  string `json:"kernel,omitempty"`
	Distro  string `json:"distribution,omitempty"`
	CPU     string `json:"cpu,omitempty"`
	Threads int    `json:"cpu_threads"`
	// Cores is how many cores this process may use, after affinity and cgroup limits.
	Cores float64 `json:"cores_available"`
	// MemoryBytes is what the machine has, MemoryLimit what this process may use.
	MemoryBytes uint64 `json:"memory_bytes,omitempty"`
	MemoryLimit uint64 `json:"memory_limit_bytes,omitempty"`
	SwapBytes   uint64 `json:"swap_bytes,omitempty"`
	Governor    string `json:"cpu_governor,omitempty"`
	// HugePages is the setting of transparent huge pages.
	HugePages string `json:"transparent_huge_pages,omitempty"`
	// Clock is the clock source of the kernel.
	Clock string `json:"clock_source,omitempty"`
	// Virtual is the kind of virtual machine or container, as far as it shows.
	Virtual string `json:"virtualization,omitempty"`
	Go      string `json:"go"`
	MaxProc int    `json:"gomaxprocs"`
	// Filesystems are those of the record and of an embedded target.
	Filesystems []Filesystem `json:"filesystems,omitempty"`
	// Load1 is the load average of the last minute when the run began.
	Load1 *float64 `json:"load_average_1m,omitempty"`
}

// Filesystem is where a directory lies.
type Filesystem struct {
	// Use is what it is used for: "record", "embedded".
	Use     string `json:"use"`
	Type    string `json:"type,omitempty"`
	Device  string `json:"device,omitempty"`
	Options string `json:"mount_options,omitempty"`
	Bytes   uint64 `json:"size_bytes,omitempty"`
	Free    uint64 `json:"free_bytes,omitempty"`
}
