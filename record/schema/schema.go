// Package schema holds the JSON schemas of what plimsoll reads and writes. They are generated from the types of
// packages record and spec and their comments; a test checks that they are up to date.
package schema

import "embed"

//go:generate go run ./gen

//go:embed *.schema.json
var files embed.FS

// The schemas of results.
var (
	Run        = of("run")
	Study      = of("study")
	Suite      = of("suite")
	Drill      = of("drill")
	Probe      = of("probe")
	Comparison = of("comparison")
	History    = of("history")
	Sizing     = of("size")
	Backtest   = of("backtest")
	WhatIf     = of("whatif")
	Simulation = of("simulation")
	Gate       = of("ci")
	Lab        = of("lab")
	Doctor     = of("doctor")
)

// The schemas of specifications, for editors that check YAML with them.
var (
	RunSpec    = of("runspec")
	StudySpec  = of("studyspec")
	SuiteSpec  = of("suitespec")
	DrillSpec  = of("drillspec")
	LabSpec    = of("labspec")
	PriceList  = of("pricelist")
	Deployment = of("deployment")
	Platform   = of("platformspec")
	Workload   = of("workload")
)

func of(kind string) []byte {
	b, err := files.ReadFile(kind + ".schema.json")
	if err != nil {
		panic(err)
	}
	return b
}
