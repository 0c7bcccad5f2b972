package record

import (
	"bytes"
	"encoding/json"

	"github.com/plimsoll-bench/plimsoll/internal/mac"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/measure/anatomy"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// KindRun is the kind of records of runs.
const KindRun = "run"

// Run is run.json: everything about a run except its intervals.
type Run struct {
	Head
	// Specification is the specification, without credentials.
	Specification spec.Run `json:"specification"`
	// MAC shows that the user who resumes the run wrote its specification, as in a study; absent if it cannot be resumed.
	MAC string `json:"mac,omitempty"`
	// Target is the loaded target.
	Target Target `json:"target"`
	// ClientSettings are the effective settings of the client: pool sizes, compression, retries, …
	ClientSettings map[string]string `json:"client_settings,omitempty"`
	// Classes are the operation classes of the workload.
	Classes []measure.Class `json:"classes"`
	// Outcomes are the possible outcomes of an operation.
	Outcomes []measure.Outcome `json:"outcomes"`
	// Scheduled is true if operations had an intended time. Otherwise response equals service time.
	Scheduled bool `json:"scheduled"`
	// Fill is the result of the load phase.
	Fill *FillResult `json:"fill,omitempty"`
	// Course is the course of the run.
	Course Course `json:"course"`
	// Phases are the results, in order of time. "measure" is the one that counts.
	Phases []PhaseResult `json:"phases"`
	// Objectives are the objectives and whether they were met.
	Objectives []measure.ObjectiveResult `json:"objectives,omitempty"`
	// Clients are the load processes, where there were several.
	Clients []ClientShare `json:"clients,omitempty"`
	// Series are the statistics of machines and servers during the load; samples.ndjson.zst has the values.
	Series []Series `json:"series,omitempty"`
	// Anatomy is where the mean service time of the measured phase went; absent without a
	// MongoDB whose servers were read.
	Anatomy *anatomy.Anatomy `json:"anatomy,omitempty"`
	// Lab is the loaded lab before the measured time, and LabAfter after the run.
	Lab      *Lab `json:"lab,omitempty"`
	LabAfter *Lab `json:"lab_after,omitempty"`
	// Files lists the other files of the record.
	Files []File `json:"files"`
}

func (r *Run) sign(k *mac.Key) (err error) {
	r.MAC, err = k.Code(KindRun, r.Specification)
	return err
}

// Own says whether the user of a key wrote the specification.
func (r *Run) Own(k *mac.Key) bool { return k.Valid(KindRun, r.Specification, r.MAC) }

// Of says whether the run began with a specification, except for its directory and whether data were dropped.
func (r *Run) Of(asked spec.Run) bool {
	recorded, asked := r.Specification, Redacted(asked, asked)
	for _, s := range []*spec.Run{&recorded, &asked} {
		s.Out, s.LoadPhase.Drop = "", false
	}
	a, errA := json.Marshal(recorded)
	b, errB := json.Marshal(asked)
	return errA == nil && errB == nil && bytes.Equal(a, b)
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

// Target is the loaded target.
type Target struct {
	// Address is the specified target, without credentials.
	Address string `json:"address"`
	// Kind is the software: mongod, mongos, ferretdb, embedded, null, …
	Kind     string `json:"kind,omitempty"`
	Version  string `json:"version,omitempty"`
	Topology string `json:"topology,omitempty"`
	SetName  string `json:"set_name,omitempty"`
	// Hosts are the members or routers, host:port.
	Hosts []string `json:"hosts,omitempty"`
	// Level is the durability level of the loaded servers if a lab has servers for each level.
	Level string `json:"level,omitempty"`
	// Settings are the effective settings of the server: default concerns, cache size, journal, …
	Settings map[string]string `json:"settings,omitempty"`
	// RoundTrip is that to the target before the load, in nanoseconds: the shortest of ten pings (the command ping) on one
	// connection.
	RoundTrip int64 `json:"round_trip_ns,omitempty"`
	// Sharded is the distribution of the workload's collections over shards before the measured load.
	Sharded []LabSharding `json:"sharded,omitempty"`
	// Notes say what could not be read, and why.
	Notes []string `json:"notes,omitempty"`
}

// FillResult is the result of the load phase.
type FillResult struct {
	// Records is the number of documents of the workload.
	Records int64 `json:"records"`
	// Inserted is how many this run inserted.
	Inserted int64 `json:"inserted"`
	// Present is how many existed before.
	Present int64 `json:"present"`
	// Counted is the server's count afterwards, -1 without one.
	Counted int64 `json:"counted"`
	// Verified is how many documents of a workload file were read back and compared with what was inserted.
	Verified int64 `json:"verified,omitempty"`
	// Seconds is how long it took.
	Seconds float64 `json:"seconds"`
	// Skipped is true if the data were taken as they were.
	Skipped bool `json:"skipped,omitempty"`
}

// Course is the course of a run.
type Course struct {
	// WindowStart and WindowEnd are the borders of the measured time, in nanoseconds since the start.
	WindowStart int64 `json:"window_start_ns"`
	WindowEnd   int64 `json:"window_end_ns"`
	// Offered operations were due in the measured time. Sent ones were given to a session, Dropped ones were too late, and
	// Unsent ones were left when the run ended.
	Offered int64 `json:"offered,omitempty"`
	Sent    int64 `json:"sent,omitempty"`
	Dropped int64 `json:"dropped,omitempty"`
	Unsent  int64 `json:"unsent,omitempty"`
	// Flushed is the number of short batches sent at the very end.
	Flushed int64 `json:"flushed,omitempty"`
	// Verified reads were compared with what was written. Mismatched ones differed, VerifiedMissing ones found no
	// document.
	Verified        int64 `json:"verified,omitempty"`
	Mismatched      int64 `json:"mismatched,omitempty"`
	VerifiedMissing int64 `json:"verified_missing,omitempty"`
	// Abandoned operations did not return after their deadline.
	Abandoned int64 `json:"abandoned,omitempty"`
	// Backoffs are pauses of workers because nothing could be sent.
	Backoffs int64 `json:"backoffs,omitempty"`
	// Displaced samples came after their interval was closed and count in a later one.
	Displaced int64 `json:"displaced,omitempty"`
	// EventsLost are events that did not fit into the queue.
	EventsLost int64 `json:"events_lost,omitempty"`
	// EndedBy is the end of the run: "duration", "operations", "interrupt", "error", "client-lost".
	EndedBy string `json:"ended_by,omitempty"`
}

// PhaseResult is the result of one phase.
type PhaseResult struct {
	// Phase is its name: load, warmup or measure.
	Phase string `json:"phase"`
	// Start and End are nanoseconds since the start of the run.
	Start int64 `json:"start_ns"`
	End   int64 `json:"end_ns"`
	// Seconds is its length.
	Seconds float64 `json:"seconds"`
	// Workers is the largest number of workers.
	Workers int `json:"workers"`
	// Counts are all operations of the phase, also those that ended after it.
	Counts measure.Tally `json:"counts"`
	// Ended are the operations that ended within the phase. Rates count these.
	Ended measure.Tally `json:"ended"`
	// Offered operations were due in the phase (scheduled loads only); Dropped ones were too late to be sent.
	Offered int64 `json:"offered"`
	Dropped int64 `json:"dropped"`
	// Rates are per second of the phase.
	Rates Rates `json:"rates"`
	// InFlight is the mean number of operations in flight, sampled at random times; LittleInFlight is the same from rate
	// and service time (N = X·R). They should agree.
	InFlight       *float64 `json:"in_flight" jsonschema:"nullable"`
	LittleInFlight float64  `json:"in_flight_by_littles_law"`
	// All is the result of all operation classes together.
	All ClassResult `json:"all"`
	// Classes are the results of each operation class.
	Classes []ClassResult `json:"classes"`
	// Failures are the kinds of failures, the most frequent first.
	Failures []measure.FailureCount `json:"failures"`
	// Lateness is the delay of sending although a worker was free.
	Lateness *Latency `json:"lateness,omitempty"`
	// Noticed and Bare are service times of successful operations whose answers have a known time of arrival: until the
	// worker continued, and without the delays of the load generator. Absent if none is known.
	Noticed *Latency `json:"noticed,omitempty"`
	Bare    *Latency `json:"bare,omitempty"`
	// Client is the use of the load generator.
	Client ClientResult `json:"client"`
	// Service is the use of the REST service between load and target, if plimsoll started one (via: rest).
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

// Rates are operations per second, except Documents and Bytes.
type Rates struct {
	// Offered is how many were due (scheduled loads only).
	Offered float64 `json:"offered"`
	// Attempted is how many ended, with any outcome.
	Attempted float64 `json:"attempted"`
	// Achieved is how many succeeded: the throughput.
	Achieved float64 `json:"achieved"`
	// Failed is how many failed.
	Failed float64 `json:"failed"`
	// Indeterminate is how many may or may not have been applied.
	Indeterminate float64 `json:"indeterminate"`
	// Documents and Bytes were transferred within the phase by operations with any outcome.
	Documents float64 `json:"documents"`
	Bytes     float64 `json:"bytes"`
}

// ClassResult is the result of one operation class.
type ClassResult struct {
	Name string `json:"name"`
	// Part is true for a step of a larger operation, which does not count as an operation.
	Part bool `json:"part,omitempty"`
	// Counts sums up the outcomes; Outcomes has the number of each.
	Counts   measure.Tally    `json:"counts"`
	Outcomes map[string]int64 `json:"outcomes"`
	// Rate is the successful operations per second that ended within the phase. Counts include those that ended after it.
	Rate float64 `json:"rate"`
	// Documents and Bytes were transferred. Attempts is the number of commands; Retries of them are retries of the
	// official driver, which hides them in one slow operation.
	Documents int64 `json:"documents"`
	Bytes     int64 `json:"bytes"`
	Attempts  int64 `json:"attempts"`
	Retries   int64 `json:"retries"`
	// Response is the time from when an operation was due to its reply, as a user sees it. Without a schedule it equals
	// Service, the time from sending to the reply.
	Response *Latency `json:"response,omitempty"`
	Service  *Latency `json:"service,omitempty"`
	// Wait is the time from when an operation was due to its sending, of all operations.
	Wait *Latency `json:"wait,omitempty"`
	// Failed is the response time of operations that did not succeed.
	Failed *Latency `json:"failed,omitempty"`
	// PoolWait is the time of waiting for a connection; absent without.
	PoolWait *Latency `json:"pool_wait,omitempty"`
}

// Latency sums up a distribution of times in nanoseconds. Count, mean, minimum and maximum are of operations that
// succeeded. Percentiles are of all operations that were due: see Lost. A percentile is null if more operations were
// lost than lie above it, or if there are too few values for its 95 % confidence interval.
type Latency struct {
	Count int64 `json:"count"`
	// Lost operations were due and did not succeed. They count as longer than all others.
	Lost int64 `json:"lost,omitempty"`
	// Unclassed operations were dropped or never sent, so their class is unknown. Percentiles of a class count all of them
	// as lost, so they are upper bounds.
	Unclassed int64 `json:"unclassed,omitempty"`
	// FewMoments are the percentiles (0.999 is p99.9) that come from too few moments of the run: they describe this run
	// and not its target.
	FewMoments []float64 `json:"few_moments,omitempty"`
	Mean       float64   `json:"mean_ns"`
	Min        int64     `json:"min_ns"`
	P50        *int64    `json:"p50_ns" jsonschema:"nullable"`
	P90        *int64    `json:"p90_ns" jsonschema:"nullable"`
	P95        *int64    `json:"p95_ns" jsonschema:"nullable"`
	P99        *int64    `json:"p99_ns" jsonschema:"nullable"`
	P999       *int64    `json:"p99_9_ns" jsonschema:"nullable"`
	P9999      *int64    `json:"p99_99_ns" jsonschema:"nullable"`
	Max        int64     `json:"max_ns"`
	// OutOfRange counts values above an hour, which count as an hour.
	OutOfRange int64 `json:"out_of_range,omitempty"`
}

// ClientResult is the use of the load generator during a phase.
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
	// Loops is the largest number of event loops. LoopBusy is the mean share of the time in which the busiest one did not
	// wait for events. TurnP99 and TurnMax are the lengths of their turns, the worst of any interval.
	Loops    int     `json:"loops,omitempty"`
	LoopBusy float64 `json:"loop_busy,omitempty"`
	TurnP99  int64   `json:"turn_p99_ns,omitempty"`
	TurnMax  int64   `json:"turn_max_ns,omitempty"`
	// Throttled is the time in which the quota of a control group stopped threads of the load generator. RunDelay is the
	// time in which its threads waited for a core. Both are sums over threads or cores.
	Throttled int64 `json:"throttled_ns,omitempty"`
	RunDelay  int64 `json:"run_delay_ns,omitempty"`
}

// ServiceResult is the use of a REST service during a phase. It is a separate process, so neither client nor servers
// include it.
type ServiceResult struct {
	// CPUSeconds is user and system time.
	CPUSeconds float64 `json:"cpu_seconds"`
	// CPUPerOperation is nanoseconds per operation that ended within the phase.
	CPUPerOperation float64 `json:"cpu_per_operation_ns"`
	// MemoryBytes is the largest resident memory at the end of an interval.
	MemoryBytes int64 `json:"memory_bytes"`
}

// File is a file of a record.
type File struct {
	Name  string `json:"name"`
	About string `json:"about"`
}

// Environment is the machine of the load generator. Unknown values are absent.
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
	// MemoryBytes is the memory of the machine, MemoryLimit the limit of this process.
	MemoryBytes uint64 `json:"memory_bytes,omitempty"`
	MemoryLimit uint64 `json:"memory_limit_bytes,omitempty"`
	SwapBytes   uint64 `json:"swap_bytes,omitempty"`
	Governor    string `json:"cpu_governor,omitempty"`
	// HugePages is the setting of transparent huge pages.
	HugePages string `json:"transparent_huge_pages,omitempty"`
	// Clock is the clock source of the kernel.
	Clock string `json:"clock_source,omitempty"`
	// Virtual is the kind of virtual machine or container, if it is known.
	Virtual string `json:"virtualization,omitempty"`
	Go      string `json:"go"`
	MaxProc int    `json:"gomaxprocs"`
	// Filesystems are those of the record and of an embedded target.
	Filesystems []Filesystem `json:"filesystems,omitempty"`
	// Load1 is the load average of the last minute when the run began.
	Load1 *float64 `json:"load_average_1m,omitempty"`
}

// Filesystem is the filesystem of a directory.
type Filesystem struct {
	// Use is its purpose: "record", "embedded".
	Use     string `json:"use"`
	Type    string `json:"type,omitempty"`
	Device  string `json:"device,omitempty"`
	Options string `json:"mount_options,omitempty"`
	Bytes   uint64 `json:"size_bytes,omitempty"`
	Free    uint64 `json:"free_bytes,omitempty"`
}
