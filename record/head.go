package record

import (
	"time"

	"github.com/plimsoll-bench/plimsoll/measure"
)

// SchemaVersion is the version of the format of records. Readers refuse another major version.
const SchemaVersion = "1.0"

// Status is the status of a record.
type Status string

const (
	// Running: it has not ended, or the process was killed.
	Running Status = "running"
	// Complete: it ended as planned.
	Complete Status = "complete"
	// Interrupted: it was interrupted. The results until then are kept.
	Interrupted Status = "interrupted"
	// Failed: it ended with an error, see Head.Problem.
	Failed Status = "failed"
	// Killed: its process was killed. [Open] sets it.
	Killed Status = "killed"
)

// Head is the begin of the main file of every record.
type Head struct {
	// SchemaVersion is the version of this format.
	SchemaVersion string `json:"schema_version"`
	// Kind is the kind of record: run, study, drill, probe, suite, comparison or capacity.
	Kind string `json:"kind"`
	// Status is its status.
	Status Status `json:"status,omitempty" jsonschema:"enum=running,enum=complete,enum=interrupted,enum=failed,enum=killed"`
	// Problem is why it failed or stopped.
	Problem string `json:"problem,omitempty"`
	// Tool is the program that wrote the record.
	Tool Tool `json:"tool"`
	// Command is the command line, without credentials.
	Command []string `json:"command,omitempty"`
	// Started is the wall clock when it began: for a run, the run time zero from which all other times count; for a study,
	// the begin of its first trial.
	Started time.Time `json:"started,omitzero"`
	// Ended is the end of the record, absent while it is running.
	Ended *time.Time `json:"ended,omitempty"`
	// Environment is the machine of the load generator.
	Environment Environment `json:"environment,omitzero"`
	// Validity lists the reasons to doubt the result.
	Validity []measure.Finding `json:"validity"`
}

// Common returns the head.
func (h *Head) Common() *Head { return h }
