package record

import (
	"fmt"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// KindDrill is the kind of records of drills.
const KindDrill = "drill"

// DrillVerdict says whether the expectations of a drill or a round hold.
type DrillVerdict string

// The verdicts of a drill.
const (
	Holds    DrillVerdict = "holds"
	Violated DrillVerdict = "violated"
	Unknown  DrillVerdict = "unknown"
)

// DrillRunInvalid is the finding that the run of a round is invalid for reasons other than the fault.
const DrillRunInvalid = "run-invalid"

// Drill is drill.json: the result of a drill. Each round is a record of a run below it.
type Drill struct {
	Head
	Specification spec.Drill `json:"specification"`
	// Engine is the engine of the labs with its version, such as "mongod 8.0.12"; absent without a known lab.
	Engine string `json:"engine,omitempty"`
	// Verdict is "holds", "violated" or "unknown", and Reasons say why in one sentence each.
	Verdict DrillVerdict `json:"verdict" jsonschema:"enum=holds,enum=violated,enum=unknown"`
	Reasons []string     `json:"reasons"`
	// Rounds are the repetitions, in order.
	Rounds []DrillRound `json:"rounds"`
	// Outages and Losses are over all rounds, and Statement is what so many rounds show. They are absent if the rounds
	// have different failure modes; Modes then has each of them.
	Outages   *Spread     `json:"outages,omitempty"`
	Losses    *Spread     `json:"losses,omitempty"`
	Statement string      `json:"statement,omitempty"`
	Modes     []DrillMode `json:"modes,omitempty"`
}

// Spread is a distribution over few rounds. It has all values, because a percentile of three has no meaning.
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
	// Mark is the number that its writes carry, by which their documents are recognized.
	Mark uint32 `json:"mark,omitempty"`
	// Delay is the random delay of its faults, in nanoseconds: they and the end of the load are later than specified.
	Delay int64 `json:"delay_ns,omitempty"`
	// Status is its status, Problem what went wrong.
	Status  Status       `json:"status" jsonschema:"enum=running,enum=complete,enum=interrupted,enum=failed,enum=killed"`
	Problem string       `json:"problem,omitempty"`
	Verdict DrillVerdict `json:"verdict" jsonschema:"enum=holds,enum=violated,enum=unknown"`
	Reasons []string     `json:"reasons,omitempty"`
	// Level is the durability level of the loaded servers if a lab has servers for each level, and Means that level in the
	// engine's settings.
	Level string `json:"level,omitempty"`
	Means string `json:"means,omitempty"`
	// Failover says what decides which member is the primary of a lab's set; absent if the servers elect it by themselves.
	Failover string `json:"failover,omitempty"`
	// Expect is the expectation, and Promise its reason.
	Expect  spec.Expect `json:"expect"`
	Promise string      `json:"promise,omitempty"`
	// WindowStart and WindowEnd are the borders of the measured time, in nanoseconds of run time.
	WindowStart int64 `json:"window_start_ns,omitempty"`
	WindowEnd   int64 `json:"window_end_ns,omitempty"`
	// Topology is that of the lab; absent without a lab.
	Topology *spec.Topology `json:"topology,omitempty"`
	// Kubernetes is the deployment in Kubernetes; absent on other platforms.
	Kubernetes *Kubernetes `json:"kubernetes,omitempty"`
	// VSphere is what vCenter reports of the members' machines; absent on other platforms.
	VSphere *VSphere `json:"vsphere,omitempty"`
	// Members is how many servers hold data.
	Members int `json:"members,omitempty"`
	// Seeds are documents that were written and read before the load, and SeedsFound those that the final read found.
	Seeds      int `json:"seeds,omitempty"`
	SeedsFound int `json:"seeds_found,omitempty"`
	// CPUSeconds is the use of all hosts of the lab from before the load until redundancy returned.
	CPUSeconds float64 `json:"cpu_seconds,omitempty"`
	// WrittenBytes is what they wrote in the same time; only isolated hosts count it.
	WrittenBytes int64 `json:"written_bytes,omitempty"`
	// ClientCPUSeconds is the use of the load processes during the load, and ServiceCPUSeconds that of the REST service
	// (via: rest). CPUSeconds includes neither.
	ClientCPUSeconds  float64 `json:"client_cpu_seconds,omitempty"`
	ServiceCPUSeconds float64 `json:"service_cpu_seconds,omitempty"`
	// Unread are members that no read of the audit covered, with the reason.
	Unread []string `json:"unread,omitempty"`
	// Shards are the shards of a sharded cluster, and Placement says how the shard of an operation is known, or why it is
	// unknown.
	Shards    []DrillShard `json:"shards,omitempty"`
	Placement string       `json:"placement,omitempty"`
	// Faults are the injected faults.
	Faults []DrillFault `json:"faults"`
	// Moments are the timeline: what happened first after each fault, in nanoseconds of run time.
	Moments []DrillMoment `json:"moments"`
	// Effects are the effects on operations by class; "" is all of them.
	Effects []DrillEffect `json:"effects"`
	// Isolation is the verdict about the transactions of the workload transactions.
	Isolation *IsolationResult `json:"isolation,omitempty"`
	// Ledger is the result of the audit of writes.
	Ledger *LedgerResult `json:"ledger,omitempty"`
	// Unknown are the writes of clients that were lost, which nobody handed over.
	Unknown []UnknownWrites `json:"unknown,omitempty"`
}

// UnknownWrites are the last writes of a client that was lost. They count neither as lost nor as present.
type UnknownWrites struct {
	Client int `json:"client"`
	// From is the run time of its last hand-over, and To when it had ended at the latest, in nanoseconds.
	From int64 `json:"from_ns"`
	To   int64 `json:"to_ns"`
	// Problem is why it was lost.
	Problem string `json:"problem"`
}

// DrillShard is one shard of a sharded cluster in a round. Its outages are among the effects, its lost writes in the
// ledger.
type DrillShard struct {
	Name string `json:"name"`
	// Struck says whether a fault hit one of its members. With external faults this is unknown, and all shards count.
	Struck bool `json:"struck,omitempty"`
	// AcknowledgedBefore is how many operations with checked writes it acknowledged in the second before its first
	// fault, or before the first fault.
	AcknowledgedBefore int64 `json:"acknowledged_before"`
	// NewPrimary is the time from that fault to a new primary, in nanoseconds; 0 if none was seen.
	NewPrimary int64 `json:"new_primary_ns,omitempty"`
}

// DrillFault is one injected fault, on the clock of the run.
type DrillFault struct {
	Fault  spec.Action `json:"fault"`  // as specified
	Target string      `json:"target"` // what it was resolved to
	// Shards are those that have a member with data on the target, of a sharded cluster.
	Shards []string `json:"shards,omitempty"`
	// Mode is the failure mode: "crash" (connections break), "black-hole" (they hang), "planned", "disk" or "slow".
	// Outages of different failure modes are not compared.
	Mode     string `json:"mode"`
	Injected int64  `json:"injected_ns"`
	// Done is when the injector had confirmed it. Of a planned event it is the end.
	Done   int64 `json:"done_ns"`
	Healed int64 `json:"healed_ns,omitempty"`
	// Seen is when a witness saw the first effect, absent if that is not known.
	Seen int64 `json:"seen_ns,omitempty"`
	// Hit says whether something besides the injector confirms it, and Evidence what. Disputed says that the witnesses
	// contradict each other.
	Hit      bool   `json:"hit"`
	Disputed bool   `json:"disputed,omitempty"`
	Evidence string `json:"evidence,omitempty"`
	Problem  string `json:"problem,omitempty"`
	// Commands are the commands of the user that were run for the fault, in the order of their start. Of the runs of a
	// witness, the first and the last are kept.
	Commands []DrillCommand `json:"commands,omitempty"`
	// Event is how a planned event went; absent for faults.
	Event *DrillEvent `json:"event,omitempty"`
	// Noticed is what clients noticed; absent if it was not injected.
	Noticed *DrillNoticed `json:"noticed,omitempty"`
}

// DrillCommand is one run of a command of the user, or one request to the API of a platform, on the clock of the run.
type DrillCommand struct {
	// Step is what the command is for.
	Step string `json:"step" jsonschema:"enum=inject,enum=heal,enum=witness"`
	// Command is the command as a person would type it, without credentials.
	Command  string `json:"command"`
	Asked    int64  `json:"asked_ns"`
	Returned int64  `json:"returned_ns"`
	// Exit is the exit code; -1 if the command did not start or was ended. A request has 0 if it succeeded.
	Exit int `json:"exit"`
	// Request says that this was not a command but a request to the API of the platform.
	Request bool `json:"request,omitempty"`
	// Output is the beginning of the output, and Problem says why there is no exit code.
	Output  string `json:"output,omitempty"`
	Problem string `json:"problem,omitempty"`
}

// Result is the result in a few words.
func (c DrillCommand) Result() string {
	switch {
	case c.Problem != "":
		return c.Problem
	case !c.Request:
		return fmt.Sprintf("exit code %d", c.Exit)
	case c.Exit == 0:
		return "succeeded"
	}
	return "no effect seen"
}

// The kinds of moments, in their usual order.
const (
	MomentFault      = "fault"
	MomentFirstError = "first-error"
	MomentPrimaryOut = "primary-gone"    // clients lost the old primary
	MomentElected    = "primary-elected" // by term, election date or timeline
	MomentEtcd       = "etcd-leader"     // another leader of etcd, which renewed the lease of the primary
	MomentRestart    = "restart"         // of a member by the lab
	MomentFirstRead  = "first-read"      // the first successful read after none succeeded
	MomentFirstWrite = "first-write"     // the first acknowledged write after none was acknowledged
	MomentReadsBack  = "reads-back"      // 95 % of the reads before
	MomentWritesBack = "writes-back"     // 95 % of the writes before
	MomentHealed     = "healed"
	MomentRedundant  = "redundancy-back" // members healthy, no lag, rebuild done
	MomentEvent      = "event"           // a planned event began
	MomentEnded      = "event-ended"
	MomentReturned   = "command-returned" // a command of the user returned
	MomentSeen       = "effect-seen"      // a witness saw the first effect of a command
	MomentReverting  = "reverting"        // the command that reverts a fault was started
	MomentPodDeleted = "pod-deleted"      // Kubernetes deletes the pod of a member
	MomentPodPlaced  = "pod-placed"       // a new pod of a member has a node
	MomentAttached   = "volume-attached"  // a volume of a member is attached to a node
	MomentPodStarted = "pod-started"      // all containers of a new pod run
	MomentPodReady   = "pod-ready"        // Kubernetes counts it as ready
)

// DrillMoment is one step of the timeline.
type DrillMoment struct {
	Kind string `json:"kind"`
	At   int64  `json:"at_ns"`
	// Fault is the index of the fault that it follows.
	Fault int `json:"fault"`
	// Shard is its shard of a sharded cluster, empty for the cluster.
	Shard string `json:"shard,omitempty"`
	Text  string `json:"text,omitempty"`
}

// DrillEffect is the effect of the faults on one class of operations.
type DrillEffect struct {
	Class string `json:"class"`
	// Kind is "reads" or "writes": all classes that read, or that write, together.
	Kind string `json:"kind,omitempty" jsonschema:"enum=reads,enum=writes"`
	// Shard is their shard of a sharded cluster, empty for all operations, including those on several shards.
	Shard string `json:"shard,omitempty"`
	// Client is the number of a load process; -1 is all of them.
	Client int `json:"client"`
	// Before is the rate of successes per second before the first fault.
	Before float64 `json:"before"`
	// During is the same while the first fault was in effect, at most until the end of the load, of the operations that
	// succeeded within their timeout, counted from when they were due.
	During float64 `json:"during"`
	// Outage is the longest time without a success of the load or, except in a class, of a probe beside it: from the
	// last success before, or from when the next operation was sent, to the first success after. Successes that lasted
	// less than a second, and less than a tenth of the time without any before and after them, do not end it.
	// OutageFrom is its begin. Recovery is the time from the fault until 95 % of Before. Both are nanoseconds; -1 if it
	// did not end.
	Outage     int64 `json:"outage_ns"`
	OutageFrom int64 `json:"outage_from_ns"`
	Recovery   int64 `json:"recovery_ns"`
	// Hung is how long, from the begin of the outage, all operations waited for replies until the first one reached its
	// timeout, in nanoseconds; 0 if an operation failed earlier in another way. The server may have answered new
	// connections in that time, so the outage of the server is between Outage-Hung and Outage.
	Hung int64 `json:"hung_ns,omitempty"`
	// Missing is how many more operations would have succeeded at the rate before.
	Missing float64 `json:"missing"`
	Failed  int64   `json:"failed"`
}

// The kinds of operations, in [DrillEffect.Kind].
const (
	KindReads  = "reads"
	KindWrites = "writes"
)

// The classes of writes in a ledger.
const (
	WriteOK         = "ok"         // acknowledged and present
	WriteLost       = "lost"       // acknowledged and absent
	WriteRecovered  = "recovered"  // indeterminate and present
	WriteDropped    = "dropped"    // indeterminate and absent
	WritePhantom    = "phantom"    // reported as not applied, and present
	WriteUnexpected = "unexpected" // present, and never attempted
	WriteDuplicated = "duplicated" // applied more than once
	WriteStale      = "stale"      // acknowledged, missing in a read begun after that, and present later
	WriteNeverRead  = "never-read" // no final read covered it
	WriteDiverged   = "diverged"   // a member does not agree with the primary after its lag was zero
	WriteCorrupt    = "corrupt"    // present with other content than was written
	WriteTorn       = "torn"       // of a transaction of which some writes are present and others are not
)

// LedgerResult is the result of the audit of the writes of a run.
type LedgerResult struct {
	Writers int `json:"writers"`
	// Attempted is the sum of Acknowledged, Indeterminate and NotApplied, by the replies to the client.
	Attempted     int64 `json:"attempted"`
	Acknowledged  int64 `json:"acknowledged"`
	Indeterminate int64 `json:"indeterminate"`
	NotApplied    int64 `json:"not_applied"`
	// Unchecked are writes in addition that were sent and cannot be checked, by the reason.
	Unchecked map[string]int64 `json:"unchecked,omitempty"`
	// Inserts and Updates count the writes by class.
	Inserts map[string]int64 `json:"inserts"`
	Updates map[string]int64 `json:"updates,omitempty"`
	// Lost are the first of the lost writes; LostRanges name all of them by writer, as "3: 17-19 42".
	Lost       []LostWrite `json:"lost,omitempty"`
	LostRanges []string    `json:"lost_ranges,omitempty"`
	// Unsearched says why no other place was searched for lost writes, such as rollback files; absent if all were.
	Unsearched string `json:"unsearched,omitempty"`
	// Hidden is how many further updates may be lost: as many updates without a definite answer of the same documents may
	// have been applied in their place. LostAtLeast says that the number of lost writes is a lower bound, because of
	// these, of unchecked writes, or of clients whose last writes are unknown.
	Hidden      int64 `json:"hidden,omitempty"`
	LostAtLeast bool  `json:"lost_at_least,omitempty"`
	// Torn is the number of transactions of which a part is present and a part is not.
	Torn int64 `json:"torn_transactions,omitempty"`
	// Divided is the number of transactions of unknown result with an update that is present and another write that is
	// absent, unless an acknowledged update of the same documents was lost.
	Divided int64 `json:"divided_transactions,omitempty"`
	// LossWindow is the time from the acknowledgement of the oldest lost write to the moment when the fault took
	// effect, in nanoseconds: the measured recovery point. -1 without loss, 0 if all were acknowledged after that.
	// The moment is known within limits, so the true time is between LossLeast and LossMost.
	LossWindow int64 `json:"loss_window_ns"`
	LossLeast  int64 `json:"loss_least_ns,omitempty"`
	LossMost   int64 `json:"loss_most_ns,omitempty"`
	// LostAfter are lost writes that were sent and acknowledged after the fault had taken effect, and LossAfter is
	// how long after it the last of them was acknowledged, in nanoseconds. LostUntimed are those of which it is not
	// known when they were acknowledged.
	LostAfter   int64 `json:"lost_after,omitempty"`
	LossAfter   int64 `json:"loss_after_ns,omitempty"`
	LostUntimed int64 `json:"lost_untimed,omitempty"`
	// Shards are the acknowledged and lost writes by shard of a sharded cluster. The one without a name has the writes
	// whose shard is unknown.
	Shards []LedgerShard `json:"shards,omitempty"`
	// Examples are writes of other unexpected classes, by class.
	Examples map[string][]string `json:"examples,omitempty"`
	// Reads are the passes of the audit: the final read and each member.
	Reads []LedgerRead `json:"reads"`
	// WrongReads are reads during the load that returned another document than requested, or other content than was
	// written.
	WrongReads int64 `json:"wrong_reads,omitempty"`
	// Judged is the result of the reads during the load, if the workload has reads that can be judged.
	Judged *ReadsResult `json:"judged_reads,omitempty"`
	// Notes say which writes cannot be judged, and why.
	Notes []string `json:"notes,omitempty"`
	// Bytes is the memory of the ledger.
	Bytes int64 `json:"bytes"`
}

// LedgerShard is the result of the acknowledged writes of one shard.
type LedgerShard struct {
	Shard        string `json:"shard,omitempty"`
	Acknowledged int64  `json:"acknowledged"`
	Lost         int64  `json:"lost"`
	// LossWindow is that of [LedgerResult] for this shard; -1 without loss, or if the time of the write is unknown.
	LossWindow int64 `json:"loss_window_ns"`
	LossAfter  int64 `json:"loss_after_ns,omitempty"`
}

// LostWrite is one lost acknowledged write.
type LostWrite struct {
	Writer   int    `json:"writer"`
	Sequence int64  `json:"sequence"`
	ID       string `json:"id"`
	// Shard is its shard of a sharded cluster.
	Shard string `json:"shard,omitempty"`
	// Acknowledged is its time in run time, -1 if it is unknown, and Age the time from then until the fault took
	// effect, below 0 if that was before. The true time is
	// up to Within later, because only the last writes have exact times.
	Acknowledged int64 `json:"acknowledged_ns"`
	Within       int64 `json:"within_ns,omitempty"`
	Age          int64 `json:"age_ns"`
	// Found is where it still exists: a rollback file, or the old timeline of a member.
	Found string `json:"found,omitempty"`
}

// LedgerRead is one pass of the audit.
type LedgerRead struct {
	// Source is "final" (majority read from the primary) or the name of a member.
	Source    string  `json:"source"`
	Documents int64   `json:"documents"`
	Seconds   float64 `json:"seconds"`
	// Missing are writes of the final read that this one lacks, Extra those that only this one has.
	Missing int64 `json:"missing,omitempty"`
	Extra   int64 `json:"extra,omitempty"`
	// Behind is the replication lag of the member when it was read; empty if there was none, or it is unknown.
	Behind string `json:"behind,omitempty"`
	// State compares a member with the final read: "agrees"; "stale" (it only lacks writes that it had not applied yet);
	// "diverged" (it differs otherwise); "never-read" (one of the two reads is incomplete). Empty for the final read.
	State   string `json:"state,omitempty"`
	Problem string `json:"problem,omitempty"`
	// Copy is there if this is a backup that was restored. It is "diverged" if it is inconsistent.
	Copy *LedgerCopy `json:"copy,omitempty"`
}

// LedgerCopy is what a restored backup has of the writes.
type LedgerCopy struct {
	// Earlier are the writes that it lacks although they were acknowledged before the backup began: the member was behind
	// its primary. Age is how long before that the oldest of them was acknowledged, in nanoseconds.
	Earlier int64 `json:"earlier,omitempty"`
	Age     int64 `json:"age,omitempty"`
	// Torn are the acknowledged writes that it lacks although it has later ones of the same writer, and those with wrong
	// content.
	Torn int64 `json:"torn,omitempty"`
}

// Values of [LedgerRead.State].
const (
	MemberAgrees    = "agrees"
	MemberStale     = WriteStale
	MemberDiverged  = WriteDiverged
	MemberNeverRead = WriteNeverRead
)
