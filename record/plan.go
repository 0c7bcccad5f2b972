package record

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/plimsoll-bench/plimsoll/spec"
)

// PlannedStudy is everything about a study that is known before it runs.
type PlannedStudy struct {
	// Spec is the specification, scaled and with defaults, except those of Run, which depend on the levels.
	Spec spec.Study `json:"specification"`
	// Base is the base run with defaults and without levels.
	Base spec.Run `json:"base"`
	// Lab is the lab of the base, with defaults and without levels; absent if the study brings none up.
	Lab *spec.Lab `json:"lab,omitempty"`
	// Configurations are the points of the study, the baseline first.
	Configurations []Configuration `json:"configurations"`
	// Trials are all trials in their order, canaries among them.
	Trials []Trial `json:"trials"`
	// Order describes the order, and its effect on the verdicts.
	Order []string `json:"order"`
	// Notes are what users should know before it runs.
	Notes    []string `json:"notes,omitempty"`
	Estimate Estimate `json:"estimate"`
	// Command runs the study.
	Command string `json:"command,omitempty"`
}

// Estimate is the time and space that a study will take, as far as known before it runs.
type Estimate struct {
	// Seconds is the sum of procedures, loading, trials and pauses.
	Seconds    float64 `json:"seconds"`
	Procedures float64 `json:"procedures_seconds"`
	Loading    float64 `json:"loading_seconds"`
	Measuring  float64 `json:"measuring_seconds"` // warm-ups included
	Pauses     float64 `json:"pauses_seconds"`    // settling, opening and closing
	// Guessed is the part of Seconds of which nothing was measured here. It may take longer.
	Guessed float64 `json:"guessed_seconds,omitempty"`
	// Redeploying is the time for changing labs, Redeploys how often.
	Redeploying float64 `json:"redeploying_seconds,omitempty"`
	Redeploys   int     `json:"redeploys,omitempty"`
	// Trials is the number of trials, canaries among them, and those of procedures not.
	Trials int `json:"trials"`
	// Starts are the times at which the trials begin, in seconds from the beginning.
	Starts []float64 `json:"starts_seconds"`
	// DataBytes is the size of the data sets as documents. Targets compress them, and add indexes and logs.
	DataBytes int64     `json:"data_bytes"`
	DataSets  []DataSet `json:"data_sets"`
	// RecordBytes is the size of the records below the directory of the study.
	RecordBytes int64 `json:"record_bytes"`
	// Comparisons is the number of configurations that are compared with the baseline. Verdicts is the number of their
	// verdicts, one for each metric, which are corrected together.
	Comparisons int `json:"comparisons"`
	Verdicts    int `json:"verdicts"`
	// Power is what could be found, for several coefficients of variation. It is for comparisons within blocks, and
	// absent if all are between batches.
	Power []Power `json:"power,omitempty"`
	// Assumptions are those of the estimate besides the specification.
	Assumptions []string `json:"assumptions,omitempty"`
}

// mostGuessed is the share of an estimated time that may be guessed before the time is a lower bound.
const mostGuessed = 0.2

// Text returns the estimated time with its parts as one phrase: "about 5m (…)", or "at least 5m (…)" if much of it was
// not measured.
func (e Estimate) Text() string {
	if e.Guessed > mostGuessed*e.Seconds {
		return "at least " + e.parts()
	}
	return "about " + e.parts()
}

func (e Estimate) parts() string {
	about := func(seconds float64) string {
		return spec.Duration(math.Round(seconds * float64(time.Second))).Roughly().String()
	}
	var parts []string
	for _, part := range []struct {
		seconds float64
		what    string
	}{{e.Procedures, "procedures"}, {e.Redeploying, "bringing the lab up"}, {e.Loading, "loading"},
		{e.Measuring, "measuring"}, {e.Pauses, "between trials"}} {
		if part.seconds > 0 {
			parts = append(parts, fmt.Sprintf("%s %s", about(part.seconds), part.what))
		}
	}
	if len(parts) < 2 {
		return about(e.Seconds)
	}
	return about(e.Seconds) + " (" + strings.Join(parts, ", ") + ")"
}

// DataSet is data that configurations of a study load and share.
type DataSet struct {
	// Target has no credentials; Database is absent if the target has no databases.
	Target     string `json:"target"`
	Database   string `json:"database,omitempty"`
	Collection string `json:"collection"`
	Records    int64  `json:"records"`
	// DocumentBytes is the mean size of a document as BSON; Bytes is that times the records, before the target compresses
	// it and adds indexes and a log. It is 0 for targets that store nothing.
	DocumentBytes int64 `json:"document_bytes"`
	Bytes         int64 `json:"bytes"`
	// Loads is the number of times that the study loads it.
	Loads int `json:"loads"`
}

// Power is what a study could find if its trials scatter with a coefficient of variation of CV.
type Power struct {
	CV float64 `json:"cv"`
	// Effect is the smallest change that a single comparison finds in four of five cases; Corrected is that of the most
	// strongly corrected comparison of the study (Holm). nil means that even a factor of ten would not be found.
	Effect    *float64 `json:"effect" jsonschema:"nullable"`
	Corrected *float64 `json:"corrected" jsonschema:"nullable"`
}

// PlannedSuite is everything about a suite that is known before it runs, without credentials.
type PlannedSuite struct {
	Specification spec.Suite `json:"specification"`
	// Budget is full, time, quick or smoke, and Limit the time that the suite is fitted into; absent for none.
	Budget string        `json:"budget"`
	Limit  spec.Duration `json:"limit,omitempty"`
	Scale  spec.Scale    `json:"scale"`
	// Against is a deployment that is loaded instead of labs; absent for none.
	Against string `json:"against,omitempty"`
	// Engines are those of the labs.
	Engines []string      `json:"engines,omitempty"`
	Seconds float64       `json:"estimate_seconds"`
	Parts   []PlannedPart `json:"parts"`
	// Left lists what was scaled or left out, with the reason and the former value.
	Left []spec.Left `json:"left"`
	// Install is the command that installs the packages without which parts are left out; absent if none are missing.
	Install string `json:"install,omitempty"`
	// Command runs the suite.
	Command string `json:"command,omitempty"`
}

// PlannedPart is a part of a suite before it runs.
type PlannedPart struct {
	Part
	// Needs are as in the specification.
	Needs []string `json:"needs,omitempty"`
	// Trials is the number of trials of a study; absent for other kinds.
	Trials int `json:"trials,omitempty"`
}
