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

// What the reader of deployments takes, the schema accepts, and what the schema refuses, the reader refuses.
func TestDeploymentSchemaAndReaderAgree(t *testing.T) {
	s := compile(t, Deployment)
	for text, good := range map[string]bool{
		"{load: {workers: 8}}": true,
		"{shards: 333, members: 3, acknowledge: 2, routers: true, load: {workers: 6k, rate: 100k/s}, cache: 4GiB, " +
			"records: 10M, failures: {kill: 10}, election: 1s, time: 7d}": true,
		"{failures: {kill: 10}, members: 3}": true,
		"{load: {worker: 8}}":                false,
		"{load: {workers: many}}":            false,
		"{failures: [kill]}":                 false,
		"{failures: {kill: 1}, time: day}":   false,
	} {
		_, rerr := spec.ReadDeployment(strings.NewReader(text))
		if err := fits(t, s, text); (err == nil) != good || (rerr == nil) != good {
			t.Errorf("%s\nschema: %v\nreader: %v", text, err, rerr)
		}
	}
	for text, want := range map[string]string{
		"{members: 3}":                                     "nothing to simulate",
		"{members: 51, load: {workers: 8}}":                "1 to 50 members",
		"{shards: 40k, members: 3, load: {workers: 1M}}":   "100000 in all shards",
		"{members: 3, acknowledge: 4, load: {workers: 1}}": "between 1 and members",
		"{load: {rate: 5}}":                                "load needs workers",
		"{shards: 9, load: {workers: 8}}":                  "fewer than the 9 shards",
		"{load: {workers: 8}, cache: 1GiB}":                "given together",
		"{failures: {kill: -1}}":                           "failures.kill: -1",
		"{failures: {kill: 1}, time: -1s}":                 "time",
	} {
		if _, err := spec.ReadDeployment(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}
