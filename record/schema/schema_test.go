package schema

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v4"

	"github.com/plimsoll-bench/plimsoll/spec"
)

func compile(t *testing.T, content []byte) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("schema.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestARealRunFitsItsSchema(t *testing.T) {
	f, err := os.Open(filepath.Join("..", "testdata", "run.golden.json"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	doc, err := jsonschema.UnmarshalJSON(f)
	if err != nil {
		t.Fatal(err)
	}
	if err := compile(t, Run).Validate(doc); err != nil {
		t.Error(err)
	}
	delete(doc.(map[string]any), "phases")
	if compile(t, Run).Validate(doc) == nil {
		t.Error("a run without phases fits the schema")
	}
}

// fits reports whether the schema accepts a specification in YAML.
func fits(t *testing.T, s *jsonschema.Schema, text string) error {
	t.Helper()
	var v any
	if err := yaml.Unmarshal([]byte(text), &v); err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	return s.Validate(doc)
}

// What the reader takes, the schema accepts, and what the schema refuses, the reader refuses.
func TestSchemaAndReaderAgree(t *testing.T) {
	s := compile(t, RunSpec)
	for text, good := range map[string]bool{
		"{}": true,
		"target: mongodb://h/\nworkload: {name: a, records: 100k}\nload: {rate: 20k/s, duration: 1m30s}":                 true,
		"load: {stages: [{duration: 30s, rate: 10k}, {rate: 5, step: true}]}":                                            true,
		"durability: {name: durable, w: 2, journal: true}\nlabels: {a: b}":                                               true,
		"workload: {params: {fieldcount: 10, zeropadding: '5', readallfields: true}, seed: 5}\nobjectives: ['p99<20ms']": true,
		"targt: x":             false,
		"load: {duration: 60}": false,
		"load: {workers: 5x}":  false,
		"client: wired":        false,
	} {
		err := fits(t, s, text)
		asked, rerr := spec.ReadRun(strings.NewReader(text))
		if rerr == nil {
			rerr = asked.Validate()
		}
		if (err == nil) != good || (rerr == nil) != good {
			t.Errorf("%s\nschema: %v\nreader: %v", text, err, rerr)
		}
	}
}

func TestDefaultsFitTheSchema(t *testing.T) {
	var asked spec.Run
	asked.Defaults()
	b, err := json.Marshal(asked)
	if err != nil {
		t.Fatal(err)
	}
	if err := fits(t, compile(t, RunSpec), string(b)); err != nil {
		t.Error(err)
	}
}
