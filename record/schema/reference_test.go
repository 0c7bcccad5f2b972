package schema

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write docs/reference/keys.md anew")

// node is a part of a JSON schema, as far as the reference shows it.
type node struct {
	Ref         string `json:"$ref"`
	Type        string
	Enum        []any
	Const       any
	Description string
	Examples    []any
	Pattern     string
	Properties  json.RawMessage
	Items       *node
	OneOf       []*node
	AnyOf       []*node
	Additional  json.RawMessage  `json:"additionalProperties"`
	Defs        map[string]*node `json:"$defs"`
}

// UnmarshalJSON reads a schema. One that allows everything, true, is empty.
func (n *node) UnmarshalJSON(text []byte) error {
	if text[0] != '{' {
		return nil
	}
	type plain node
	return json.Unmarshal(text, (*plain)(n))
}

// keys are the properties of a node, in the order of the schema.
func (n *node) keys(t *testing.T) (names []string, of map[string]*node) {
	t.Helper()
	if len(n.Properties) == 0 {
		return nil, nil
	}
	if err := json.Unmarshal(n.Properties, &of); err != nil {
		t.Fatal(err)
	}
	d := json.NewDecoder(strings.NewReader(string(n.Properties)))
	for depth := 0; ; {
		token, err := d.Token()
		if err != nil {
			break
		}
		switch token {
		case json.Delim('{'), json.Delim('['):
			depth++
		case json.Delim('}'), json.Delim(']'):
			depth--
		}
		if name, ok := token.(string); ok && depth == 1 && of[name] != nil && !slices.Contains(names, name) {
			names = append(names, name)
			var value json.RawMessage
			if err := d.Decode(&value); err != nil {
				t.Fatal(err)
			}
		}
	}
	return names, of
}

// forms are the forms of a value without null and "nothing".
func (n *node) forms() []*node {
	var forms []*node
	for _, f := range append(n.OneOf, n.AnyOf...) {
		if f.Type != "null" && f.Const == nil {
			forms = append(forms, f.forms()...)
		}
	}
	if len(forms) == 0 {
		return []*node{n}
	}
	return forms
}

// ref is the name of the definition that a value, its elements or the values of its keys have, and what is written
// after the name of the key.
func (n *node) ref(t *testing.T) (name, after string) {
	t.Helper()
	for _, f := range n.forms() {
		switch {
		case f.Ref != "":
			return strings.TrimPrefix(f.Ref, "#/$defs/"), ""
		case f.Items != nil:
			name, after = f.Items.ref(t)
			return name, "[]" + after
		case len(f.Additional) > 0 && f.Additional[0] == '{':
			var of node
			if err := json.Unmarshal(f.Additional, &of); err != nil {
				t.Fatal(err)
			}
			name, after = of.ref(t)
			return name, ".NAME" + after
		}
	}
	return "", ""
}

// value says in a few words what a key takes.
func (n *node) value() string {
	var words []string
	for _, f := range n.forms() {
		word := map[string]string{"integer": "number", "boolean": "true, false", "string": "text", "array": "list", "object": "map"}[f.Type]
		if word == "" {
			word = f.Type
		}
		switch {
		case len(f.Enum) > 0:
			var enum []string
			for _, e := range f.Enum {
				enum = append(enum, fmt.Sprintf("`%v`", e))
			}
			word = strings.Join(enum, ", ")
		case f.Pattern != "" && len(f.Examples) > 0:
			word = fmt.Sprintf("`%v`", f.Examples[0])
		case f.Type == "array" && f.Items != nil:
			word = "list of " + f.Items.value()
		}
		if word != "" && !slices.Contains(words, word) {
			words = append(words, word)
		}
	}
	return strings.Join(words, " or ")
}

// about is a description without the name of the field that it begins with.
func about(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	first, rest, _ := strings.Cut(text, " ")
	if strings.IndexFunc(first, func(r rune) bool { return !unicode.IsLetter(r) }) >= 0 || rest == "" {
		return text
	}
	for _, verb := range []string{"is ", "are ", "says "} {
		if after, ok := strings.CutPrefix(rest, verb); ok {
			return after
		}
	}
	return rest
}

// table writes the keys of a definition, those of others below it in place, and links to those with a table of their
// own.
func table(t *testing.T, b *strings.Builder, defs map[string]*node, of, path string, own map[string]string,
	inside []string,
) {
	t.Helper()
	names, keys := defs[of].keys(t)
	for _, name := range names {
		k := keys[name]
		at, after := k.ref(t)
		value, text := k.value(), about(k.Description)
		switch {
		case own[at] != "":
			value = fmt.Sprintf("[keys](#%s)", own[at])
		case at != "":
			value = ""
		}
		fmt.Fprintf(b, "| `%s%s%s` | %s | %s |\n", path, name, after, cell(value), cell(text))
		if at != "" && own[at] == "" && !slices.Contains(inside, at) {
			table(t, b, defs, at, path+name+after+".", own, append(inside, at))
		}
	}
}

func cell(text string) string { return strings.NewReplacer("|", `\|`, "<", "&lt;").Replace(text) }

// The reference has every key of every file that people write: run the test with -update to write it anew.
func TestReferenceOfKeys(t *testing.T) {
	files := []struct {
		anchor, title, about string
		schema               []byte
		file                 string
	}{
		{"run", "Run", "`plimsoll run -f FILE`, and `run` in other files.", RunSpec, "runspec"},
		{"study", "Study", "`plimsoll study run FILE`.", StudySpec, "studyspec"},
		{"capacity", "Capacity", "`plimsoll capacity FILE`.", CapacitySpec, "capacityspec"},
		{"drill", "Drill", "`plimsoll drill FILE`.", DrillSpec, "drillspec"},
		{"lab", "Lab", "`plimsoll lab up FILE`, and `lab` in other files.", LabSpec, "labspec"},
		{"platform", "Platform", "`--platform FILE`.", Platform, "platformspec"},
		{"workload", "Workload", "`--workload FILE.yaml`.", Workload, "workload"},
		{"suite", "Suite", "`suite.yaml` in the folder of a suite.", SuiteSpec, "suitespec"},
		{"prices", "Prices", "`plimsoll size --price FILE`.", PriceList, "pricelist"},
	}
	own, schemas := map[string]string{}, map[string]node{}
	for _, f := range files {
		var n node
		if err := json.Unmarshal(f.schema, &n); err != nil {
			t.Fatal(err)
		}
		own[strings.TrimPrefix(n.Ref, "#/$defs/")], schemas[f.anchor] = f.anchor, n
	}
	var b strings.Builder
	b.WriteString("# Keys of files\n\nEvery key of every YAML file. A part of a list is `[]`, a name that you choose is `NAME`. " +
		"An editor checks a file\nwith its JSON schema in `record/schema`.\n")
	for _, f := range files {
		n := schemas[f.anchor]
		fmt.Fprintf(&b, "\n## %s\n\n%s Schema: `%s.schema.json`.\n\n| key | value | meaning |\n|---|---|---|\n", f.title, f.about, f.file)
		of := strings.TrimPrefix(n.Ref, "#/$defs/")
		others := maps.Clone(own)
		delete(others, of)
		table(t, &b, n.Defs, of, "", others, []string{of})
	}
	const name = "../../docs/reference/keys.md"
	if *update {
		if err := os.WriteFile(name, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	have, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(b.String(), string(have)); diff != "" {
		t.Errorf("%s does not have the keys of the code (want -, got +). Write it with: make reference\n%s", name, diff)
	}
}
