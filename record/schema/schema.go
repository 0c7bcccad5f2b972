// Package schema holds the JSON schemas of what plimsoll reads and writes. They are generated from the types of
// packages record and spec and their comments; a test checks that they are up to date.
package schema

import _ "embed"

//go:generate go run ./gen

// The schemas of results.
var (
	//go:embed run.schema.json
	Run []byte
	//go:embed study.schema.json
	Study []byte
	//go:embed suite.schema.json
	Suite []byte
	//go:embed drill.schema.json
	Drill []byte
	//go:embed probe.schema.json
	Probe []byte
	//go:embed capacity.schema.json
	Capacity []byte
	//go:embed comparison.schema.json
	Comparison []byte
	//go:embed history.schema.json
	History []byte
	//go:embed size.schema.json
	Sizing []byte
	//go:embed backtest.schema.json
	Backtest []byte
	//go:embed whatif.schema.json
	WhatIf []byte
	//go:embed failures.schema.json
	Failures []byte
	//go:embed ci.schema.json
	Gate []byte
	//go:embed lab.schema.json
	Lab []byte
	//go:embed doctor.schema.json
	Doctor []byte
)

// The schemas of specifications, for editors that check YAML with them.
var (
	//go:embed runspec.schema.json
	RunSpec []byte
	//go:embed studyspec.schema.json
	StudySpec []byte
	//go:embed suitespec.schema.json
	SuiteSpec []byte
	//go:embed drillspec.schema.json
	DrillSpec []byte
	//go:embed capacityspec.schema.json
	CapacitySpec []byte
	//go:embed labspec.schema.json
	LabSpec []byte
	//go:embed pricelist.schema.json
	PriceList []byte
	//go:embed platformspec.schema.json
	Platform []byte
	//go:embed workload.schema.json
	Workload []byte
)
