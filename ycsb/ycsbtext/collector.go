package ycsbtext

import (
	"slices"
	"strings"
	"time"

	"github.com/plimsoll-bench/plimsoll/measure"
)

// The names YCSB gives to operations.
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

// statuses maps our outcomes to the statuses of YCSB. What is not listed is ERROR.
var statuses = map[string]string{
	"ok":             "OK",
	"unacknowledged": "OK", // YCSB cannot tell: with w=0 the driver reports success
	"batched":        "BATCHED_OK",
	"not-found":      "NOT_FOUND",
	"overloaded":     "SERVICE_UNAVAILABLE",
	"corrupt":        "OK", // the read went well; VERIFY has the UNEXPECTED_STATE
}

// StatusOf returns the status by which YCSB's MongoDB binding would call an outcome of an operation.
func StatusOf(op, outcome string) string {
	s, ok := statuses[outcome]
	if !ok || op == OpScan && s == "NOT_FOUND" { // an empty scan is an error there
		return "ERROR"
	}
	return s
}

// statusOK reports whether YCSB files latencies with this status under the plain name of the operation.
func statusOK(status string) bool { return status == "OK" || status == "BATCHED_OK" }

// Tracked says under which names the latencies of failures are kept.
type Tracked struct {
	Each  bool     // a series for each status (reportlatencyforeacherror)
	Names []string // statuses with a series of their own (latencytrackederrors)
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

// Collector feeds measurements from the closed intervals of a run.
type Collector struct {
	m       *Measurements
	tracked Tracked
	apart   bool // latencies of failures come from elsewhere
	counts  bool // all latencies do
	classes []collectedClass
	outcome []string
	corrupt int // index of the outcome "corrupt", -1 if there is none
	ops     int64
}

// collectedClass is what a class of the workload is to YCSB.
type collectedClass struct {
	op   string
	part bool
}

// NewCollector returns a collector for intervals with these dimensions. Failures are kept under the names
// that tracked gives them.
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

// OpName returns YCSB's name for an operation class. The read and the update inside a read-modify-write
// are a READ and an UPDATE there.
func OpName(class string) string {
	name := strings.ToUpper(class)
	if name != OpReadModifyWrite {
		name = strings.TrimPrefix(name, OpReadModifyWrite+"-")
		name = strings.TrimPrefix(name, "RMW-")
	}
	return name
}

// FailuresApart tells the collector that the caller records the latencies of failed requests itself, which
// is more exact where operations have a schedule: an interval keeps one histogram of failures per class,
// and under a schedule it counts from the intended start.
func (c *Collector) FailuresApart() { c.apart = true }

// LatenciesApart tells the collector that the caller records all latencies itself, which the measurement
// types need that keep every value. Operations and statuses are still counted here.
func (c *Collector) LatenciesApart() { c.counts = true }

// Operations is how many operations have ended so far, whatever became of them.
func (c *Collector) Operations() int64 { return c.ops }

// Interval takes a closed interval.
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
	if class.op != OpReadModifyWrite { // YCSB reports none for it, only for its parts
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

// failedSeries names the series for the failures of one interval. They share one histogram, so a status
// has a series of its own only where it was the only failure within the interval.
func (c *Collector) failedSeries(class collectedClass, counts []int64) string {
	if class.op == OpReadModifyWrite {
		return class.op // YCSB times the pair whatever became of it
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
