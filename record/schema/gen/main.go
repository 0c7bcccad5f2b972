// Command gen writes the JSON schemas of package schema. It is run by go generate and linked into
// nothing.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"

	"github.com/invopop/jsonschema"
	orderedmap "github.com/pb33f/ordered-map/v2"

	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
	"github.com/plimsoll-bench/plimsoll/workload/own"
)

const module = "github.com/plimsoll-bench/plimsoll"

func main() {
	schemas, err := generate(filepath.Join("..", ".."))
	if err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
	for name, content := range schemas {
		if err := os.WriteFile(name, content, 0o644); err != nil {
			fmt.Fprintln(os.Stderr, "gen:", err)
			os.Exit(1)
		}
	}
}

// generate returns the schemas by file name. root is the root of the module relative to the working
// directory; descriptions come from the comments in its sources.
func generate(root string) (map[string][]byte, error) {
	schemas := map[string][]byte{}
	for name, s := range map[string]struct {
		value       any
		title, text string
		open        bool
	}{
		"run.schema.json": {record.Run{}, "plimsoll run.json", "The record of a run.", true},
		"runspec.schema.json": {spec.Run{}, "plimsoll run specification",
			"The specification of a run.", false},
		"study.schema.json":        {record.Study{}, "plimsoll study.json", "The record of a study.", true},
		"suite.schema.json":        {record.Suite{}, "plimsoll suite.json", "The record of a suite, with each statement of the document and its measurement.", true},
		"suitespec.schema.json":    {spec.Suite{}, "plimsoll suite specification", "The specification of a suite.", false},
		"comparison.schema.json":   {record.ComparisonReport{}, "plimsoll comparison.json", "The result of plimsoll compare.", true},
		"history.schema.json":      {record.HistoryReport{}, "plimsoll history", "The result of plimsoll history.", true},
		"size.schema.json":         {record.Sizing{}, "plimsoll size", "The result of plimsoll size.", true},
		"backtest.schema.json":     {record.Backtest{}, "plimsoll size --backtest", "The result of plimsoll size --backtest.", true},
		"ci.schema.json":           {record.Gate{}, "plimsoll ci", "The result of plimsoll ci.", true},
		"whatif.schema.json":       {record.WhatIf{}, "plimsoll size --what-if", "The result of plimsoll size --what-if.", true},
		"failures.schema.json":     {record.Failures{}, "plimsoll size --failures", "The result of plimsoll size --failures.", true},
		"pricelist.schema.json":    {spec.PriceList{}, "plimsoll price list", "The prices of nodes, for plimsoll size.", false},
		"capacity.schema.json":     {record.Capacity{}, "plimsoll capacity.json", "The record of the loads that a deployment carries.", true},
		"capacityspec.schema.json": {spec.Capacity{}, "plimsoll capacity specification", "The specification of plimsoll capacity.", false},
		"probe.schema.json":        {record.Probe{}, "plimsoll probe.json", "The record of a probe of storage.", true},
		"doctor.schema.json":       {record.Doctor{}, "plimsoll doctor", "The result of plimsoll doctor.", true},
		"lab.schema.json":          {record.Lab{}, "plimsoll lab", "The state of a lab.", true},
		"drill.schema.json":        {record.Drill{}, "plimsoll drill.json", "The record of a drill.", true},
		"drillspec.schema.json":    {spec.Drill{}, "plimsoll drill specification", "The specification of a drill.", false},
		"platformspec.schema.json": {spec.Platform{}, "plimsoll platform file",
			"The members of a deployment, and the commands that break them.", false},
		"workload.schema.json": {own.File{}, "plimsoll workload file",
			"Collections of generated documents, and operations on them.", false},
		"labspec.schema.json": {spec.Lab{}, "plimsoll lab specification", "The specification of a lab.", false},
		"studyspec.schema.json": {spec.Study{}, "plimsoll study specification",
			"The specification of a study.", false},
	} {
		r := &jsonschema.Reflector{
			Mapper: mapUnits,
			Namer:  nameOf,
			// Readers of results ignore what newer versions add; a specification must not have unknown keys.
			AllowAdditionalProperties:  s.open,
			RequiredFromJSONSchemaTags: !s.open,
		}
		for _, dir := range []string{"record", "spec", "measure", "workload/own"} {
			if err := addComments(r, root, dir); err != nil {
				return nil, err
			}
		}
		schema := r.Reflect(s.value)
		schema.ID = jsonschema.ID("https://github.com/plimsoll-bench/plimsoll/record/schema/" + name)
		loosen(schema)
		for of, keys := range whole {
			if d := schema.Definitions[of]; d != nil && s.open {
				d.Required = append(d.Required, keys...)
			}
		}
		if name == "labspec.schema.json" {
			limitLab(schema)
		}
		schema.Title, schema.Description = s.title, s.text
		b, err := marshal(schema)
		if err != nil {
			return nil, err
		}
		schemas[name] = b
	}
	return schemas, nil
}

// whole are the keys of the head that all records of these kinds have. A printed comparison has none of them.
var whole = map[string][]string{
	"Run": {"status", "started", "environment"}, "Study": {"status", "started", "environment"}, "Probe": {"status", "started", "environment"},
	"Suite": {"status", "started", "environment"}, "Capacity": {"status", "started"}, "Drill": {"status", "started"},
}

// loosen allows numbers and truth values for texts: w: 1, fieldcount: 10.
func loosen(s *jsonschema.Schema) {
	for of, keys := range map[string][]string{"LabSpec": {"labels"}, "EngineSpec": {"parameters"}, "TopologySpec": {"settings"}} {
		for _, key := range keys {
			if d := s.Definitions[of]; d != nil {
				if p, ok := d.Properties.Get(key); ok {
					p.AdditionalProperties = plain("")
				}
			}
		}
	}
	if s.Definitions["DurabilitySpec"] == nil { // there is no run in it
		return
	}
	if p, ok := s.Definitions["DurabilitySpec"].Properties.Get("w"); ok {
		p.Type, p.OneOf = "", []*jsonschema.Schema{{Type: "string"}, {Type: "integer"}}
	}
	if p, ok := s.Definitions["WorkloadSpec"].Properties.Get("params"); ok {
		p.AdditionalProperties = plain("")
	}
	if p, ok := s.Definitions["RunSpec"].Properties.Get("labels"); ok {
		p.AdditionalProperties = plain("")
	}
}

// plain is a value that may be written as text, number or truth value.
func plain(description string) *jsonschema.Schema {
	return &jsonschema.Schema{Description: description, OneOf: []*jsonschema.Schema{{Type: "string"}, {Type: "number"}, {Type: "boolean"}}}
}

// addComments reads the comments of one package. The library only finds packages below the working directory, so this
// changes to the root.
func addComments(r *jsonschema.Reflector, root, dir string) error {
	back, err := os.Getwd()
	if err != nil {
		return err
	}
	if err := os.Chdir(root); err != nil {
		return err
	}
	err = r.AddGoComments(module, "./"+dir, jsonschema.WithFullComment())
	if e := os.Chdir(back); err == nil {
		err = e
	}
	return err
}

// nameOf distinguishes the types Run of both packages.
func nameOf(t reflect.Type) string {
	if strings.HasSuffix(t.PkgPath(), "/spec") {
		return t.Name() + "Spec"
	}
	return t.Name()
}

// mapUnits describes types with their own form as text.
func mapUnits(t reflect.Type) *jsonschema.Schema {
	number := func(kind, pattern, example string) *jsonschema.Schema {
		return &jsonschema.Schema{OneOf: []*jsonschema.Schema{
			{Type: kind}, {Type: "string", Pattern: pattern, Examples: []any{example}},
		}}
	}
	switch t {
	case reflect.TypeFor[own.Template]():
		return &jsonschema.Schema{} // Extended JSON with generators: any value
	case reflect.TypeFor[own.Think]():
		return &jsonschema.Schema{OneOf: []*jsonschema.Schema{mapUnits(reflect.TypeFor[spec.Duration]()), {Type: "object",
			AdditionalProperties: jsonschema.FalseSchema, Required: []string{"min", "max"}, Properties: thinkProperties()}}}
	case reflect.TypeFor[spec.Duration]():
		return &jsonschema.Schema{Type: "string", Pattern: `^\s*(0|([0-9]*\.?[0-9]+(ns|us|µs|ms|s|m|h|d))+)\s*$`, Examples: []any{"60s", "1h30m"}}
	case reflect.TypeFor[spec.Action]():
		return &jsonschema.Schema{Type: "string"}
	case reflect.TypeFor[spec.Count]():
		return number("integer", `^[-+0-9_.eE]+[kKMG]?$`, "100k")
	case reflect.TypeFor[spec.Size]():
		return number("integer", `^\s*[0-9.]+\s*(B|kB|[KMGT]i?B)?\s*$`, "64GiB")
	case reflect.TypeFor[spec.Share]():
		return number("number", `^[-+0-9.eE]+\s*%?$`, "3%")
	case reflect.TypeFor[spec.Fraction]():
		return number("number", `^\s*[-+0-9.eE]+\s*(/\s*[-+0-9.eE]+\s*)?$`, "1/128")
	case reflect.TypeFor[spec.Level]():
		// A level may be written as its value alone.
		return &jsonschema.Schema{OneOf: []*jsonschema.Schema{
			{Type: "string"}, {Type: "number"}, {Type: "boolean"}, {Type: "object", Properties: levelProperties(),
				AdditionalProperties: jsonschema.FalseSchema},
		}}
	case reflect.TypeFor[spec.Rate]():
		return number("number", `^[-+0-9_.eE]+[kKMG]?(/s)?$`, "20k")
	}
	return nil
}

func thinkProperties() *orderedmap.OrderedMap[string, *jsonschema.Schema] {
	p := jsonschema.NewProperties()
	for _, key := range []string{"min", "max"} {
		p.Set(key, mapUnits(reflect.TypeFor[spec.Duration]()))
	}
	return p
}

func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err := e.Encode(v)
	return b.Bytes(), err
}

// levelProperties are the keys of a level that is written as a mapping.
func levelProperties() *orderedmap.OrderedMap[string, *jsonschema.Schema] {
	p := jsonschema.NewProperties()
	p.Set("name", plain("Name is the name in tables; absent, the value."))
	p.Set("value", &jsonschema.Schema{Description: "Value is the value for Path of the factor."})
	p.Set("without", &jsonschema.Schema{Type: "object", AdditionalProperties: &jsonschema.Schema{Type: "object"},
		Description: "Without has other values for engines that lack a capability: {arbiters: {lab.topology.arbiter: false}}."})
	p.Set("set", &jsonschema.Schema{Type: "object", Description: "Set sets several keys by their paths at once: paired levels."})
	p.Set("baseline", &jsonschema.Schema{Type: "boolean", Description: "Baseline marks the level that the others are compared with."})
	return p
}
