package record

import (
	"time"

	"github.com/plimsoll-bench/plimsoll/measure"
)

// SchemaVersion is the version of the format of records. Readers refuse another major version.
const SchemaVersion = "1.0"

// Status says how far a measurement came.
type Status string

const (
	// Running: it has not ended, or was killed.
	Running Status = "running"
	// Complete: it ended as it should.
	Complete Status = "complete"
	// Interrupted: it was asked to end early. What was measured is there.
	Interrupted Status = "interrupted"
	// Failed: it ended because of an error, which is in Head.Problem.
	Failed Status = "failed"
	// Killed: the process was gone before it could say so. [Open] sets it.
	Killed Status = "killed"
)

// Head is what the main file of every record begins with.
type Head struct {
	// SchemaVersion is the version of this format.
	SchemaVersion string `json:"schema_version"`
	// Kind is the kind of record: run, study, drill, probe, suite or comparison.
	Kind string `json:"kind"`
	// Status says how far it came.
	Status Status `json:"status,omitempty" jsonschema:"enum=running,enum=complete,enum=interrupted,enum=failed,enum=killed"`
	// Problem is why it failed or stopped, or what else went wrong with it.
	Problem string `json:"problem,omitempty"`
	// Tool is the program that wrote the record.
	Tool Tool `json:"tool"`
	// Command is the command line, without credentials.
	Command []string `json:"command,omitempty"`
	// Started is the wall clock when it began: for a run, the run time zero from which all other times count; for a study,
	// the begin of its first trial.
	Started time.Time `json:"started,omitzero"`
	// Ended is when the record was finished, absent as long as it goes on.
	Ended *time.Time `json:"ended,omitempty"`
	// Environment is the machine that made the load.
	Environment Environment `json:"environment,omitzero"`
	// Validity lists the reasons why the result must not be believed, or only with care.
	Validity []measure.Finding `json:"validity"`
}

// Common returns the head, so that records of all kinds can be treated alike.
func (h *Head) Common() *Head { return h }
