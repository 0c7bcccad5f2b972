package record

import (
	"slices"

	"github.com/plimsoll-bench/plimsoll/measure"
)

// KindProbe is the kind of record that `plimsoll disk` leaves.
const KindProbe = "probe"

// ProbeVerdict says whether storage keeps acknowledged writes.
type ProbeVerdict string

// The words of a durability verdict.
const (
	// Honest: acknowledged writes reached the checked layer.
	Honest ProbeVerdict = "honest"
	// Suspicious: it is faster than a device of this class can be, or something is missing that should be there.
	Suspicious ProbeVerdict = "suspicious"
	// Lying: writes were acknowledged that the layer below never got to keep, or that are gone.
	Lying ProbeVerdict = "lying"
	// NotProvable: this layer cannot be seen from here.
	NotProvable ProbeVerdict = "not-provable-here"
)

// Probe is probe.json: what storage was measured to do, and whether it tells the truth.
type Probe struct {
	Head
	// Specification is the specification, with all defaults.
	Specification ProbeSpec `json:"specification"`
	// Volume is what a lab made, in a few words, where the directory is a volume of one.
	Volume string `json:"volume,omitempty"`
	// Storage is the storage of the directory.
	Storage ProbeStorage `json:"storage"`
	// Steps are what was measured, in order of time.
	Steps []ProbeStep `json:"steps"`
	// Ramps say, for each kind of operation of the profile random, where more threads stop helping.
	Ramps []ProbeRamp `json:"ramps,omitempty"`
	// Journal, Checkpoint and Sustained are the results of the profiles of these names.
	Journal    *ProbeJournalResult    `json:"journal,omitempty"`
	Checkpoint *ProbeCheckpointResult `json:"checkpoint,omitempty"`
	Sustained  *ProbeSustainedResult  `json:"sustained,omitempty"`
	// Prediction is what an engine is expected to do on this storage.
	Prediction *ProbePrediction `json:"prediction,omitempty"`
	// Durability has an entry for each grade that was tried.
	Durability []ProbeDurability `json:"durability,omitempty"`
	// Verdict is the word for all of them together.
	Verdict ProbeVerdict `json:"verdict,omitempty" jsonschema:"enum=honest,enum=suspicious,enum=lying,enum=not-provable-here"`
	// Class is the class of devices that it behaves like.
	Class *ProbeClass `json:"class,omitempty"`
	// Objectives are the objectives and whether they were met.
	Objectives []measure.ObjectiveResult `json:"objectives,omitempty"`
	// Files lists the other files of the record.
	Files []File `json:"files"`
}

// ProbeSpec is what a probe is asked to do.
type ProbeSpec struct {
	// Directory is where the test files are.
	Directory string   `json:"directory"`
	Profiles  []string `json:"profiles"`
	// Size of the test file, in bytes; Duration of each step, in nanoseconds.
	Size     int64 `json:"size"`
	Duration int64 `json:"duration_ns"`
	// Threads is where the ramp of the profile random ends; Ramp has the numbers of threads where they are not doubled
	// from 1 on.
	Threads int   `json:"threads"`
	Ramp    []int `json:"ramp,omitempty"`
	// Block is how long one random read or write is; Operations are "read", "write" and "mixed".
	Block      int64    `json:"block"`
	Operations []string `json:"operations"`
	// Mode is "direct", "buffered" or "mmap"; Sync what makes a write durable: "fdatasync", "dsync" or "none".
	Mode string `json:"mode" jsonschema:"enum=direct,enum=buffered,enum=mmap"`
	Sync string `json:"sync" jsonschema:"enum=fdatasync,enum=dsync,enum=none"`
	// Fallback lets a direct probe use the page cache if the filesystem has no O_DIRECT; a finding says so.
	Fallback bool `json:"fallback,omitempty"`
	// SyncDelay is how long the mode mmap waits between two syncs, in nanoseconds.
	SyncDelay int64 `json:"sync_delay_ns,omitempty"`
	// Record is how much one commit appends to the journal; Segment the size of a file of the journal.
	Record  int64 `json:"record"`
	Segment int64 `json:"segment"`
	// Log is how the files of the journal are written: "reserved" in advance, "growing" with each record, or "overwritten"
	// in pages; absent, reserved.
	Log string `json:"log,omitempty" jsonschema:"enum=reserved,enum=growing,enum=overwritten"`
	// Clients are the numbers of clients of the profile journal.
	Clients []int `json:"clients"`
	// Peers are the other members of the replica set.
	Peers []ProbePeer `json:"peers,omitempty"`
	// CommitRate and ReadRate are per second, Dirty is how much a checkpoint writes into so many Files, every Period.
	CommitRate float64 `json:"commit_rate"`
	ReadRate   float64 `json:"read_rate"`
	Dirty      int64   `json:"dirty"`
	Files      int     `json:"files"`
	Period     int64   `json:"period_ns"`
	// Objectives are as the user wrote them, for example "p99<10ms".
	Objectives []string `json:"objectives,omitempty"`
	// Devices are accounted besides those that were found below the directory.
	Devices []string `json:"devices,omitempty"`
	// Seed is that of offsets and data; random, unless it was given.
	Seed   uint64 `json:"seed"`
	Forced bool   `json:"forced,omitempty"`
}

// ProbePeer is another member of the replica set.
type ProbePeer struct {
	// Flush is how long one flush of its journal takes, RTT the round trip to it, in nanoseconds.
	Flush int64 `json:"flush_ns"`
	RTT   int64 `json:"rtt_ns"`
}

// ProbeStorage is the storage of a directory.
type ProbeStorage struct {
	// Filesystem is its type, Options those of the mount that matter.
	Filesystem string `json:"filesystem"`
	Source     string `json:"source,omitempty"`
	Mount      string `json:"mount,omitempty"`
	Options    string `json:"options,omitempty"`
	// Bytes and Free are as the filesystem says.
	Bytes int64 `json:"bytes"`
	Free  int64 `json:"free"`
	// Direct says whether O_DIRECT works; memory and offsets must be multiples of the alignments.
	Direct      bool  `json:"direct"`
	MemoryAlign int64 `json:"memory_align,omitempty"`
	OffsetAlign int64 `json:"offset_align,omitempty"`
	// AlignFrom says where the alignments come from: "statx", "logical block" or "assumed".
	AlignFrom string `json:"align_from,omitempty"`
	// Preallocated says how the files of the journal were reserved: "fallocate", "truncate" or "written".
	Preallocated string `json:"preallocated,omitempty"`
	// Devices are those below it, the ones that hold the data last.
	Devices []ProbeBlock `json:"devices"`
	// Below are the filesystems below the first one, such as that of the file of a loop device.
	Below []ProbeFilesystem `json:"below,omitempty"`
	// Memory names what keeps data in memory, such as "tmpfs below loop0".
	Memory []string `json:"memory,omitempty"`
	// Unseen names what holds the data and cannot be seen from here.
	Unseen []string `json:"unseen,omitempty"`
}

// ProbeFilesystem is a filesystem below another one.
type ProbeFilesystem struct {
	Type string `json:"type"`
	// Above is the device or the filesystem that uses it, Path what is used in it.
	Above   string `json:"above"`
	Path    string `json:"path"`
	Options string `json:"options,omitempty"`
}

// ProbeBlock is a block device below a directory.
type ProbeBlock struct {
	Name string `json:"name"`
	// Kind is "disk", "partition", "loop", "md", "dm" or "bcache".
	Kind string `json:"kind"`
	// Above are the devices that use it; a Leaf uses none.
	Above []string `json:"above,omitempty"`
	Leaf  bool     `json:"leaf"`
	// Bus is "nvme", "scsi", "virtio", "xen", "mmc", "zram", "ram", "null", "network" or "".
	Bus        string `json:"bus,omitempty"`
	Model      string `json:"model,omitempty"`
	Vendor     string `json:"vendor,omitempty"`
	Rotational bool   `json:"rotational"`
	// WriteCache is "write back" or "write through", as the kernel believes.
	WriteCache   string `json:"write_cache,omitempty"`
	FUA          bool   `json:"fua"`
	Scheduler    string `json:"scheduler,omitempty"`
	ReadAheadKiB int64  `json:"read_ahead_kib"`
	Requests     int64  `json:"requests,omitempty"`
	Logical      int64  `json:"logical_block,omitempty"`
	Physical     int64  `json:"physical_block,omitempty"`
	Bytes        int64  `json:"bytes,omitempty"`
	// FlushCounted says whether the kernel counts its flushes (request-based queues only).
	FlushCounted bool `json:"flush_counted"`
	// NoCounters says that its counters are switched off (queue/iostats), Given that the user named it.
	NoCounters bool `json:"no_counters,omitempty"`
	Given      bool `json:"given,omitempty"`
	// RAID is the level of an md array, Chunk its stripe unit or that of a dm target, in bytes; Members are how many.
	RAID    string `json:"raid,omitempty"`
	Chunk   int64  `json:"chunk,omitempty"`
	Members int    `json:"members,omitempty"`
	// Backing is the file of a loop device, BackingFilesystem what that lies on.
	Backing           string `json:"backing,omitempty"`
	BackingFilesystem string `json:"backing_filesystem,omitempty"`
	// Cached says that a loop device uses the page cache (loop/dio is 0).
	Cached bool `json:"cached,omitempty"`
}

// ProbeStep is one thing that was measured for a while.
type ProbeStep struct {
	Profile string `json:"profile"`
	// Operation is "read", "write", "mixed", "commit" or "checkpoint".
	Operation string `json:"operation"`
	// Threads are those that read or write; Clients those that wait for commits.
	Threads int   `json:"threads"`
	Clients int   `json:"clients,omitempty"`
	Block   int64 `json:"block"`
	// Mode is how the file was opened, Sync what made writes durable.
	Mode string `json:"mode"`
	Sync string `json:"sync,omitempty"`
	// Start is the time since the start of the probe, in nanoseconds.
	Start      int64   `json:"start_ns"`
	Seconds    float64 `json:"seconds"`
	Operations int64   `json:"operations"`
	Bytes      int64   `json:"bytes"`
	// Rate is in operations, BytesRate in bytes per second, of the real size of the records.
	Rate      float64 `json:"rate"`
	BytesRate float64 `json:"bytes_rate"`
	// Latency is that of the operations: of a durable write with its sync, of a commit from its arrival. Reads and
	// Writes are those of a mixed step.
	Latency *Latency `json:"latency,omitempty"`
	Reads   *Latency `json:"reads,omitempty"`
	Writes  *Latency `json:"writes,omitempty"`
	// Flush is one write and flush of the journal together, SyncOnly the flush alone.
	Flush    *Latency `json:"flush,omitempty"`
	SyncOnly *Latency `json:"sync_only,omitempty"`
	Flushes  int64    `json:"flushes,omitempty"`
	// Think is the mean time between an acknowledgement and the next commit of a client, in nanoseconds.
	Think int64 `json:"think_ns,omitempty"`
	// Model is what the group commit is expected to do with this step's flushes.
	Model *ProbeModel `json:"model,omitempty"`
	// Histograms are HdrHistogram V2 in base64, by name: "latency", "flush", "sync".
	Histograms map[string]string `json:"histograms,omitempty"`
	Devices    []ProbeDevice     `json:"devices,omitempty"`
	Host       ProbeHost         `json:"host"`
	// CPUSeconds is the use of this process.
	CPUSeconds float64 `json:"cpu_seconds"`
	// Interrupted steps ended before their time.
	Interrupted bool `json:"interrupted,omitempty"`
}

// ProbeModel is what the group commit model says about a step.
type ProbeModel struct {
	// Latency is the expected mean in nanoseconds, Rate the expected commits per second.
	Latency int64   `json:"latency_ns"`
	Rate    float64 `json:"rate"`
	// Error is measured over expected latency, less one.
	Error float64 `json:"error"`
}

// ProbeDevice is the statistics of a block device during a step, as in iostat -x.
type ProbeDevice struct {
	Name     string  `json:"name"`
	Reads    float64 `json:"reads_per_s"`
	ReadKB   float64 `json:"read_kb_per_s"`
	ReadMrg  float64 `json:"read_merges_per_s"`
	ReadMrgP float64 `json:"read_merged_percent"`
	// Waits are in milliseconds, request sizes in KiB.
	ReadAwait  float64 `json:"read_await_ms"`
	ReadSize   float64 `json:"read_request_kb"`
	Writes     float64 `json:"writes_per_s"`
	WriteKB    float64 `json:"write_kb_per_s"`
	WriteMrg   float64 `json:"write_merges_per_s"`
	WriteMrgP  float64 `json:"write_merged_percent"`
	WriteAwait float64 `json:"write_await_ms"`
	WriteSize  float64 `json:"write_request_kb"`
	Discards   float64 `json:"discards_per_s"`
	DiscardKB  float64 `json:"discard_kb_per_s"`
	DiscardMrg float64 `json:"discard_merges_per_s"`
	DiscardMP  float64 `json:"discard_merged_percent"`
	DiscAwait  float64 `json:"discard_await_ms"`
	DiscSize   float64 `json:"discard_request_kb"`
	Flushes    float64 `json:"flushes_per_s"`
	FlushAwait float64 `json:"flush_await_ms"`
	Queue      float64 `json:"queue"`
	Util       float64 `json:"util_percent"`
	// FlushesPerSync and WritesPerSync are per requested sync; absent without.
	FlushesPerSync *float64 `json:"flushes_per_sync,omitempty"`
	WritesPerSync  *float64 `json:"writes_per_sync,omitempty"`
	// FlushCount and WriteCount are totals of the step.
	FlushCount int64 `json:"flush_count"`
	WriteCount int64 `json:"write_count"`
	WriteBytes int64 `json:"write_bytes"`
	ReadBytes  int64 `json:"read_bytes"`
}

// ProbeHost is the pressure on the machine during a step, as shares of time.
type ProbeHost struct {
	// CPUPressure, IOPressure and MemoryPressure are how much of the time some task waited (PSI), absent without PSI.
	CPUPressure    *float64 `json:"cpu_pressure,omitempty"`
	IOPressure     *float64 `json:"io_pressure,omitempty"`
	MemoryPressure *float64 `json:"memory_pressure,omitempty"`
	// Steal is what the hypervisor took, Busy what all processors did, as shares of all processors.
	Steal float64 `json:"steal"`
	Busy  float64 `json:"busy"`
	// Throttled is how long the control group of this process had to wait for processors, in seconds.
	Throttled float64 `json:"throttled_seconds,omitempty"`
}

// RampEnd returns the first of several rates, by rising threads, after which none is better by the share gain. It is
// the last one if more threads helped to the end.
func RampEnd(rates []float64, gain float64) int {
	best, end := 0.0, len(rates)-1
	for i, rate := range slices.Backward(rates) {
		if i < len(rates)-1 && best < rate*(1+gain) {
			end = i
		}
		best = max(best, rate)
	}
	return end
}

// ProbeRamp is the number of threads beyond which more do not help.
type ProbeRamp struct {
	Operation string `json:"operation"`
	// Threads is the smallest number after which no number did more than Gain better; 0 if more helped to the end.
	Threads int     `json:"threads"`
	Gain    float64 `json:"gain"`
	// Rate is what these threads reached, Best the highest rate of any step.
	Rate float64 `json:"rate"`
	Best float64 `json:"best"`
}

// ProbeJournalResult is the capacity of the journal.
type ProbeJournalResult struct {
	// Flush is the distribution of one write and flush with one client: S.
	Flush *Latency `json:"flush"`
	// Square is the mean of the squares of S, in s².
	Square float64 `json:"square"`
	// Ceiling is the highest rate of commits per second that was measured, with so many Clients.
	Ceiling float64 `json:"ceiling"`
	Clients int     `json:"clients"`
	// One and Many are the expected times of a commit with j:true: alone, and among others; Open among independent
	// clients at half of the ceiling, in nanoseconds.
	One  int64 `json:"one_ns"`
	Many int64 `json:"many_ns"`
	Open int64 `json:"open_ns"`
	// Majority is the expected w:majority, absent without peers.
	Majority *ProbeMajority `json:"majority,omitempty"`
	// WorstError is the largest deviation of the model from what was measured, as a share.
	WorstError float64 `json:"worst_error"`
}

// ProbeMajority is the expected time of a commit that a majority journaled.
type ProbeMajority struct {
	Members int `json:"members"`
	Needed  int `json:"needed"`
	// One is alone, Many among others, in nanoseconds.
	One  int64 `json:"one_ns"`
	Many int64 `json:"many_ns"`
	// Decided says which member is the last one needed: "this one" or "peer 2".
	Decided string `json:"decided"`
}

// ProbeCheckpointResult is the effect of checkpoints on commits.
type ProbeCheckpointResult struct {
	Checkpoints int `json:"checkpoints"`
	// Dirty is what one of them wrote, in bytes, Took its mean length, WriteTook and SyncTook its parts, in nanoseconds.
	Dirty     int64 `json:"dirty"`
	Took      int64 `json:"took_ns"`
	Longest   int64 `json:"longest_ns"`
	WriteTook int64 `json:"write_took_ns"`
	SyncTook  int64 `json:"sync_took_ns"`
	// Inside and Outside are the times of commits that arrived during a checkpoint and between two.
	Inside  *Latency `json:"inside,omitempty"`
	Outside *Latency `json:"outside,omitempty"`
	// ReadsInside and ReadsOutside are those of cache misses.
	ReadsInside  *Latency `json:"reads_inside,omitempty"`
	ReadsOutside *Latency `json:"reads_outside,omitempty"`
	// Stalled is how long no commit was acknowledged although some waited, in pauses of more than StallAfter each, in
	// nanoseconds.
	Stalled    int64 `json:"stalled_ns"`
	StallAfter int64 `json:"stall_after_ns"`
	// Reached is the rate of the checkpoints, Needed the rate with which they end within the period, in bytes/s.
	Reached float64 `json:"reached"`
	Needed  float64 `json:"needed"`
	// Asked and Done are the requested and the achieved commits per second.
	Asked float64 `json:"asked"`
	Done  float64 `json:"done"`
}

// ProbeSustainedResult is the sustained rate of the device.
type ProbeSustainedResult struct {
	// Fell says that the rate fell for good; At is when, in nanoseconds since the start of the step, and After how many
	// bytes had been written then.
	Fell  bool  `json:"fell"`
	At    int64 `json:"at_ns,omitempty"`
	After int64 `json:"after_bytes,omitempty"`
	// Before and Ceiling are the rates before and after, in bytes/s; without a fall both are the rate of the whole step.
	Before  float64 `json:"before"`
	Ceiling float64 `json:"ceiling"`
	// Variation is the coefficient of variation of the rates behind the fall, or of all.
	Variation float64 `json:"variation"`
	// Like is the pattern: "burst credits", "write cache", "steady".
	Like string `json:"like"`
}

// ProbeDurability is one grade of the verdict.
type ProbeDurability struct {
	// Grade is "A" (flush accounting), "B" (plausibility), "C" (simulated power cut), "D" (external witness) or "R" (data
	// that were read again, if they were wrong).
	Grade   string       `json:"grade" jsonschema:"enum=A,enum=B,enum=C,enum=D,enum=R"`
	Verdict ProbeVerdict `json:"verdict" jsonschema:"enum=honest,enum=suspicious,enum=lying,enum=not-provable-here"`
	// Text is the reason, Covers what was checked, Blind what could not be checked.
	Text   string `json:"text"`
	Covers string `json:"covers"`
	Blind  string `json:"blind"`
	// Syncs are requested, Flushes counted by a device (grade A); Acknowledged and Missing are records (C, D).
	Syncs   int64 `json:"syncs,omitempty"`
	Flushes int64 `json:"flushes,omitempty"`
	// Bare is how many syncs returned although the device had finished no flush (grade A).
	Bare         int64  `json:"bare,omitempty"`
	Device       string `json:"device,omitempty"`
	Acknowledged int64  `json:"acknowledged,omitempty"`
	Missing      int64  `json:"missing,omitempty"`
	// Loose is how many records without a sync were lost, Discarded how many writes the disks say that they discarded: a
	// power cut that lost neither proves nothing (C, D).
	Loose     int64 `json:"loose,omitempty"`
	Discarded int64 `json:"discarded,omitempty"`
}

// ProbeClass is the class of devices that a result is like.
type ProbeClass struct {
	Name string `json:"name"`
	// Text is the verdict in one sentence, with its suitable use.
	Text string `json:"text"`
	// Provenance says where the figures of the class come from.
	Provenance string `json:"provenance"`
}

// ProbeSecond is one line of timeline.ndjson: a part of a step, usually a second.
type ProbeSecond struct {
	// Step counts from 0; At and Length are in nanoseconds, At since the start of the step.
	Step   int   `json:"step"`
	At     int64 `json:"at_ns"`
	Length int64 `json:"length_ns"`
	// Operations and Bytes within it, and the times of the operations that ended in it.
	Operations int64 `json:"operations"`
	Bytes      int64 `json:"bytes"`
	P50        int64 `json:"p50_ns"`
	P99        int64 `json:"p99_ns"`
	Max        int64 `json:"max_ns"`
	// Checkpoint says that a checkpoint was running at its end.
	Checkpoint bool `json:"checkpoint,omitempty"`
	// Devices are the block devices below, if they were requested.
	Devices []ProbeDevice `json:"devices,omitempty"`
}

// ProfileSteps returns the steps of a profile, in order of time.
func (p *Probe) ProfileSteps(profile string) []ProbeStep {
	var list []ProbeStep
	for _, s := range p.Steps {
		if s.Profile == profile {
			list = append(list, s)
		}
	}
	return list
}
