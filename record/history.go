package record

import (
	"time"

	"github.com/plimsoll-bench/plimsoll/measure"
)

// KindHistory is the kind of what `plimsoll history` prints.
const KindHistory = "history"

// HistoryReport is the result of `plimsoll history`: where results of records of the same thing changed over time.
type HistoryReport struct {
	SchemaVersion string `json:"schema_version"`
	Kind          string `json:"kind"`
	Tool          Tool   `json:"tool"`
	// Directory is the searched directory, in which the records have their names. It is absent if there were several.
	Directory string `json:"directory,omitempty"`
	// Groups are records that are equal in what must be equal.
	Groups []HistoryGroup `json:"groups"`
	// Skipped are records that could not be read.
	Skipped []SkippedRecord `json:"skipped,omitempty"`
	// Validity lists findings about the history.
	Validity []measure.Finding `json:"validity"`
}

// SkippedRecord is a directory that could not be read as a record.
type SkippedRecord struct {
	Record  string `json:"record"`
	Problem string `json:"problem"`
}

// HistoryGroup are records of the same thing in the order of time.
type HistoryGroup struct {
	// Name says in short what was measured; Common are all facts that the group has in common, by their paths.
	Name   string            `json:"name"`
	Common map[string]string `json:"common"`
	Points []HistoryPoint    `json:"points"`
	Series []HistorySeries   `json:"series"`
}

// HistoryPoint is one record, or the trials of one configuration of a study.
type HistoryPoint struct {
	Record  string    `json:"record"`
	Started time.Time `json:"started"`
	// N is the number of its trials.
	N int `json:"n"`
	// Why it does not count, empty if it does.
	Why string `json:"why,omitempty"`
	// Values are its figures by metric: operations per second, nanoseconds or shares.
	Values map[string]float64 `json:"values"`
	// NoAnswer are the metrics without a value, because more operations of a trial did not succeed than lie above them.
	NoAnswer []string `json:"no_answer,omitempty"`
	// AtLeast are the metrics that are only known to be at least their value.
	AtLeast []string `json:"at_least,omitempty"`
}

// HistorySeries is one metric over the points of a group.
type HistorySeries struct {
	Metric string `json:"metric"`
	Unit   string `json:"unit"`
	Higher bool   `json:"higher_is_better"`
	// N is the number of points that have it. Median and Spread, (max − min) / median, are over all of them; Latest is
	// the last.
	N      int     `json:"n"`
	Median float64 `json:"median"`
	Spread float64 `json:"spread"`
	Latest float64 `json:"latest"`
	// Changes are where it changed, in the order of time.
	Changes []HistoryChange `json:"changes"`
	// Note is why changes are unknown.
	Note string `json:"note,omitempty"`
}

// HistoryChange is a place in a history where the results before and after differ.
type HistoryChange struct {
	// Index is that of the first point after the change among the points of the group; Record and Started are its.
	Index   int       `json:"index"`
	Record  string    `json:"record"`
	Started time.Time `json:"started"`
	// Before and After are the medians from the change before and to the next one; Ratio is after / before.
	Before float64 `json:"before"`
	After  float64 `json:"after"`
	Ratio  float64 `json:"ratio"`
	P      float64 `json:"p"`
	// Verdict is better or worse.
	Verdict Verdict `json:"verdict" jsonschema:"enum=better,enum=worse"`
	// Differences are the facts that changed between the last point before and the first after.
	Differences []Difference `json:"differences,omitempty"`
}
