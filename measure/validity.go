package measure

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
)

// Severity is the severity of a [Finding].
type Severity string

const (
	Invalid Severity = "invalid" // the result must not be believed
	Warning Severity = "warning" // the result is usable, and doubtful for the stated reason
	Note    Severity = "note"    // information
)

// Finding is a reason to doubt a result. It is stored with the result.
type Finding struct {
	ID       string   `json:"id"` // stable name, for example "client-cpu"
	Severity Severity `json:"severity"`
	Text     string   `json:"text"`            // short sentences: what was measured, what it means, what to do
	Value    *float64 `json:"value,omitempty"` // what was measured
	Limit    *float64 `json:"limit,omitempty"` // of Value
	Unit     string   `json:"unit,omitempty"`  // of both: "share", "ns", "1/s", "operations"
}

// Worst returns the highest severity of the findings, "" if there are none.
func Worst(findings []Finding) Severity {
	worst := Severity("")
	for _, f := range findings {
		if f.Severity.rank() > worst.rank() {
			worst = f.Severity
		}
	}
	return worst
}

func (s Severity) rank() int { return slices.Index([]Severity{Note, Warning, Invalid}, s) }

// Circumstances has what the checks need besides the summary. Zero is unknown or none if nothing else is said.
type Circumstances struct {
	Cores float64 // that the client may use
	// InProcess: the target runs in the client's process (the embedded store). Their processor time cannot be separated,
	// and the target has no periodic checkpoint.
	InProcess bool
	// Remote: the load generators are on other machines and were judged there.
	Remote              bool
	Ceiling             float64       // operations per second of this client with a target that costs nothing
	Cycle               time.Duration // length of a checkpoint cycle of the target, one minute if zero
	Varying             bool          // the load changes on purpose, so there is no steady state
	Displaced, Rejected int64         // the counts of the collector
	EventsLost          int64
	MaxFailed           float64 // largest share of failed operations without a finding, 1 % if zero
}

// Judge returns the findings of all checks, the most severe first.
func Judge(s *Summary, c Circumstances) []Finding {
	c.Cycle, c.MaxFailed = cmp.Or(c.Cycle, time.Minute), cmp.Or(c.MaxFailed, 0.01)
	findings := []Finding{}
	checks := []func(*Summary, Circumstances) []Finding{
		checkAnything, checkPool, checkLateness, checkLittle, checkSchedule, checkUnsent, checkOutage, checkSteady,
		checkVariation, checkEnough, checkFailures, checkNotFound, checkContent, checkAcknowledged, checkIndeterminate,
		checkCounting,
	}
	if !c.Remote {
		checks = append(checks, checkClientCPU, checkCeiling, checkScheduler, checkPauses, checkNoticing, checkLoops,
			checkQuota, checkRunDelay)
	}
	for _, check := range checks {
		findings = append(findings, check(s, c)...)
	}
	SortFindings(findings)
	return findings
}

// SortFindings sorts findings by severity, then by ID.
func SortFindings(findings []Finding) {
	slices.SortStableFunc(findings, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(b.Severity.rank(), a.Severity.rank()), cmp.Compare(a.ID, b.ID))
	})
}

// finding makes a finding. Its text has %s for times and counts.
func finding(id string, sev Severity, value, limit float64, unit, text string, args ...any) []Finding {
	words := slices.Clone(args)
	for i, a := range args {
		switch x := a.(type) {
		case time.Duration:
			words[i] = figure.Duration(x)
		case int:
			words[i] = figure.Count(int64(x))
		case int64:
			words[i] = figure.Count(x)
		}
	}
	return []Finding{{ID: id, Severity: sev, Text: fmt.Sprintf(text, words...), Value: &value, Limit: &limit, Unit: unit}}
}

// graded is a warning, or invalid beyond a second limit.
func graded(value, invalid float64) Severity {
	if value > invalid {
		return Invalid
	}
	return Warning
}

func percent(share float64) string { return figure.Percent(share) }

func ns(x float64) time.Duration { return time.Duration(x).Round(time.Microsecond) }

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
