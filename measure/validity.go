package measure

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
)

// Severity says how much a [Finding] weighs.
type Severity string

const (
	// Invalid: the result must not be believed.
	Invalid Severity = "invalid"
	// Warning: the result is usable, and doubtful for the stated reason.
	Warning Severity = "warning"
	// Note: good to know; nothing is wrong.
	Note Severity = "note"
)

// Finding is a reason to doubt a result. It is data that is stored with the result, not a line in a log.
type Finding struct {
	ID       string   `json:"id"` // stable name, for example "client-cpu"
	Severity Severity `json:"severity"`
	Text     string   `json:"text"`            // short sentences: what was measured, what it means, what to do
	Value    *float64 `json:"value,omitempty"` // what was measured
	Limit    *float64 `json:"limit,omitempty"` // of Value
	Unit     string   `json:"unit,omitempty"`  // of both: "share", "ns", "1/s", "operations"
}

// Worst returns the greatest severity among the findings, "" if there are none.
func Worst(findings []Finding) Severity {
	worst := Severity("")
	for _, f := range findings {
		if f.Severity.rank() > worst.rank() {
			worst = f.Severity
		}
	}
	return worst
}

func (s Severity) rank() int {
	switch s {
	case Invalid:
		return 3
	case Warning:
		return 2
	case Note:
		return 1
	}
	return 0
}

// compareFindings puts the gravest first, then orders by name.
func compareFindings(a, b Finding) int {
	return cmp.Or(cmp.Compare(b.Severity.rank(), a.Severity.rank()), cmp.Compare(a.ID, b.ID))
}

// Circumstances is what the checks need to know besides what was measured. Zero values stand for
// unknown or none, where nothing else is said.
type Circumstances struct {
	// Cores is how many cores the client may use.
	Cores float64
	// InProcess says that the target runs in the client's own process (the embedded store). The processor time of both
	// cannot be told apart, and the target has no periodic checkpoint.
	InProcess bool
	// Ceiling is the rate in operations per second that this client reaches with the same workload
	// against a target that costs nothing, from a calibration.
	Ceiling float64
	// Cycle is the length of a checkpoint cycle of the target, one minute if zero.
	Cycle time.Duration
	// Varying says that the load changes on purpose, so there is no steady state to look for.
	Varying bool
	// Displaced and Rejected are the counts of the collector of the same name.
	Displaced, Rejected int64
	// EventsLost is how many events could not be kept.
	EventsLost int64
	// MaxFailed is the share of failed operations from which on the result is doubted, 1 % if zero.
	MaxFailed float64
}

// Judge looks for reasons not to believe the result of a phase, the gravest first.
func Judge(s *Summary, c Circumstances) []Finding {
	c.Cycle = orDefault(c.Cycle, time.Minute)
	c.MaxFailed = orDefault(c.MaxFailed, 0.01)
	findings := []Finding{}
	for _, check := range []func(*Summary, Circumstances) []Finding{
		checkAnything, checkClientCPU, checkCeiling, checkScheduler, checkPauses, checkPool, checkLateness, checkLittle,
		checkSchedule, checkUnsent, checkOutage, checkSteady, checkVariation, checkEnough, checkFailures, checkNotFound,
		checkContent,
		checkAcknowledged, checkIndeterminate, checkCounting,
	} {
		findings = append(findings, check(s, c)...)
	}
	SortFindings(findings)
	return findings
}

// SortFindings orders findings: the gravest first, then by name.
func SortFindings(findings []Finding) { slices.SortStableFunc(findings, compareFindings) }

// finding makes a finding with its figures.
func finding(id string, sev Severity, value, limit float64, unit, text string, args ...any) []Finding {
	return []Finding{{ID: id, Severity: sev, Text: fmt.Sprintf(text, words(args)...), Value: &value, Limit: &limit,
		Unit: unit}}
}

// graded is a warning, or invalid beyond a second limit.
func graded(value, invalid float64) Severity {
	if value > invalid {
		return Invalid
	}
	return Warning
}

// words prints times and counts as they are printed everywhere else; texts have %s for them.
func words(args []any) []any {
	list := make([]any, len(args))
	for i, a := range args {
		switch x := a.(type) {
		case time.Duration:
			list[i] = figure.Duration(x)
		case int:
			list[i] = figure.Count(int64(x))
		case int64:
			list[i] = figure.Count(x)
		default:
			list[i] = a
		}
	}
	return list
}

func percent(share float64) string { return figure.Percent(share) }

func ns(x float64) time.Duration { return time.Duration(x).Round(time.Microsecond) }

// p50Service is the median service time of all operations in nanoseconds, 0 if it is unknown.
func (s *Summary) p50Service() float64 { return float64(s.service().Quantile(0.5)) }

// service is the distribution of the service times of all operations, nil if it is unknown.
func (s *Summary) service() *Histogram {
	all, err := s.All()
	if err != nil {
		return nil
	}
	return all.Service
}

// answered is the distribution of the response times of all operations, nil if it is unknown.
func (s *Summary) answered() *Histogram {
	all, err := s.All()
	if err != nil {
		return nil
	}
	return all.Answered()
}
