package schema_test

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/plimsoll-bench/plimsoll/record/schema"
	"github.com/plimsoll-bench/plimsoll/report"
	"github.com/plimsoll-bench/plimsoll/report/html/recordtest"
)

// What report says of a suite fits its schema, and a suite without its statements does not.
func TestTheReportOfASuiteFitsItsSchema(t *testing.T) {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema.SuiteReport))
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
	dir := filepath.Join(t.TempDir(), "suite")
	if _, err := (recordtest.Suite{}).Write(dir); err != nil {
		t.Fatal(err)
	}
	suite, err := report.OpenSuite(dir)
	if err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(suite.Report())
	if err != nil {
		t.Fatal(err)
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Validate(value); err != nil {
		t.Error(err)
	}
	delete(value.(map[string]any), "statements")
	if s.Validate(value) == nil {
		t.Error("a report without statements fits the schema")
	}
}
