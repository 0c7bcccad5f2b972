package main

import (
	"encoding/json"
	"strings"

	"github.com/invopop/jsonschema"

	"github.com/plimsoll-bench/plimsoll/spec"
)

// numbers are the limits of a number. 0, which means the default, is always allowed.
type numbers struct{ low, high float64 }

// labNumbers are the limits of a lab's numbers, by type and key. A test compares them with those of the reader.
var labNumbers = map[string]map[string]numbers{
	"HostsSpec":      {"count": {1, 64}, "cores": {0.05, 4096}, "memory": {64 << 20, 1 << 50}, "network": {10 << 10, 1 << 50}},
	"HostLimitsSpec": {"cores": {0.05, 4096}, "memory": {64 << 20, 1 << 50}},
	"StorageSpec":    {"size": {256 << 20, 1 << 50}, "stripe": {1, 12}, "stripe_size": {4 << 10, 1 << 30}, "tolerate": {1, 3}},
	"CacheTierSpec":  {"size": {1 << 20, 1 << 50}},
	"EngineSpec":     {"cache": {1 << 20, 1 << 45}, "connections": {1, 10_000}},
	"TopologySpec":   {"members": {1, 50}, "shards": {1, 32}, "config_servers": {1, 7}, "routers": {1, 32}},
	"CollectionSpec": {"chunks": {1, 100_000}},
}

// labTexts are the keys with texts that YAML readers may take for a number or a truth value: version: 8.0.
var labTexts = map[string][]string{
	"LabSpec": {"name"}, "StorageSpec": {"dir"}, "EngineSpec": {"version", "binary"}, "CollectionSpec": {"namespace", "key"},
}

// limitLab adds the rules for single keys of a lab's specification.
func limitLab(s *jsonschema.Schema) {
	for of, keys := range labNumbers {
		for key, n := range keys {
			within(property(s, of, key), n)
		}
	}
	for of, keys := range labTexts {
		for _, key := range keys {
			p := property(s, of, key)
			p.Type, p.OneOf = "", plain("").OneOf
		}
	}
	name := property(s, "LabSpec", "name")
	name.OneOf = []*jsonschema.Schema{{Type: "string", Pattern: spec.LabNamePattern}, {Type: "integer", Minimum: "0"}, {Type: "boolean"}}
	for _, of := range []string{"StorageSpec", "CacheTierSpec"} {
		p := property(s, of, "device")
		for _, class := range spec.DeviceClasses() {
			p.Enum = append(p.Enum, class)
		}
	}
	for of, key := range map[string]string{"LabSpec": "labels", "EngineSpec": "parameters"} {
		p := property(s, of, key).AdditionalProperties
		p.OneOf = append(p.OneOf, &jsonschema.Schema{Type: "null"})
	}
	property(s, "EngineSpec", "args").Items = plain("")
	property(s, "CollectionSpec", "split_at").Items = plain("")
	property(s, "TopologySpec", "priorities").Items = &jsonschema.Schema{Type: "number", Minimum: "0", Maximum: "1000"}
	property(s, "TopologySpec", "settings").AdditionalProperties = &jsonschema.Schema{OneOf: []*jsonschema.Schema{
		{Type: "number"}, {Type: "boolean"}, {Type: "string", Pattern: `^(true|false|[-+]?[0-9.]+([eE][-+]?[0-9]+)?)$`},
	}}
	names := &jsonschema.Schema{}
	for _, name := range spec.SettingNames() {
		names.Enum = append(names.Enum, name)
	}
	property(s, "TopologySpec", "settings").PropertyNames = names
	property(s, "EngineSpec", "parameters").PropertyNames = &jsonschema.Schema{Pattern: `^[^= \n']+$`}
	for _, d := range s.Definitions {
		for at := d.Properties.Oldest(); at != nil; at = at.Next() {
			at.Value = orNothing(at.Value)
		}
	}
}

func property(s *jsonschema.Schema, of, key string) *jsonschema.Schema {
	p, ok := s.Definitions[of].Properties.Get(key)
	if !ok {
		panic(of + " has no " + key)
	}
	return p
}

// within limits a number, or the form that is a number.
func within(p *jsonschema.Schema, n numbers) {
	for _, form := range append([]*jsonschema.Schema{p}, p.OneOf...) {
		kind := form.Type
		if kind == "string" { // a number as text: its limits are the reader's
			form.Pattern = strings.Replace(form.Pattern, "^[-+0-9_.eE]+", "^[0-9_.][-+0-9_.eE]*", 1)
		}
		if kind != "integer" && kind != "number" {
			continue
		}
		form.Type = ""
		form.AnyOf = []*jsonschema.Schema{{Const: 0}, {Type: kind, Minimum: number(n.low), Maximum: number(n.high)}}
	}
}

func number(x float64) json.Number {
	b, _ := json.Marshal(x)
	return json.Number(b)
}

// oldTruth are the truth values of older YAML.
const oldTruth = `^([yY]|[yY]es|YES|[oO]n|ON|[nN]|[nN]o|NO|[oO]ff|OFF)$`

// orNothing also allows a key without value, which means that it is absent, and 0 for no time.
func orNothing(p *jsonschema.Schema) *jsonschema.Schema {
	forms := []*jsonschema.Schema{p, {Type: "null"}}
	switch {
	case p.Type == "string" && p.Pattern != "":
		forms = append(forms, &jsonschema.Schema{Const: 0})
	case p.Type == "boolean":
		forms = append(forms, &jsonschema.Schema{Type: "string", Pattern: oldTruth})
	case len(p.Enum) > 0 || len(p.OneOf) > 0 && p.OneOf[0].Pattern == spec.LabNamePattern:
		forms = append(forms, &jsonschema.Schema{Const: ""})
	}
	out := &jsonschema.Schema{Description: p.Description, AnyOf: forms}
	p.Description = ""
	return out
}
