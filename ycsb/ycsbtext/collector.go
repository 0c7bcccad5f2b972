package ycsbtext

import (
	"slices"
	"strings"
	"time"

	"github.com/plimsoll-bench/plimsoll/measure"
)

// YCSB's names of operations.
const (
	OpRead            = "READ"
	OpUpdate          = "UPDATE"
	OpInsert          = "INSERT"
	OpScan            = "SCAN"
	OpReadModifyWrite = "READ-MODIFY-WRITE"
	OpVerify          = "VERIFY"                  // the check of what a read returned
	OpScanPerRecord   = "SCAN-LATENCY-PER-RECORD" // the time of a scan divided by its documents
	OpCleanup         = "CLEANUP"                 // the closing of a session
)

// statuses maps outcomes to the statuses of YCSB. Other outcomes are ERROR.
var statuses = map[string]string{
	"ok":             "OK",
	"unacknowledged": "OK", // with w=0 the driver reports success to YCSB
	"batched":        "BATCHED_OK",
	"not-found":      "NOT_FOUND",
	"overloaded":     "SERVICE_UNAVAILABLE",
	"corrupt":        "OK", // the read is successful; VERIFY has the UNEXPECTED_STATE
}

// StatusOf returns the status of an outcome in YCSB's MongoDB binding.
func StatusOf(op, outcome string) string {
	s, ok := statuses[outcome]
	if !ok || op == OpScan && s == "NOT_FOUND" { // an empty scan is an error there
		return "ERROR"
	}
	return s
}

// statusOK reports whether latencies with this status have the plain name of the operation.
func statusOK(status string) bool { return status == "OK" || status == "BATCHED_OK" }

// Tracked has the statuses whose latencies have a separate series.
type Tracked struct {
	Each  bool     // a series for each status (reportlatencyforeacherror)
	Names []string // statuses with a separate series (latencytrackederrors)
}

// Series returns the name of the series for an operation that returned status.
func (t *Tracked) Series(op, status string) string {
	switch {
	case statusOK(status):
		return op
	case t.Each, slices.Contains(t.Names, status):
		return op + "-" + status
	}
	return op + "-FAILED"
}

// Collector records the closed intervals of a run.
type Collector struct {
	m       *Measurements
	tracked Tracked
	apart   bool // the caller records the latencies of failures
	counts  bool // the caller records all latencies
	classes []collectedClass
	outcome []string
	corrupt int // index of the outcome "corrupt", -1 if there is none
	ops     int64
}

// collectedClass is the operation of YCSB for a class of the workload.
type collectedClass struct {
	op   string
	part bool
}

// NewCollector makes a collector of intervals with these dimensions. tracked decides the names of the series of
// failures.
func NewCollector(m *Measurements, dims measure.Dims, tracked Tracked) *Collector {
	c := &Collector{m: m, tracked: tracked, corrupt: -1}
	for _, class := range dims.Classes {
		c.classes = append(c.classes, collectedClass{OpName(class.Name), class.Part})
	}
	for i, o := range dims.Outcomes {
		c.outcome = append(c.outcome, o.Name)
		if o.Name == "corrupt" {
			c.corrupt = i
		}
	}
	return c
}

// OpName returns YCSB's name of an operation class. The read and the update of a read-modify-write are READ and UPDATE.
func OpName(class string) string {
	name := strings.ToUpper(class)
	if name != OpReadModifyWrite {
		name = strings.TrimPrefix(name, OpReadModifyWrite+"-")
		name = strings.TrimPrefix(name, "RMW-")
	}
	return name
}

// FailuresApart omits the latencies of failed requests, which the caller records. That is more exact for operations
// with a schedule: an interval has one histogram of failures per class, which counts from the intended start then.
func (c *Collector) FailuresApart() { c.apart = true }

// LatenciesApart omits all latencies, which the caller records for measurement types that keep every value. The
// collector still counts operations and statuses.
func (c *Collector) LatenciesApart() { c.counts = true }

// Operations is the number of operations that have ended, with any outcome.
func (c *Collector) Operations() int64 { return c.ops }

func (c *Collector) Interval(iv *measure.Interval) {
	for i := range iv.Classes {
		if i >= len(c.classes) {
			return
		}
		c.class(c.classes[i], &iv.Classes[i], iv.End)
	}
}

func (c *Collector) class(class collectedClass, ci *measure.ClassInterval, at time.Duration) {
	if !class.part {
		for _, n := range ci.Counts {
			c.ops += n
		}
	}
	if !c.counts {
		c.latencies(class, ci, at)
	}
	if class.op != OpReadModifyWrite { // YCSB has statuses for its parts only
		for i, n := range ci.Counts {
			c.m.Status(class.op, StatusOf(class.op, c.outcome[i]), n)
		}
	}
}

func (c *Collector) latencies(class collectedClass, ci *measure.ClassInterval, at time.Duration) {
	intended := ci.Response
	if intended == nil {
		intended = ci.Service
	}
	c.histogram(c.m.Record, class.op, at, ci.Service)
	c.histogram(c.m.RecordIntended, class.op, at, intended)
	failed := c.failedSeries(class, ci.Counts)
	if !c.apart || class.op == OpReadModifyWrite {
		c.histogram(c.m.Record, failed, at, ci.Failed)
	}
	c.histogram(c.m.RecordIntended, failed, at, ci.Failed)
}

func (c *Collector) histogram(record func(string, time.Duration, int64, int64), op string, at time.Duration,
	h *measure.Histogram) {
	for us, n := range microseconds(h) {
		record(op, at, us, n)
	}
}

// failedSeries names the series for the failures of one interval. They share one histogram, so a status has a series of
// its own only if it is the only failure of the interval.
func (c *Collector) failedSeries(class collectedClass, counts []int64) string {
	if class.op == OpReadModifyWrite {
		return class.op // YCSB has one series for all outcomes
	}
	var only string
	for i, n := range counts {
		status := StatusOf(class.op, c.outcome[i])
		switch {
		case n == 0 || statusOK(status) && i != c.corrupt:
		case only == "" || only == status:
			only = status
		default:
			return class.op + "-FAILED"
		}
	}
	if only == "" {
		only = "ERROR"
	}
	return c.tracked.Series(class.op, only)
}
