package schema

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/plimsoll-bench/plimsoll/spec"
)

func TestARealSuiteFitsItsSchema(t *testing.T) {
	f, err := os.Open(filepath.Join("..", "testdata", "suite", "suite.json"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	doc, err := jsonschema.UnmarshalJSON(f)
	if err != nil {
		t.Fatal(err)
	}
	if err := compile(t, Suite).Validate(doc); err != nil {
		t.Error(err)
	}
	doc.(map[string]any)["budget"] = "tiny"
	if compile(t, Suite).Validate(doc) == nil {
		t.Error("a suite with an unknown budget fits the schema")
	}
}

// What the reader of suites takes, the schema accepts, and what the schema refuses, the reader refuses.
func TestSuiteSchemaAndReaderAgree(t *testing.T) {
	s := compile(t, SuiteSpec)
	for text, good := range map[string]bool{
		"{name: x, scale: {data: 1/128, workers: 0.5}, parts: [{study: a.yaml, each: {workload.name: [a, 5]}, gives: [load.workers]}]}": true,
		"{name: x, parts: [{name: p, probe: {storage: {backend: directory}, threads: [1, 1k], size: 1GiB, duration: 1s}}]}":             true,
		"{name: x, parts: [{drill: a.yaml, repeat: 3, level: 'rs=1', shows: [table-7], needs: [root], vital: true}]}":                   true,
		"{name: x, parts: [{studdy: a.yaml}]}":                                 false,
		"{name: x, parts: {study: a.yaml}}":                                    false,
		"{name: x, scale: {data: half}, parts: [{study: a.yaml}]}":             false,
		"{name: x, parts: [{name: p, probe: {storage: {}, mode: sideways}}]}":  false,
		"{name: x, parts: [{name: p, probe: {storage: {}, threads: [many]}}]}": false,
	} {
		schema := fits(t, s, text)
		asked, reader := spec.ReadSuite(strings.NewReader(text))
		if reader == nil {
			reader = asked.Validate()
		}
		if (schema == nil) != good || (reader == nil) != good {
			t.Errorf("%s: want %v\nschema: %v\nreader: %v", text, good, schema, reader)
		}
	}
}
