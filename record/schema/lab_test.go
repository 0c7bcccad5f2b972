package schema

import (
	"maps"
	"regexp"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"
	"pgregory.net/rapid"

	"github.com/plimsoll-bench/plimsoll/spec"
)

// beyondSchema are the rules of a lab that its JSON schema does not have, by what the reader says, each with the
// reason. What the reader refuses for one of these the schema may take. There is no rule the other way round.
var beyondSchema = map[string]string{
	`are limits of isolated hosts`:              "limits depend on hosts.mode",
	`needs a second host`:                       "hosts.count depends on availability.restart",
	`it needs restart: true|exclude each other`: "keys of availability depend on each other",
	`mongod elects a primary automatically|is for the gateways|are for mongod|documentdb has`:                        "what an engine has depends on engine.name, whose default depends on the machine",
	`Set tolerate|parity needs at least two|storage.tolerate: 3 is not between 0 and 2`:                              "redundancy and tolerate depend on each other",
	`storage.backend: |storage.filesystem: the backend btrfs|btrfs always has`:                                       "what a backend can do depends on the other keys of the policy",
	`is more than the volume of|is more than the memory of`:                                                          "one number against another one",
	`topology: a standalone|for kind: sharded|topology.priorities: \d+ values|no member could become|votes of a set`: "what a topology has depends on its kind, which is found from its keys",
	`servers are more than|of the \d+ shards empty|is for sharding: ranged|ascending order|chunks`:                   "sums and orders of several keys",
	`B is not between|is not between .*(KiB|MiB|GiB|TiB|PiB)`:                                                        "a size as text has a unit: patterns know no values",
	`": .* is not between|not a whole number|is too large`:                                                           "a number as text: patterns know no values",
	`is not DATABASE.COLLECTION|is not the name of a field`:                                                          "what MongoDB takes for a name is more than a pattern",
}

// readLab is everything that is refused about a lab without a machine.
func readLab(text string) error {
	asked, err := spec.ReadLab(strings.NewReader(text))
	if err == nil {
		asked.Defaults()
		err = asked.Validate()
	}
	return err
}

// beyond says whether each line of an error is about a rule that the schema does not have.
func beyond(err error) bool {
lines:
	for line := range strings.Lines(err.Error()) {
		for rule := range beyondSchema {
			if regexp.MustCompile(rule).MatchString(line) {
				continue lines
			}
		}
		return false
	}
	return true
}

// Schema and reader take the same labs and refuse the same.
func TestLabSchemaAndReaderAgree(t *testing.T) {
	s := compile(t, LabSpec)
	// A number as text is held against its limits by the reader alone, because patterns know no values.
	if schema, reader := fits(t, s, "hosts: {count: 2k}"), readLab("hosts: {count: 2k}"); schema != nil || reader == nil {
		t.Errorf("the exception is none any more: %v, %v", schema, reader)
	}
	for text, good := range map[string]bool{
		"{}": true, "storage: null": true, "storage:": true, "topology: {collection: }": true, "storage: []": false, "storage: 5": false,
		"name: 5": true, "name: five": true, "name: Five": false, "name: -5": false, "name: a_b": false, "name: [a]": false, "name: ''": true,
		"name: " + strings.Repeat("a", 33): false, "labels: {a: 1, b: true, c: d}": true, "labels: [a]": false,
		"hosts: {count: -1}": false, "hosts: {count: 64}": true, "hosts: {count: 65}": false, "hosts: {count: 1.5}": false, "hosts: {count: '-1'}": false,
		"hosts: {mode: isolated, cores: -1}": false, "hosts: {mode: isolated, cores: 0.01}": false, "hosts: {mode: isolated, cores: 0.05}": true,
		"hosts: {mode: isolated, cores: '2'}": false, "hosts: {mode: isolated, cores: 4097}": false, "hosts: {mode: isolated, router: {cores: -1}}": false,
		"hosts: {mode: isolated, memory: 1024}": false, "hosts: {mode: isolated, memory: 64MiB}": true, "hosts: {mode: isolated, memory: -5}": false,
		"storage: {tolerate: 3}": true, "storage: {tolerate: 4}": false, "storage: {tolerate: -1}": false, "storage: {stripe: 12}": true,
		"storage: {stripe: 13}": false, "storage: {stripe: -2}": false, "storage: {device: nvme}": true, "storage: {device: floppy}": false,
		"storage: {cache: {device: floppy}}": false, "storage: {cache: {}}": true, "storage: {cache: }": true, "storage: {size: 1}": false,
		"storage: {checksum: yes}": true, "storage: {checksum: maybe}": false, "storage: {redundancy: raid5, tolerate: 1}": false,
		"engine: {version: 8.0, name: mongod}": true, "engine: {connections: -1}": false, "engine: {connections: 10001}": false, "engine: {parameters: {a: 1}}": true,
		"engine: {parameters: {'a=b': 1}}": false, "engine: {name: mongod, args: [--port, 5]}": true, "engine: {name: mongod, args: [null]}": false,
		"topology: {members: 50}": true, "topology: {members: 51}": false, "topology: {members: -1}": false,
		"engine: {name: mongod}\ntopology: {members: 2, priorities: [1, -1]}": false, "engine: {name: mongod}\ntopology: {members: 2, priorities: [1, 0.5]}": true,
		"topology: {members: 2, settings: {electionTimeoutMillis: soon}}": false, "topology: {members: 2, settings: {electionTimeoutMillis: 5000}}": true,
		"engine: {name: mongod}\ntopology: {shards: -1}": false, "engine: {name: mongod}\ntopology: {shards: 33}": false, "engine: {name: mongod}\ntopology: {config_servers: 8}": false,
		"deadline: 0": true, "deadline: 5": false, "deadline: 5m": true, "deadline: -5m": false, "hots: {}": false,
	} {
		schema, reader := fits(t, s, text), readLab(text)
		if (schema == nil) != good || (reader == nil) != good {
			t.Errorf("%s: want %v\nschema: %v\nreader: %v", text, good, schema, reader)
		}
	}
}

// values are what is tried for each key, of a kind that is right for it and of others.
var values = []any{nil, "", 0, -1, 1, 2, 3, 4, 12, 13, 33, 51, 64, 65, 10_001, 0.01, 0.5, 5000.5, 1 << 28, 1 << 51,
	true, false, "1", "-1", "x", "yes", "off", "5m", "-5m", "nvme",
	"1GiB", "1KiB", "xfs", "btrfs", "md", "mirror", "parity", "isolated", "mongod", "documentdb", "sharded", "standalone", "elect-fast", "hashed", "a.b",
	[]any{}, []any{1}, []any{"a", "b"}, []any{nil}, map[string]any{}, map[string]any{"a": 1}, map[string]any{"a b": "x"}}

// labKeys are the keys of a lab, with a key that there is not in each place.
var labKeys = map[string][]string{
	"":                    {"name", "deadline", "labels", "other"},
	"hosts":               {"mode", "count", "cores", "memory", "network", "router", "config", "other"},
	"storage":             {"size", "dir", "backend", "stripe", "stripe_size", "tolerate", "redundancy", "checksum", "filesystem", "device", "cache", "faults", "other"},
	"engine":              {"name", "version", "binary", "cache", "connections", "parameters", "args", "authentication", "other"},
	"topology":            {"kind", "members", "arbiter", "priorities", "election", "settings", "shards", "config_servers", "routers", "collection", "other"},
	"topology/collection": {"namespace", "key", "sharding", "chunks", "split_at", "other"},
	"availability":        {"restart", "restart_after", "other"},
}

// Whatever a lab says, schema and reader agree about it, but for the rules that are listed.
func TestLabSchemaAndReaderAgreeAboutEverything(t *testing.T) {
	s := compile(t, LabSpec)
	places := []string{"", "hosts", "storage", "engine", "topology", "topology/collection", "availability"}
	rapid.Check(t, func(r *rapid.T) {
		lab := map[string]any{}
		for range rapid.IntRange(1, 3).Draw(r, "keys") {
			place := rapid.SampledFrom(places).Draw(r, "place")
			at := lab
			for part := range strings.SplitSeq(place, "/") {
				if part == "" {
					continue
				}
				below, _ := at[part].(map[string]any)
				if below == nil {
					below = map[string]any{}
					at[part] = below
				}
				at = below
			}
			value := rapid.SampledFrom(values).Draw(r, "value")
			if m, ok := value.(map[string]any); ok { // others write into it
				value = maps.Clone(m)
			}
			at[rapid.SampledFrom(labKeys[place]).Draw(r, "key")] = value
		}
		b, err := yaml.Marshal(lab)
		if err != nil {
			r.Fatal(err)
		}
		schema, reader := fits(t, s, string(b)), readLab(string(b))
		if (schema == nil) != (reader == nil) && !(schema == nil && beyond(reader)) {
			r.Errorf("%s\nschema: %v\nreader: %v", b, schema, reader)
		}
	})
}
