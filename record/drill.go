package record

import (
	"github.com/plimsoll-bench/plimsoll/spec"
)

// KindDrill is the kind of record that a drill leaves.
const KindDrill = "drill"

// DrillVerdict says whether what a drill, or a round of it, was to show holds.
type DrillVerdict string

// The verdicts of a drill.
const (
	Holds    DrillVerdict = "holds"
	Violated DrillVerdict = "violated"
	Unknown  DrillVerdict = "unknown"
)

// Drill is drill.json: what one drill found. Each repetition is a record of a run below it.
type Drill struct {
	Head
	Specification spec.Drill `json:"specification"`
	// Engine is the engine of the labs with its version, such as "mongod 8.0.12"; absent where no lab was brought up or is
	// known.
	Engine string `json:"engine,omitempty"`
	// Verdict is "holds", "violated" or "unknown", and Reasons say why in one sentence each.
	Verdict DrillVerdict `json:"verdict" jsonschema:"enum=holds,enum=violated,enum=unknown"`
	Reasons []string     `json:"reasons"`
	// Rounds are the repetitions, in order.
	Rounds []DrillRound `json:"rounds"`
	// Outages and Losses are over all rounds; Statement is what so many rounds allow to say. They are absent if clients
	// noticed different things in different rounds: Manners has each of those by itself.
	Outages   *Spread       `json:"outages,omitempty"`
	Losses    *Spread       `json:"losses,omitempty"`
	Statement string        `json:"statement,omitempty"`
	Manners   []DrillManner `json:"manners,omitempty"`
}

// Spread is a distribution over few rounds: all values are kept, because a percentile of three says nothing.
type Spread struct {
	Unit   string    `json:"unit"`
	Values []float64 `json:"values"`
	Median float64   `json:"median"`
	Max    float64   `json:"max"`
}

// DrillRound is one repetition.
type DrillRound struct {
	Number int `json:"number"`
	// Record is the directory of the run's record, below that of the drill.
	Record string `json:"record"`
	// Status says how far it came, Problem what went wrong.
	Status  Status       `json:"status" jsonschema:"enum=running,enum=complete,enum=interrupted,enum=failed,enum=killed"`
	Problem string       `json:"problem,omitempty"`
	Verdict DrillVerdict `json:"verdict" jsonschema:"enum=holds,enum=violated,enum=unknown"`
	Reasons []string     `json:"reasons,omitempty"`
	// Level is the durability level of the servers that were loaded, where a lab has servers for each, and Means what it
	// comes to in the words of the engine.
	Level string `json:"level,omitempty"`
	Means string `json:"means,omitempty"`
	// Expect is what had to hold, and Promise why.
	Expect  spec.Expect `json:"expect"`
	Promise string      `json:"promise,omitempty"`
	// WindowStart and WindowEnd are the borders of the measured time, in nanoseconds of run time.
	WindowStart int64 `json:"window_start_ns,omitempty"`
	WindowEnd   int64 `json:"window_end_ns,omitempty"`
	// Members is how many servers hold data.
	Members int `json:"members,omitempty"`
	// Seeds are records that were written and read before anything else, and SeedsFound those that were there in the end.
	Seeds      int `json:"seeds,omitempty"`
	SeedsFound int `json:"seeds_found,omitempty"`
	// CPUSeconds is what all hosts of the lab used from before the load until redundancy was back.
	CPUSeconds float64 `json:"cpu_seconds,omitempty"`
	// WrittenBytes is what they wrote in the same time, where the hosts know it: isolated ones do.
	WrittenBytes int64 `json:"written_bytes,omitempty"`
	// ClientCPUSeconds is what the load processes used while they loaded, and ServiceCPUSeconds what the REST service
	// between them and the target did (via: rest). Neither is among CPUSeconds, nor in each other.
	ClientCPUSeconds  float64 `json:"client_cpu_seconds,omitempty"`
	ServiceCPUSeconds float64 `json:"service_cpu_seconds,omitempty"`
	// Unread are members that no read of the audit covered, with the reason.
	Unread []string `json:"unread,omitempty"`
	// Shards are the shards of a sharded cluster, and Placement says how the shard of an operation is known, or why it is
	// not.
	Shards    []DrillShard `json:"shards,omitempty"`
	Placement string       `json:"placement,omitempty"`
	// Faults are what was broken, as it happened.
	Faults []DrillFault `json:"faults"`
	// Moments are the timeline: what happened first after each fault, in nanoseconds of run time.
	Moments []DrillMoment `json:"moments"`
	// Effects say what it meant for operations, by class; "" is all of them.
	Effects []DrillEffect `json:"effects"`
	// Ledger says what became of the writes.
	Ledger *LedgerResult `json:"ledger,omitempty"`
}

// DrillShard is one shard of a sharded cluster in a round. Its outages are among the effects, its lost writes in the
// ledger.
type DrillShard struct {
	Name string `json:"name"`
	// Struck says whether a fault struck a member of it. Of a target that others break that is not known, so all of them
	// count.
	Struck bool `json:"struck,omitempty"`
	// AcknowledgedBefore is how many writes it acknowledged in the second before the fault that struck it first, or before
	// the first one.
	AcknowledgedBefore int64 `json:"acknowledged_before"`
	// NewPrimary is how long after that fault another member was its primary, in nanoseconds; 0 if that was not seen.
	NewPrimary int64 `json:"new_primary_ns,omitempty"`
}

// DrillFault is one fault as it happened, on the clock of the run.
type DrillFault struct {
	Fault  spec.Strike `json:"fault"`  // what was asked for
	Target string      `json:"target"` // what it was resolved to
	// Shards are those that have a member with data on the target, of a sharded cluster.
	Shards []string `json:"shards,omitempty"`
	// Manner is "crash" (connections break), "black-hole" (they hang), "planned", "disk" or "slow": outages of
	// different manners are not compared.
	Manner   string `json:"manner"`
	Injected int64  `json:"injected_ns"`
	// Done is when the injector knew that it was in effect.
	Done   int64 `json:"done_ns"`
	Healed int64 `json:"healed_ns,omitempty"`
	// Hit says whether something other than the injector saw it, and Evidence what.
	Hit      bool   `json:"hit"`
	Evidence string `json:"evidence,omitempty"`
	Problem  string `json:"problem,omitempty"`
}

// The kinds of moments, in the order in which they usually come.
const (
	MomentFault      = "fault"
	MomentFirstError = "first-error"
	MomentPrimaryOut = "primary-gone"    // the old primary is gone from the client's view
	MomentElected    = "primary-elected" // by term, election date or timeline
	MomentFirstRead  = "first-read"      // the first read that was answered, where none was before
	MomentFirstWrite = "first-write"     // the first acknowledged write, where none was before
	MomentReadsBack  = "reads-back"      // 95 % of the reads before
	MomentWritesBack = "writes-back"     // 95 % of the writes before
	MomentThroughput = "throughput-back" // 95 % of the throughput before, of reads and writes together: in older records
	MomentHealed     = "healed"
	MomentRedundant  = "redundancy-back" // members healthy, no lag, rebuild done
)

// DrillMoment is one step of the timeline.
type DrillMoment struct {
	Kind string `json:"kind"`
	At   int64  `json:"at_ns"`
	// Fault is the index of the fault that it follows.
	Fault int `json:"fault"`
	// Shard is the one it is about, of a sharded cluster; empty for what concerns all of it.
	Shard string `json:"shard,omitempty"`
	Text  string `json:"text,omitempty"`
}

// DrillEffect is what the faults meant for one class of operations.
type DrillEffect struct {
	Class string `json:"class"`
	// Kind is "reads" or "writes": all classes that read, or that write, together.
	Kind string `json:"kind,omitempty" jsonschema:"enum=reads,enum=writes"`
	// Shard is the one on which they were, of a sharded cluster; empty for all of them, also those that asked several.
	Shard string `json:"shard,omitempty"`
	// Client is the number of a load process; -1 is all of them.
	Client int `json:"client"`
	// Before is the rate of successes per second before the first fault.
	Before float64 `json:"before"`
	// During is the same from when the first fault was in effect until it was healed, or until the load ended.
	During float64 `json:"during"`
	// Outage is the longest time without a success, from the last one before to the first one after; OutageFrom is when it
	// began. Recovery is from the fault until 95 % of Before. Both are nanoseconds; -1 if it did not come.
	Outage     int64 `json:"outage_ns"`
	OutageFrom int64 `json:"outage_from_ns"`
	Recovery   int64 `json:"recovery_ns"`
	// Missing is the area lost: operations that would have succeeded at the rate before, and did not.
	Missing float64 `json:"missing"`
	Failed  int64   `json:"failed"`
}

// The kinds of operations, in [DrillEffect.Kind].
const (
	KindReads  = "reads"
	KindWrites = "writes"
)

// The classes that a ledger gives to writes.
const (
	WriteOK         = "ok"         // acknowledged and present
	WriteLost       = "lost"       // acknowledged and absent
	WriteRecovered  = "recovered"  // indeterminate and present
	WriteDropped    = "dropped"    // indeterminate and absent
	WritePhantom    = "phantom"    // declared not applied, and present
	WriteUnexpected = "unexpected" // present, and never attempted
	WriteDuplicated = "duplicated" // applied more than once
	WriteStale      = "stale"      // acknowledged, missing in a read begun after that, and present later
	WriteNeverRead  = "never-read" // no final read covered it
	WriteDiverged   = "diverged"   // a member does not agree with the primary after its lag was zero
	WriteCorrupt    = "corrupt"    // present with other content than was written
)

// LedgerResult is what became of the writes of a run.
type LedgerResult struct {
	Writers int `json:"writers"`
	// Attempted writes: Acknowledged, Indeterminate and NotApplied of them by what the client was told.
	Attempted     int64 `json:"attempted"`
	Acknowledged  int64 `json:"acknowledged"`
	Indeterminate int64 `json:"indeterminate"`
	NotApplied    int64 `json:"not_applied"`
	// Classes count the writes by what was found, inserts and updates apart.
	Inserts map[string]int64 `json:"inserts"`
	Updates map[string]int64 `json:"updates,omitempty"`
	// Lost are the first of the lost writes; LostRanges name all of them by writer, as "3: 17-19 42".
	Lost       []LostWrite `json:"lost,omitempty"`
	LostRanges []string    `json:"lost_ranges,omitempty"`
	// LossWindow is how long before the fault the oldest lost write had been acknowledged, in nanoseconds: the
	// measured recovery point. -1 if nothing is lost.
	LossWindow int64 `json:"loss_window_ns"`
	// Shards are the acknowledged and lost writes by shard, of a sharded cluster. One without a name has the writes whose
	// shard is not known.
	Shards []LedgerShard `json:"shards,omitempty"`
	// Examples of other classes that should not be there, by class.
	Examples map[string][]string `json:"examples,omitempty"`
	// Reads are what the audit read: the final read, and each member.
	Reads []LedgerRead `json:"reads"`
	// Judged is what reads returned during the load, where the workload has reads that can be judged.
	Judged *ReadsResult `json:"judged_reads,omitempty"`
	// Notes say what the numbers do not: which writes cannot be judged, and why.
	Notes []string `json:"notes,omitempty"`
	// Bytes is the memory that the ledger took.
	Bytes int64 `json:"bytes"`
}

// LedgerShard is what became of the acknowledged writes of one shard.
type LedgerShard struct {
	Shard        string `json:"shard,omitempty"`
	Acknowledged int64  `json:"acknowledged"`
	Lost         int64  `json:"lost"`
	// LossWindow is that of [LedgerResult] for the writes of this shard; -1 if none is lost, or nobody knows when it was
	// acknowledged.
	LossWindow int64 `json:"loss_window_ns"`
}

// LostWrite is one acknowledged write that is gone.
type LostWrite struct {
	Writer   int    `json:"writer"`
	Sequence int64  `json:"sequence"`
	ID       string `json:"id"`
	// Shard is the one that it went to, of a sharded cluster.
	Shard string `json:"shard,omitempty"`
	// Acknowledged is when, in run time, -1 if that is no longer known; Age is how long before the fault.
	// It was then or up to Within later: exact times are kept of the last writes only.
	Acknowledged int64 `json:"acknowledged_ns"`
	Within       int64 `json:"within_ns,omitempty"`
	Age          int64 `json:"age_ns"`
	// Found says where it still is: a rollback file, or the old timeline of a member.
	Found string `json:"found,omitempty"`
}

// LedgerRead is one pass of the audit.
type LedgerRead struct {
	// Source is "final" (majority read from the primary) or the name of a member.
	Source    string  `json:"source"`
	Documents int64   `json:"documents"`
	Seconds   float64 `json:"seconds"`
	// Missing are writes that the final read had and this one has not, Extra those that only this one has.
	Missing int64 `json:"missing,omitempty"`
	Extra   int64 `json:"extra,omitempty"`
	// Behind says how far the member was behind the primary when it was read; empty if it was not, or nobody knows.
	Behind string `json:"behind,omitempty"`
	// State says how a member stands against the final read: "agrees"; "stale", it only lacks what it had not applied yet;
	// "diverged", it is otherwise; "never-read", one of the two was not read to its end. Empty for the final read.
	State   string `json:"state,omitempty"`
	Problem string `json:"problem,omitempty"`
}

// How a member stands against the final read, in [LedgerRead.State].
const (
	MemberAgrees    = "agrees"
	MemberStale     = WriteStale
	MemberDiverged  = WriteDiverged
	MemberNeverRead = WriteNeverRead
)
