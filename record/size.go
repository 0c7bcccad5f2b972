package record

import (
	"github.com/plimsoll-bench/plimsoll/measure"
)

// KindSize is the kind of result that `plimsoll size` prints as JSON.
const KindSize = "size"

// SizeVerdict is what became of the question for a size.
type SizeVerdict string

// The verdicts of a sizing.
const (
	// SizeAnswered: there is an answer.
	SizeAnswered SizeVerdict = "answered"
	// SizeImpossible: the need cannot be met with what was measured, however many nodes there are.
	SizeImpossible SizeVerdict = "impossible"
	// SizeUnknown: the records do not tell.
	SizeUnknown SizeVerdict = "unknown"
)

// Sizing is what size is needed, and why.
type Sizing struct {
	SchemaVersion string `json:"schema_version"`
	// Kind is the kind of result, "size" here.
	Kind string `json:"kind"`
	Tool Tool   `json:"tool"`
	// Need is what was asked for; absent where only deployments were matched.
	Need *SizeNeed `json:"need,omitempty"`
	// Verdict says whether there is an answer.
	Verdict SizeVerdict `json:"verdict" jsonschema:"enum=answered,enum=impossible,enum=unknown"`
	// Answer is the size; absent unless there is one.
	Answer *SizeAnswer `json:"answer,omitempty"`
	// Alternatives are other sizes that do, such as the other node types of a price list, the cheapest first.
	Alternatives []SizeAnswer `json:"alternatives,omitempty"`
	// Refused are node types of the price list that do not fit, and why.
	Refused []SizeRefusal `json:"refused,omitempty"`
	// Workloads are what the records say, one entry per workload. The answer does for all of them.
	Workloads []SizeWorkload `json:"workloads"`
	// Multipliers say how many nodes match another deployment.
	Multipliers []SizeMultiplier `json:"multipliers,omitempty"`
	// Reasons explain the answer, or why there is none, in sentences.
	Reasons []string `json:"reasons"`
	// Validity lists the reasons why the answer must not be believed, or only with care.
	Validity []measure.Finding `json:"validity"`
}

// SizeNeed is what is needed.
type SizeNeed struct {
	// Text is the need as it was written.
	Text string `json:"text"`
	// Operations are successful operations per second, 0 if that was not asked.
	Operations float64 `json:"operations,omitempty"`
	// Data is the size of the documents in bytes, one copy; 0 takes that of the measurement.
	Data int64 `json:"data_bytes,omitempty"`
	// Objectives must hold, for example "p99<20ms".
	Objectives []string `json:"objectives,omitempty"`
	// Copies is how many members keep each document, 0 for as many as measured.
	Copies int `json:"copies,omitempty"`
	// Failures is how many nodes may fail at once without less being carried.
	Failures int `json:"failures"`
	// Free is the share of each disk that stays free.
	Free float64 `json:"free_share"`
}

// SizeAnswer is one size that does.
type SizeAnswer struct {
	// Type is the node type of the price list.
	Type string `json:"type,omitempty"`
	// Nodes = Shards · Copies + Spare. Shards share the data, Copies is how many members keep each, Spare nodes stand
	// by for those that fail.
	Nodes  int `json:"nodes"`
	Shards int `json:"shards"`
	Copies int `json:"copies"`
	Spare  int `json:"spare"`
	// Memory and Disk are bytes per node; Memory is 0 where there is no model of it. Cache is that of the server, within
	// Memory.
	Memory int64 `json:"memory_bytes,omitempty"`
	Cache  int64 `json:"cache_bytes,omitempty"`
	Disk   int64 `json:"disk_bytes,omitempty"`
	// Parts are what the disk is for.
	Parts *SizeDisk `json:"disk_parts,omitempty"`
	// AtMost says that fewer nodes may do, because the rate that decides is a lower bound.
	AtMost bool `json:"at_most,omitempty"`
	// DataFactor is how many times the documents of a member are those of a measured one; absent if that is not known.
	DataFactor float64 `json:"data_factor,omitempty"`
	// Decides is what the number of shards follows from: operations, data, memory, disk or journal.
	Decides string `json:"decides" jsonschema:"enum=operations,enum=data,enum=memory,enum=disk,enum=journal"`
	// Price is what it costs, absent without a price list.
	Price *SizePrice `json:"price,omitempty"`
}

// SizeDisk is what the disk of a node is for, in bytes.
type SizeDisk struct {
	// Documents are those of one member, Overhead is for indexes and pages that are not full.
	Documents int64 `json:"documents"`
	Overhead  int64 `json:"overhead"`
	// Journal is the log of the storage engine, Oplog that of replication.
	Journal int64 `json:"journal"`
	Oplog   int64 `json:"oplog,omitempty"`
	// Free stays free.
	Free int64 `json:"free"`
}

// SizePrice is what a size costs. The quotients are rounded up to three significant digits.
type SizePrice struct {
	Currency string `json:"currency"`
	// Month is the price of all nodes per month.
	Month float64 `json:"per_month"`
	// PerRate is Month by the operations per second that are needed; PerMillion is the price of a million operations
	// at that rate. Both are absent where no rate is needed.
	PerRate    *float64 `json:"per_month_and_rate,omitempty"`
	PerMillion *float64 `json:"per_million_operations,omitempty"`
	// Date and Source are those of the price list.
	Date   string `json:"date"`
	Source string `json:"source"`
}

// SizeRefusal is a node type that does not fit.
type SizeRefusal struct {
	Type string `json:"type"`
	Why  string `json:"why"`
}

// SizeWorkload is what the records say of one workload.
type SizeWorkload struct {
	// Workload is its name, with what else tells it from the others.
	Workload string   `json:"workload"`
	Records  []string `json:"records"`
	// Software is what was measured: see [Target.Software].
	Software string `json:"software,omitempty"`
	// AtLeast says that the rate is a lower bound: it was offered and held, so more may hold too.
	AtLeast bool `json:"at_least,omitempty"`
	// Source is where the rate comes from: "capacity" (a search that confirmed it), "open" (offered and held) or "closed"
	// (what the workers reached).
	Source string `json:"source" jsonschema:"enum=capacity,enum=open,enum=closed"`
	// N is how many trials count. Rate is in operations per second, with its 95 % interval where N allows one.
	N    int      `json:"n"`
	Rate float64  `json:"rate"`
	Low  *float64 `json:"rate_low,omitempty"`
	High *float64 `json:"rate_high,omitempty"`
	// Nodes is how many nodes did that, Copies how many members kept each document.
	Nodes  int `json:"nodes"`
	Copies int `json:"copies"`
	// Needed is how many nodes carry the need, not rounded, spare ones not counted. Its 95 % interval has no upper end
	// beyond the measured sizes, because something else may become the limit there.
	Needed     *float64 `json:"needed,omitempty"`
	NeededLow  *float64 `json:"needed_low,omitempty"`
	NeededHigh *float64 `json:"needed_high,omitempty"`
	// Assumption is what that stands on: linear, measured, interpolated, usl or power.
	Assumption string `json:"assumption,omitempty"`
	// Objectives are those of the need evaluated on the trials.
	Objectives []SizeObjective `json:"objectives,omitempty"`
	// Scaling is throughput by size, where it was measured.
	Scaling *SizeScaling `json:"scaling,omitempty"`
	Memory  *SizeMemory  `json:"memory,omitempty"`
	Journal *SizeJournal `json:"journal,omitempty"`
}

// SizeObjective is an objective of the need evaluated on the trials of a workload.
type SizeObjective struct {
	Objective string `json:"objective"`
	// Met is how many of N trials met it, Unknown how many cannot tell. Worst is the worst value of a trial, in Unit.
	Met     int      `json:"met"`
	N       int      `json:"n"`
	Unknown int      `json:"unknown,omitempty"`
	Worst   *float64 `json:"worst,omitempty"`
	Unit    string   `json:"unit"`
}

// SizeScaling is throughput by size as it was measured, and the law fitted to it.
type SizeScaling struct {
	// Factor is what was varied.
	Factor string           `json:"factor"`
	Points []SizeScalePoint `json:"points"`
	// Law is the Universal Scalability Law, absent where it could not be fitted.
	Law *SizeLaw `json:"law,omitempty"`
	// Warnings say why the law may not be used.
	Warnings []string `json:"warnings,omitempty"`
}

// SizeScalePoint is one size that was measured: the geometric mean over N trials, in operations per second.
type SizeScalePoint struct {
	Size       float64  `json:"size"`
	N          int      `json:"n"`
	Throughput float64  `json:"throughput"`
	Low        *float64 `json:"throughput_low,omitempty"`
	High       *float64 `json:"throughput_high,omitempty"`
}

// SizeLaw is a fitted scalability law, X = λN/(1+σ(N−1)+κN(N−1)).
type SizeLaw struct {
	Lambda float64 `json:"lambda"`
	Sigma  float64 `json:"sigma"`
	Kappa  float64 `json:"kappa"`
	// Error is the root mean square of the relative residuals.
	Error float64 `json:"error"`
	// Peak is the size of the highest throughput. It is absent unless the sizes that were measured go that far.
	Peak     *float64 `json:"peak,omitempty"`
	PeakLow  *float64 `json:"peak_low,omitempty"`
	PeakHigh *float64 `json:"peak_high,omitempty"`
}

// SizeMemory is what the cache holds, as predicted from the key distribution.
type SizeMemory struct {
	Distribution string `json:"distribution"`
	// Records is how many documents a member had, DocBytes their mean size.
	Records  float64 `json:"records_per_member"`
	DocBytes float64 `json:"document_bytes"`
	// Cache is that of a member in the measurement, 0 if unknown; From says where that is known from.
	Cache int64  `json:"cache_bytes,omitempty"`
	From  string `json:"cache_from,omitempty"`
	// Hit is the predicted share of reads and updates whose page was cached, absent if the cache is unknown.
	Hit *float64 `json:"hit_predicted,omitempty"`
	// Misses are pages read per operation, as predicted and as the server counted them.
	Misses         *float64 `json:"misses_predicted,omitempty"`
	MissesMeasured *float64 `json:"misses_measured,omitempty"`
	// HitServer is the share of all page requests that the server's own counters call hits. It counts inner pages as
	// well, of which every operation needs several that are always there, so it is higher than Hit.
	HitServer *float64 `json:"hit_server,omitempty"`
	// Required is the hit ratio that the answer keeps.
	Required float64 `json:"hit_required"`
	// Course is the prediction for other sizes of the data beside the same cache: where it falls off is the cliff.
	Course []SizeMemoryPoint `json:"course,omitempty"`
}

// SizeMemoryPoint is the prediction for one size of the data.
type SizeMemoryPoint struct {
	// Data are the bytes of the documents of a member.
	Data   int64   `json:"data_bytes"`
	Hit    float64 `json:"hit"`
	Misses float64 `json:"misses"`
	// Measured is true for the size that was measured.
	Measured bool `json:"measured,omitempty"`
}

// SizeJournal is what the journal's disk allows.
type SizeJournal struct {
	// Sync is the time of one sync in nanoseconds, From whether it was "given", is that of a probe of the disk ("probe")
	// or of the measured servers ("serverStatus"). Batch is how many commits it carries.
	Sync  int64   `json:"sync_ns"`
	From  string  `json:"sync_from" jsonschema:"enum=given,enum=probe,enum=serverStatus"`
	Batch float64 `json:"batch"`
	// Writes is the share of the operations that wait for the journal.
	Writes float64 `json:"write_share"`
	// Ceiling is in durable commits per second and member; Needed is how many the need asks of the busiest one.
	Ceiling float64 `json:"ceiling"`
	Needed  float64 `json:"needed,omitempty"`
	// Clients is how many must be writing at once for that. Mean and P99 are times of a commit at that rate, of
	// independent clients, from the journal alone.
	Clients int   `json:"clients,omitempty"`
	Mean    int64 `json:"mean_ns"`
	P99     int64 `json:"p99_ns"`
}

// SizeMultiplier says how many nodes of one deployment match another.
type SizeMultiplier struct {
	Workload string `json:"workload"`
	// Base is the rate of the deployment that is multiplied, Value that of the one to match.
	Base  float64 `json:"base"`
	Value float64 `json:"value"`
	NBase int     `json:"n_baseline"`
	N     int     `json:"n"`
	// Ratio is Value / Base, with its 95 % interval where both sides were measured more than once.
	Ratio float64  `json:"ratio"`
	Low   *float64 `json:"ratio_low,omitempty"`
	High  *float64 `json:"ratio_high,omitempty"`
	// BaseNodes did Base. Nodes is how many of them do Value, not rounded.
	BaseNodes  int      `json:"base_nodes"`
	Nodes      float64  `json:"nodes"`
	NodesLow   *float64 `json:"nodes_low,omitempty"`
	NodesHigh  *float64 `json:"nodes_high,omitempty"`
	Assumption string   `json:"assumption"`
}
