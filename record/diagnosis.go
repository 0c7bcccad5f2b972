package record

import (
	"time"

	"github.com/plimsoll-bench/plimsoll/measure/anatomy"
)

// Diagnosis is what the diagnostic data of a server say of the time that they cover.
type Diagnosis struct {
	SchemaVersion string `json:"schema_version"`
	Kind          string `json:"kind"`
	Tool          Tool   `json:"tool"`
	// Directory has the files, and Server is the name of the server in them.
	Directory string `json:"directory"`
	Server    string `json:"server"`
	// From and To are the first and the last sample, by the clock of the server.
	From time.Time `json:"from"`
	To   time.Time `json:"to"`
	// Samples is their number, and Seconds the time that they cover without gaps.
	Samples int64   `json:"samples"`
	Seconds float64 `json:"seconds"`
	// Restarts is how often the server was restarted.
	Restarts int `json:"restarts,omitempty"`
	// SetBack is how often the clock of the server was set back: a sample is not later than the one before it.
	SetBack int `json:"set_back,omitempty"`
	// Names are earlier names of the server: it has another one since a restart.
	Names []string `json:"names,omitempty"`
	// Others are servers that ran at the same time. Their samples were left out.
	Others []DiagnosisOther `json:"others,omitempty"`
	// Gaps are the longest times without a sample in a running server, and GapCount is how many there were. A server
	// that is stalled writes none.
	Gaps     []DiagnosisGap `json:"gaps,omitempty"`
	GapCount int            `json:"gap_count,omitempty"`
	// Damaged are the parts that could not be read.
	Damaged []string `json:"damaged,omitempty"`
	// Rate is in operations per second: the mean, that of the busiest minute, and that of the last hour.
	Rate     float64   `json:"rate"`
	PeakRate float64   `json:"peak_rate"`
	PeakAt   time.Time `json:"peak_at"`
	LastRate float64   `json:"last_rate"`
	// Kinds are the operations per second of clients in the last hour, by kind; absent if the files have none.
	Kinds map[string]float64 `json:"kinds,omitempty"`
	// LastHour is the length of the last hour, which is shorter if the files are.
	LastHour float64 `json:"last_hour_seconds"`
	// FlowControl, FullCache and NoTicket are the seconds with flow control, with a cache that recruits operations for
	// eviction (95 % used or 20 % dirty), and without a free ticket.
	FlowControl float64 `json:"flow_control_seconds"`
	FullCache   float64 `json:"full_cache_seconds"`
	NoTicket    float64 `json:"no_ticket_seconds"`
	// Anatomy is where operations were, over all of the time, and Peak in the busiest minute.
	Anatomy *anatomy.Anatomy `json:"anatomy,omitempty"`
	Peak    *anatomy.Anatomy `json:"peak_anatomy,omitempty"`
	// Series are the statistics of the server and its machine.
	Series []DiagnosisSeries `json:"series"`
}

// KindDiagnosis is the kind of a [Diagnosis].
const KindDiagnosis = "diagnosis"

// DiagnosisOther is another server whose samples are in the same files.
type DiagnosisOther struct {
	Server  string `json:"server"`
	Samples int64  `json:"samples"`
}

// DiagnosisGap is a time without samples.
type DiagnosisGap struct {
	From    time.Time `json:"from"`
	Seconds float64   `json:"seconds"`
}

// DiagnosisSeries is one statistic over the time.
type DiagnosisSeries struct {
	Series
	// MaxAt is the time of the largest value.
	MaxAt time.Time `json:"max_at"`
}
