package schema

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/plimsoll-bench/plimsoll/spec"
)

func TestARealSizeFitsItsSchema(t *testing.T) {
	f, err := os.Open(filepath.Join("..", "..", "capacity", "testdata", "size.golden.json"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	doc, err := jsonschema.UnmarshalJSON(f)
	if err != nil {
		t.Fatal(err)
	}
	if err := compile(t, Sizing).Validate(doc); err != nil {
		t.Error(err)
	}
	doc.(map[string]any)["verdict"] = "perhaps"
	if compile(t, Sizing).Validate(doc) == nil {
		t.Error("a size with an unknown verdict fits the schema")
	}
}

// What the reader of price lists takes, the schema accepts, and what the schema refuses, the reader refuses.
func TestPriceListSchemaAndReaderAgree(t *testing.T) {
	s := compile(t, PriceList)
	for text, good := range map[string]bool{
		"{currency: EUR, date: today, source: us, nodes: [{name: a, cores: 2, memory: 64GiB, disk: 1 TB, price: 3.5}]}":  true,
		"{currency: EUR, date: today, source: us, nodes: [{name: a, cores: 2, memory: 1024, disk: 1B, price: 3}]}":       true,
		"{currency: EUR, date: today, source: us, nodes: [{name: a, cores: 2, memroy: 64GiB, disk: 1TB, price: 3.5}]}":   false,
		"{currency: EUR, date: today, source: us, nodes: [{name: a, cores: two, memory: 64GiB, disk: 1TB, price: 3.5}]}": false,
		"{currency: EUR, date: today, source: us, nodes: [{name: a, cores: 2, memory: much, disk: 1TB, price: 3.5}]}":    false,
		"{currency: EUR, date: today, source: us, nodes: {name: a, cores: 2, memory: 64GiB, disk: 1TB, price: 3.5}}":     false,
		"{currency: EUR, date: today, source: us, node: [{name: a, cores: 2, memory: 64GiB, disk: 1TB, price: 3.5}]}":    false,
	} {
		_, rerr := spec.ReadPriceList(strings.NewReader(text))
		if err := fits(t, s, text); (err == nil) != good || (rerr == nil) != good {
			t.Errorf("%s\nschema: %v\nreader: %v", text, err, rerr)
		}
	}
}
