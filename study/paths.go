package study

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/plimsoll-bench/plimsoll/internal/nearest"
	"github.com/plimsoll-bench/plimsoll/record"
)

// Apply returns base with the keys of set changed. A key is the path of a field of the run specification, such as
// load.workers, or of a parameter or label, such as workload.params.fieldlength; a value has the form that it has in
// a specification file, or that of JSON; nil unsets the key. An unknown path is an error that names the nearest one,
// a value that the key cannot take one that says why. base is left as it is. Defaults are not filled in.
func Apply(base record.RunSpec, set map[string]any) (record.RunSpec, error) {
	spec := copySpec(base)
	for _, path := range slices.Sorted(maps.Keys(set)) {
		f, err := find(path)
		if err != nil {
			return record.RunSpec{}, err
		}
		v, err := f.parse(set[path])
		if err != nil {
			return record.RunSpec{}, err
		}
		f.set(&spec, v)
	}
	return spec, nil
}

// copySpec copies what [field.set] changes in place.
func copySpec(s record.RunSpec) record.RunSpec {
	s.Workload.Params = maps.Clone(s.Workload.Params)
	s.Labels = maps.Clone(s.Labels)
	return s
}

// field is what a path leads to.
type field struct {
	path  string
	index []int        // of the field, from the root type
	key   string       // in the map that the field is, if it is one
	typ   reflect.Type // of the value
}

// find follows a path through the run specification.
func find(path string) (field, error) {
	if path == "lab" || strings.HasPrefix(path, "lab.") {
		return field{}, fmt.Errorf("path %q: this version has no labs yet; vary keys of the run", path)
	}
	f := field{path: path, typ: reflect.TypeFor[record.RunSpec]()}
	rest := path
	for rest != "" {
		if f.typ.Kind() == reflect.Map {
			f.key, f.typ = rest, f.typ.Elem()
			return f, nil
		}
		var name string
		name, rest, _ = strings.Cut(rest, ".")
		sub, ok := fieldNamed(f.typ, name)
		if !ok {
			return field{}, unknownPath(path)
		}
		f.index, f.typ = append(f.index, sub.Index...), sub.Type
	}
	switch f.typ.Kind() {
	case reflect.Struct:
		return field{}, fmt.Errorf("path %q: it has keys below it, name one of them: %s", path, strings.Join(below(f.typ, strings.TrimSuffix(path, ".")), ", "))
	case reflect.Map:
		return field{}, fmt.Errorf("path %q: it has names below it, write %s.NAME", path, path)
	}
	return f, decidedByStudy(path)
}

// decidedByStudy refuses what the levels of a study cannot be.
func decidedByStudy(path string) error {
	switch path {
	case "out":
		return fmt.Errorf("path %q: the study says where the records of its trials go", path)
	case "load_phase.only":
		return fmt.Errorf("path %q: a trial that ends after loading measures nothing", path)
	}
	return nil
}

func fieldNamed(t reflect.Type, name string) (reflect.StructField, bool) {
	if t.Kind() != reflect.Struct || name == "" {
		return reflect.StructField{}, false
	}
	for i := range t.NumField() {
		if f := t.Field(i); keyOf(f) == name {
			return f, true
		}
	}
	return reflect.StructField{}, false
}

func keyOf(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("yaml"), ",")
	return name
}

// below lists the paths of what can be set below a type.
func below(t reflect.Type, path string) []string {
	var paths []string
	for i := range t.NumField() {
		f := t.Field(i)
		name := strings.TrimPrefix(path+"."+keyOf(f), ".")
		switch {
		case f.Type.Kind() == reflect.Struct:
			paths = append(paths, below(f.Type, name)...)
		case f.Type.Kind() == reflect.Map:
			paths = append(paths, name+".NAME")
		case decidedByStudy(name) == nil:
			paths = append(paths, name)
		}
	}
	return paths
}

// otherWords are what other tools and the write concern call the keys of a run.
var otherWords = map[string]string{
	"threads": "load.workers", "threadcount": "load.workers", "recordcount": "workload.records",
	"operationcount": "load.operations", "j": "durability.journal", "readconcern": "durability.read_concern",
}

func unknownPath(path string) error {
	all := below(reflect.TypeFor[record.RunSpec](), "")
	last := path[strings.LastIndexByte(path, '.')+1:]
	hint := otherWords[strings.ToLower(last)]
	for _, p := range all {
		if hint == "" && strings.HasSuffix(p, "."+last) {
			hint = p
		}
	}
	if hint == "" {
		hint = nearest.Word(path, all)
	}
	if hint != "" {
		return fmt.Errorf("path %q: the run has no such key, did you mean %s?", path, hint)
	}
	return fmt.Errorf("path %q: the run has no such key (known: %s)", path, strings.Join(all, ", "))
}

// parse turns a value into the type of the field.
func (f field) parse(value any) (reflect.Value, error) {
	v, err := convert(f.typ, value)
	if err != nil {
		return v, fmt.Errorf("%s: %w", f.path, err)
	}
	return v, nil
}

// set puts a parsed value into a specification whose maps are its own.
func (f field) set(spec *record.RunSpec, v reflect.Value) {
	at := reflect.ValueOf(spec).Elem().FieldByIndex(f.index)
	if f.key == "" {
		at.Set(v)
		return
	}
	if at.IsNil() {
		at.Set(reflect.MakeMap(at.Type()))
	}
	at.SetMapIndex(reflect.ValueOf(f.key), v)
}

// get returns the value at the field, and whether it was given.
func (f field) get(spec *record.RunSpec) (reflect.Value, bool) {
	at := reflect.ValueOf(spec).Elem().FieldByIndex(f.index)
	if f.key == "" {
		return at, !at.IsZero()
	}
	v := at.MapIndex(reflect.ValueOf(f.key))
	if !v.IsValid() {
		return reflect.Zero(f.typ), false
	}
	return v, true
}

// convert makes a value of type t of one that was read from YAML or JSON.
func convert(t reflect.Type, value any) (reflect.Value, error) {
	if value == nil {
		return reflect.Zero(t), nil
	}
	if t.Kind() == reflect.Pointer {
		v, err := convert(t.Elem(), value)
		if err != nil {
			return v, err
		}
		p := reflect.New(t.Elem())
		p.Elem().Set(v)
		return p, nil
	}
	switch x := value.(type) {
	case []any:
		return convertList(t, x)
	case map[string]any:
		return convertMapping(t, x)
	}
	switch t.Kind() {
	case reflect.Slice:
		return reflect.Value{}, fmt.Errorf("a list is needed, not %q", fmt.Sprint(value))
	case reflect.Struct:
		return reflect.Value{}, fmt.Errorf("keys are needed here (%s), not %q", strings.Join(keysOf(t), ", "), fmt.Sprint(value))
	}
	return convertScalar(t, value)
}

func convertList(t reflect.Type, list []any) (reflect.Value, error) {
	if t.Kind() != reflect.Slice {
		return reflect.Value{}, fmt.Errorf("a single value is needed, not a list")
	}
	out := reflect.MakeSlice(t, 0, len(list))
	for i, item := range list {
		v, err := convert(t.Elem(), item)
		if err != nil {
			return v, fmt.Errorf("entry %d: %w", i+1, err)
		}
		out = reflect.Append(out, v)
	}
	return out, nil
}

func convertMapping(t reflect.Type, m map[string]any) (reflect.Value, error) {
	if t.Kind() != reflect.Struct {
		return reflect.Value{}, fmt.Errorf("a single value is needed, not a mapping")
	}
	out := reflect.New(t).Elem()
	for _, key := range slices.Sorted(maps.Keys(m)) {
		f, ok := fieldNamed(t, key)
		if !ok {
			return out, fmt.Errorf("unknown key %q%s (known: %s)", key, nearest.DidYouMean(key, keysOf(t)), strings.Join(keysOf(t), ", "))
		}
		v, err := convert(f.Type, m[key])
		if err != nil {
			return out, fmt.Errorf("%s: %w", key, err)
		}
		out.FieldByIndex(f.Index).Set(v)
	}
	return out, nil
}

func keysOf(t reflect.Type) []string {
	var keys []string
	for i := range t.NumField() {
		keys = append(keys, keyOf(t.Field(i)))
	}
	return keys
}

// convertScalar reads a single value; types with a form of their own (times, counts, rates) read it themselves.
func convertScalar(t reflect.Type, value any) (reflect.Value, error) {
	text := scalarText(value)
	p := reflect.New(t)
	v := p.Elem()
	if own, ok := p.Interface().(yaml.Unmarshaler); ok {
		err := own.UnmarshalYAML(&yaml.Node{Kind: yaml.ScalarNode, Value: text})
		if err != nil {
			err = fmt.Errorf("%s", strings.TrimPrefix(err.Error(), "line 0: "))
		}
		return v, err
	}
	switch t.Kind() {
	case reflect.String:
		v.SetString(text)
	case reflect.Bool:
		if text != "true" && text != "false" {
			return v, fmt.Errorf("%q is neither true nor false", text)
		}
		v.SetBool(text == "true")
	case reflect.Uint64:
		n, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			return v, fmt.Errorf("%q is not a whole number from 0", text)
		}
		v.SetUint(n)
	default:
		return v, fmt.Errorf("a level cannot set a %s", t)
	}
	return v, nil
}

// scalarText writes a value as it stands in a file. Numbers have no exponent, because not every unit reads one.
func scalarText(value any) string {
	if x, ok := value.(float64); ok {
		return strconv.FormatFloat(x, 'f', -1, 64)
	}
	return fmt.Sprint(value)
}

// plain returns a parsed value in the form in which records keep it: as JSON has it, with whole numbers as int.
// Those that JSON cannot hold become text.
func plain(v reflect.Value) any {
	if v.Kind() == reflect.Uint64 && v.Uint() > 1<<53 {
		return strconv.FormatUint(v.Uint(), 10)
	}
	b, err := json.Marshal(v.Interface())
	if err != nil { // what a specification holds can be written: a test of package record sees to it
		return fmt.Sprint(v.Interface())
	}
	var out any
	if err := json.Unmarshal(b, &out); err != nil {
		return string(b)
	}
	return record.Plain(out)
}
