package spec

import (
	"errors"
	"fmt"
	"io"
	"reflect"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/plimsoll-bench/plimsoll/internal/nearest"
)

// maxSpecBytes bounds a specification: one of a megabyte is another kind of file.
const maxSpecBytes = 1 << 20

// ReadRun reads a specification in YAML (JSON is YAML). It is strict: an unknown key, a key twice, or
// a second document is an error that names the line and, for a key, the nearest right one. Defaults are
// not filled in, and nothing beyond the form is checked: see [Run.Defaults] and [Run.Validate].
func ReadRun(r io.Reader) (Run, error) { return readStrict[Run](r, "specification") }

// readStrict reads one YAML document into a type whose keys are all there are. what is its name in errors.
func readStrict[T any](r io.Reader, what string) (T, error) {
	var spec, none T
	b, err := io.ReadAll(io.LimitReader(r, maxSpecBytes+1))
	if err != nil {
		return none, fmt.Errorf("cannot read the %s: %w", what, err)
	}
	if len(b) > maxSpecBytes {
		return none, fmt.Errorf("the %s is larger than 1 MiB: is this the right file?", what)
	}
	root, err := parseYAML(string(b))
	if err != nil {
		return none, fmt.Errorf("%s: %w", what, err)
	}
	if root == nil {
		return none, nil
	}
	k := keyCheck{what: what}
	if err := k.check(root, reflect.TypeFor[T](), "", 0); err != nil {
		return none, fmt.Errorf("%s: %w", what, err)
	}
	if err := root.Decode(&spec); err != nil {
		return none, fmt.Errorf("%s: %s", what, oneLine(err))
	}
	return spec, nil
}

// parseYAML returns the one document of the text, nil if it is empty.
func parseYAML(text string) (*yaml.Node, error) {
	d := yaml.NewDecoder(strings.NewReader(text))
	var doc, second yaml.Node
	if err := d.Decode(&doc); errors.Is(err, io.EOF) {
		return nil, nil
	} else if err != nil {
		return nil, fmt.Errorf("this is not YAML: %s", oneLine(err))
	}
	if err := d.Decode(&second); !errors.Is(err, io.EOF) {
		return nil, errors.New("there is a second document after ---; one file holds one")
	}
	if doc.Kind != yaml.DocumentNode || len(doc.Content) != 1 {
		return nil, nil
	}
	if root := doc.Content[0]; root.Kind == yaml.ScalarNode && root.Tag == "!!null" {
		return nil, nil
	}
	return doc.Content[0], nil
}

// anchor is what the YAML library says of a text that begins with an asterisk. The text may be a password.
var anchor = regexp.MustCompile(`unknown anchor '.*' referenced`)

// oneLine strips what the YAML library puts around its messages, and says what to do about the two that need it.
func oneLine(err error) string {
	s := strings.TrimPrefix(err.Error(), "yaml: ")
	s = anchor.ReplaceAllLiteralString(s, "a value begins with *, which refers to an anchor that is not there; a text that begins so needs quotation marks")
	if strings.Contains(s, "mapping values are not allowed") {
		s += "; a value that ends in a colon (null:), or has a colon and a space in it, needs quotation marks"
	}
	s = strings.TrimPrefix(s, "unmarshal errors:\n")
	lines := strings.Split(s, "\n")
	for i := range lines {
		lines[i] = strings.TrimSpace(lines[i])
	}
	return strings.Join(lines, "; ")
}

// maxDepth is deeper than any specification; aliases that contain themselves end there.
const maxDepth = 20

// maxNodes is more than any specification has; aliases of aliases multiply.
const maxNodes = 200_000

// keyCheck compares the keys of mappings with the fields of a type.
type keyCheck struct {
	what  string // what is read, for errors
	nodes int    // that were looked at
}

// check compares the keys of a mapping, and of those inside it, with the fields of a type.
func (k *keyCheck) check(n *yaml.Node, t reflect.Type, path string, depth int) error {
	if k.nodes++; depth > maxDepth || k.nodes > maxNodes {
		return fmt.Errorf("line %d: nested too deeply", n.Line)
	}
	if n.Kind == yaml.AliasNode {
		return k.check(n.Alias, t, path, depth+1)
	}
	switch {
	case t.Kind() == reflect.Pointer:
		return k.check(n, t.Elem(), path, depth)
	case t == reflect.TypeFor[Level]() && n.Kind != yaml.MappingNode:
		return notALevel(n) // it may be its value alone
	case n.Kind == yaml.ScalarNode && n.Tag == "!!null":
		if path == "target" || path == "run.target" {
			return k.checkZero(n, path) // a variable that is not set leaves this
		}
		return nil // as if it were not there
	case t.Kind() == reflect.Struct && t != reflect.TypeFor[Strike](): // which is written as text
		return k.checkStruct(n, t, path, depth)
	case t.Kind() == reflect.Slice:
		return k.checkList(n, t, path, depth)
	case t.Kind() == reflect.Map && n.Kind != yaml.MappingNode:
		return fmt.Errorf("line %d: %s needs names with values below it", n.Line, k.place(path))
	case t.Kind() != reflect.Map && t.Kind() != reflect.Interface && n.Kind != yaml.ScalarNode:
		return fmt.Errorf("line %d: %s: a single value is needed here", n.Line, k.place(path))
	case n.Kind == yaml.ScalarNode:
		return k.checkScalar(n, t, path)
	}
	return nil
}

// checkScalar reads a single value to see whether its type takes it: what the YAML library says of one that it does
// not take is about its own inside.
func (k *keyCheck) checkScalar(n *yaml.Node, t reflect.Type, path string) error {
	v := reflect.New(t).Interface()
	if own, ok := v.(yaml.Unmarshaler); ok {
		line := fmt.Sprintf("line %d: ", n.Line)
		if err := own.UnmarshalYAML(n); err != nil {
			return fmt.Errorf("%s%s: %s", line, k.place(path), strings.TrimPrefix(err.Error(), line))
		}
		if reflect.ValueOf(v).Elem().IsZero() {
			return k.checkZero(n, path)
		}
		return nil
	}
	if n.Value == "" {
		return k.checkZero(n, path)
	}
	what := ""
	switch t.Kind() {
	case reflect.Uint64:
		what = "not a whole number from 0"
	case reflect.Float64:
		what = "not a number"
	case reflect.Bool:
		what = "neither true nor false"
	default:
		return nil
	}
	if err := n.Decode(v); err != nil {
		return fmt.Errorf("line %d: %s: %q is %s", n.Line, k.place(path), n.Value, what)
	}
	return nil
}

// checkZero refuses a zero, or an empty text, that would silently become the default of its key.
func (k *keyCheck) checkZero(n *yaml.Node, path string) error {
	zero := ""
	if n.Tag != "!!null" {
		zero = n.Value
	}
	if err := refuseZero(path, zero); err != nil {
		return fmt.Errorf("line %d: %s: %w", n.Line, path, err)
	}
	return nil
}

func (k *keyCheck) checkList(n *yaml.Node, t reflect.Type, path string, depth int) error {
	if n.Kind != yaml.SequenceNode {
		return fmt.Errorf("line %d: %s needs a list", n.Line, k.place(path))
	}
	for _, item := range n.Content {
		if item.Kind == yaml.ScalarNode && item.Tag == "!!null" {
			return fmt.Errorf("line %d: %s: there is nothing behind a hyphen or a comma; write a value or leave it out", item.Line, k.place(path))
		}
		if err := k.check(item, t.Elem(), path, depth+1); err != nil {
			return err
		}
	}
	return nil
}

func (k *keyCheck) checkStruct(n *yaml.Node, t reflect.Type, path string, depth int) error {
	if n.Kind != yaml.MappingNode {
		return fmt.Errorf("line %d: %s needs keys below it (%s)", n.Line, k.place(path), strings.Join(KeysOf(t), ", "))
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		field, ok := fieldOf(t, key.Value)
		if !ok {
			return fmt.Errorf("line %d: unknown key %q in %s%s (known: %s)%s", key.Line, key.Value, k.place(path),
				nearest.DidYouMean(key.Value, KeysOf(t)), strings.Join(KeysOf(t), ", "), levelHint(t, key.Value))
		}
		if err := k.check(value, field.Type, join(path, key.Value), depth+1); err != nil {
			return err
		}
	}
	return nil
}

// levelHint helps who wrote the keys of a run directly into a level.
func levelHint(t reflect.Type, key string) string {
	if t == reflect.TypeFor[Level]() && strings.Contains(key, ".") {
		return "; a level that sets several keys has them below set"
	}
	return ""
}

// place names where in a file something is.
func (k *keyCheck) place(path string) string {
	if path == "" {
		return "the " + k.what
	}
	return path
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

// KeysOf lists the keys of a type as they are written in YAML.
func KeysOf(t reflect.Type) []string {
	var keys []string
	for i := range t.NumField() {
		keys = append(keys, KeyOf(t.Field(i)))
	}
	return keys
}

func fieldOf(t reflect.Type, key string) (reflect.StructField, bool) {
	for i := range t.NumField() {
		if f := t.Field(i); KeyOf(f) == key {
			return f, true
		}
	}
	return reflect.StructField{}, false
}

// KeyOf is the key of a field as it is written in YAML.
func KeyOf(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("yaml"), ",")
	return name
}
