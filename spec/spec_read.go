package spec

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"sync"

	"go.yaml.in/yaml/v4"

	"github.com/plimsoll-bench/plimsoll/internal/expression"
	"github.com/plimsoll-bench/plimsoll/internal/nearest"
)

// MaxBytes bounds a specification and a workload file. A larger file is something else.
const MaxBytes = 1 << 20

// ReadRun reads a specification in YAML (JSON is YAML). An unknown key, a duplicate key, or a second document is an
// error with the line and, for a key, the nearest known one. The caller must complete the result ([Run.Complete]).
func ReadRun(r io.Reader) (Run, error) { return ReadStrict[Run](r, "specification") }

// ReadStrict reads one YAML document into a type that has all known keys. what is its name in errors.
func ReadStrict[T any](r io.Reader, what string) (T, error) {
	var spec, none T
	b, err := io.ReadAll(io.LimitReader(r, MaxBytes+1))
	if err != nil {
		return none, fmt.Errorf("cannot read the %s: %w", what, err)
	}
	if len(b) > MaxBytes {
		return none, fmt.Errorf("the %s is larger than 1 MiB. Is this the right file?", what)
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

// parseYAML returns the document of the text, nil if it is empty.
func parseYAML(text string) (*yaml.Node, error) {
	d := yaml.NewDecoder(strings.NewReader(text))
	var doc, second yaml.Node
	if err := d.Decode(&doc); errors.Is(err, io.EOF) {
		return nil, nil
	} else if err != nil {
		return nil, fmt.Errorf("this is not YAML: %s", oneLine(err))
	}
	if err := d.Decode(&second); !errors.Is(err, io.EOF) {
		return nil, errors.New("there is a second document after ---. A file has one document")
	}
	if doc.Kind != yaml.DocumentNode || len(doc.Content) != 1 {
		return nil, nil
	}
	if root := doc.Content[0]; root.Kind == yaml.ScalarNode && root.Tag == "!!null" {
		return nil, nil
	}
	return doc.Content[0], nil
}

// anchor matches the YAML library's error for a text that begins with an asterisk. The text may be a password.
var anchor = expression.New(`unknown anchor '.*' referenced`)

// oneLine strips the frame of the YAML library's errors, and adds the next step to two of them.
func oneLine(err error) string {
	s := strings.TrimPrefix(err.Error(), "yaml: ")
	s = anchor().ReplaceAllLiteralString(s, "a value begins with *, which refers to an anchor that does not exist. Such a text needs quotation marks")
	if strings.Contains(s, "mapping values are not allowed") {
		s += ". A value that ends in a colon (null:), or has a colon and a space in it, needs quotation marks"
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

// freeForm is implemented by types whose keys are not known in advance.
type freeForm interface{ FreeForm() }

// shortForm is implemented by types that may be written as a single value in place of keys.
type shortForm interface{ ShortForm() }

// keyCheck compares the keys of mappings with the fields of a type.
type keyCheck struct {
	what  string // name in errors
	nodes int    // checked so far
}

// check compares the keys of a mapping, and of those inside it, with the fields of a type.
func (k *keyCheck) check(n *yaml.Node, t reflect.Type, path string, depth int) error {
	if k.nodes++; depth > maxDepth || k.nodes > maxNodes {
		return fmt.Errorf("line %d: nested too deeply", n.Line)
	}
	if n.Kind == yaml.AliasNode {
		return k.check(n.Alias, t, path, depth+1)
	}
	if t.Implements(reflect.TypeFor[freeForm]()) {
		return nil
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
	case n.Kind == yaml.ScalarNode && t.Implements(reflect.TypeFor[shortForm]()):
		return k.checkScalar(n, t, path)
	case t.Kind() == reflect.Struct && t != reflect.TypeFor[Action](): // which is written as text
		return k.checkStruct(n, t, path, depth)
	case t.Kind() == reflect.Slice:
		return k.checkList(n, t, path, depth)
	case t.Kind() == reflect.Map && n.Kind != yaml.MappingNode:
		return fmt.Errorf("line %d: %s needs names with values below it", n.Line, k.place(path))
	case t.Kind() == reflect.Map && t.Elem().Kind() == reflect.Struct:
		for i := 0; i+1 < len(n.Content); i += 2 {
			if err := k.check(n.Content[i+1], t.Elem(), join(path, n.Content[i].Value), depth+1); err != nil {
				return err
			}
		}
		return nil
	case t.Kind() != reflect.Map && t.Kind() != reflect.Interface && n.Kind != yaml.ScalarNode:
		return fmt.Errorf("line %d: %s: a single value is needed here", n.Line, k.place(path))
	case n.Kind == yaml.ScalarNode:
		return k.checkScalar(n, t, path)
	}
	return nil
}

// checkScalar checks a single value, because the YAML library's errors name its own types.
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

func (k *keyCheck) checkZero(n *yaml.Node, path string) error {
	zero := ""
	if n.Tag != "!!null" {
		zero = n.Value
	}
	if err := RefuseZero(path, zero); err != nil {
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
			return fmt.Errorf("line %d: %s: there is no value after a hyphen or a comma. Add one, or remove it", item.Line, k.place(path))
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

// levelHint is for keys of a run directly in a level.
func levelHint(t reflect.Type, key string) string {
	if t == reflect.TypeFor[Level]() && strings.Contains(key, ".") {
		return ". A level that sets several keys has them below set"
	}
	return ""
}

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

// KeysOf lists the YAML keys of a type.
func KeysOf(t reflect.Type) []string {
	var keys []string
	for i := range t.NumField() {
		if t.Field(i).IsExported() {
			keys = append(keys, KeyOf(t.Field(i)))
		}
	}
	return keys
}

// fieldsByKey has the fields of types that were looked at, by their keys: commands have hundreds of flags with paths.
var fieldsByKey sync.Map

// fieldOf finds the field of a key, also in embedded structures.
func fieldOf(t reflect.Type, key string) (found reflect.StructField, ok bool) {
	if t.Kind() != reflect.Struct {
		return found, false
	}
	known, ok := fieldsByKey.Load(t)
	if !ok {
		fields := map[string]reflect.StructField{}
		for _, f := range reflect.VisibleFields(t) {
			if name := KeyOf(f); name != "" && f.IsExported() && !f.Anonymous {
				fields[name] = f
			}
		}
		known, _ = fieldsByKey.LoadOrStore(t, fields)
	}
	found, ok = known.(map[string]reflect.StructField)[key]
	return found, ok
}

// KeyOf is the YAML key of a field, or the JSON key of a type that is in records only.
func KeyOf(f reflect.StructField) string {
	name, _, _ := strings.Cut(cmp.Or(f.Tag.Get("yaml"), f.Tag.Get("json")), ",")
	return name
}
