// Package schema holds the JSON schemas of what plimsoll reads and writes: the specification of a run
// and run.json. They are generated from the types of package record and their comments; a test keeps
// them in step.
package schema

import _ "embed"

//go:generate go run ./gen

// Run is the JSON schema of run.json.
//
//go:embed run.schema.json
var Run []byte

// RunSpec is the JSON schema of the specification of a run, for editors that check YAML against it.
//
//go:embed runspec.schema.json
var RunSpec []byte

// Study is the JSON schema of study.json.
//
//go:embed study.schema.json
var Study []byte

// StudySpec is the JSON schema of the specification of a study.
//
//go:embed studyspec.schema.json
var StudySpec []byte

// Comparison is the JSON schema of the result of a comparison.
//
//go:embed comparison.schema.json
var Comparison []byte

// Sizing is the JSON schema of what plimsoll size prints.
//
//go:embed size.schema.json
var Sizing []byte

// PriceList is the JSON schema of a price list.
//
//go:embed pricelist.schema.json
var PriceList []byte

// History is the JSON schema of what plimsoll history prints as JSON.
//
//go:embed history.schema.json
var History []byte

// Probe is the JSON schema of probe.json.
//
//go:embed probe.schema.json
var Probe []byte

// LabSpec is the JSON schema of the specification of a lab.
//
//go:embed labspec.schema.json
var LabSpec []byte

// Lab is the JSON schema of a lab as it is.
//
//go:embed lab.schema.json
var Lab []byte

// Doctor is the JSON schema of what plimsoll doctor prints.
//
//go:embed doctor.schema.json
var Doctor []byte

// Drill is the JSON schema of drill.json.
//
//go:embed drill.schema.json
var Drill []byte

// DrillSpec is the JSON schema of the specification of a drill.
//
//go:embed drillspec.schema.json
var DrillSpec []byte

// Suite is the JSON schema of suite.json.
//
//go:embed suite.schema.json
var Suite []byte

// SuiteSpec is the JSON schema of suite.yaml.
//
//go:embed suitespec.schema.json
var SuiteSpec []byte
