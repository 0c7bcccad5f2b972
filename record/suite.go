package record

import (
	"slices"
	"time"

	"github.com/plimsoll-bench/plimsoll/spec"
)

// KindSuite is the kind of records of suites.
const KindSuite = "suite"

// The files of a suite besides the records of its parts, which are directories below PartsDir.
const (
	SuiteFile    = "suite.json"
	SuiteJournal = "parts.ndjson" // a line before and after each part, appended and synced
	SuitePlan    = "plan.json"    // the specification of each part, for a resume
	PartsDir     = "parts"
)

// Budgets of a suite.
const (
	BudgetFull  = "full"  // as written
	BudgetTime  = "time"  // a given time
	BudgetQuick = "quick" // ten minutes in all
	BudgetSmoke = "smoke" // about a minute: shows that it works, and proves nothing
)

// Suite is suite.json: everything about a suite but the records of its parts.
type Suite struct {
	Head
	// Engine is the engine of the labs with its version, such as "mongod 8.0.12"; absent without a known lab.
	Engine string `json:"engine,omitempty"`
	// Specification is suite.yaml, without credentials; Source the folder where it was.
	Specification spec.Suite `json:"specification"`
	Source        string     `json:"source,omitempty"`
	// Budget is full, time, quick or smoke, and Limit its time; absent for full.
	Budget string        `json:"budget" jsonschema:"enum=full,enum=time,enum=quick,enum=smoke"`
	Limit  spec.Duration `json:"limit,omitempty"`
	// Scale is the applied scale, and Against the deployment that is loaded instead of labs.
	Scale   spec.Scale `json:"scale"`
	Against string     `json:"against,omitempty"`
	// Parts are all parts in their order, including those left out.
	Parts []Part `json:"parts"`
	// Left lists what was scaled or left out, with the reason and the former value.
	Left []spec.Left `json:"left,omitempty"`
	// SuiteJudgement is nil until the suite has ended once, and in older records.
	*SuiteJudgement
}

// Judged reports whether the stored judgement covers all parts that ran.
func (s *Suite) Judged() bool {
	return s.SuiteJudgement != nil && s.Status != Running && s.Status != Killed
}

// PartStatus is the status of a part.
type PartStatus string

const (
	// PartPlanned: it has not begun.
	PartPlanned PartStatus = "planned"
	// PartRunning: it has begun and not ended.
	PartRunning PartStatus = "running"
	// PartDone: its record is complete, with any verdict.
	PartDone PartStatus = "done"
	// PartFailed: it ended without a result; Problem says why.
	PartFailed PartStatus = "failed"
	// PartLeft: it was left out; Problem says why. If it had begun, it has a record.
	PartLeft PartStatus = "left out"
)

// Part is one study, drill or probe of a suite.
type Part struct {
	// Name is also the directory of its record below PartsDir.
	Name string `json:"name"`
	// Kind is study, drill or probe.
	Kind   string     `json:"kind" jsonschema:"enum=study,enum=drill,enum=probe"`
	Status PartStatus `json:"status" jsonschema:"enum=planned,enum=running,enum=done,enum=failed,enum=left out"`
	// Problem is why it failed or was left out, in a sentence.
	Problem string `json:"problem,omitempty"`
	// Record is its directory, relative to that of the suite; absent if there is none.
	Record string `json:"record,omitempty"`
	// Shows and Level are as in the specification.
	Shows []string `json:"shows,omitempty"`
	Level string   `json:"level,omitempty"`
	// Set are the values by key that the part was repeated for (Each), and those from earlier parts.
	Set     map[string]any `json:"set,omitempty"`
	Started *time.Time     `json:"started,omitempty"`
	// Seconds is its time, and Estimate the estimate before.
	Seconds  float64 `json:"seconds,omitempty"`
	Estimate float64 `json:"estimate_seconds,omitempty"`
	// Conclusion is the conclusion of its record or error; absent without either.
	Conclusion Conclusion `json:"conclusion,omitempty" jsonschema:"enum=satisfied,enum=missed,enum=writes lost,enum=invalid,enum=interrupted,enum=refused,enum=unreachable,enum=failed"`
	// Exit is the exit code of a command for the part alone.
	Exit int `json:"exit"`
}

// LateParts are the names of the parts that were reduced because the suite ran late, in order.
func (s *Suite) LateParts() []string {
	var names []string
	for _, l := range s.Left {
		if l.Late {
			names = append(names, l.Part)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}
