package study

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/plimsoll-bench/plimsoll/internal/deep"
	"github.com/plimsoll-bench/plimsoll/internal/nearest"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// Apply returns a copy of base with the keys of set changed. A key is the path of a field of the run specification,
// such as load.workers, or of a parameter or label, such as workload.params.fieldlength. A value has the form of a
// specification file or of JSON; nil unsets the key. The error for an unknown path names the nearest one. Defaults are
// not filled in.
func Apply(base spec.Run, set map[string]any) (spec.Run, error) {
	changes, err := newChanges(set)
	if err != nil {
		return spec.Run{}, err
	}
	for _, c := range changes {
		if c.field.lab {
			return spec.Run{}, fmt.Errorf("path %q belongs to a lab, not to a run", c.field.path)
		}
	}
	return settings{Run: base}.with(changes).Run, nil
}

// settings is what the levels of a study change: the run, and the lab that the study brings up.
type settings struct {
	Run spec.Run
	Lab spec.Lab
}

// with returns a copy with changes.
func (w settings) with(changes []change) settings {
	w = deep.Copy(w)
	for _, c := range changes {
		c.field.set(&w, c.value)
	}
	return w
}

// complete fills in what neither base nor levels say, and checks the result.
func (w *settings) complete(lab bool) error {
	err := w.Run.Complete()
	if !lab {
		return err
	}
	errs := []error{err}
	if err := w.Lab.Complete(); err != nil {
		for line := range strings.SplitSeq(err.Error(), "\n") {
			errs = append(errs, errors.New(labPrefix+line))
		}
	}
	return errors.Join(errs...)
}

// field is the field at a path.
type field struct {
	path  string
	lab   bool         // of the lab, not of the run
	index []int        // of the field, from the root type
	key   string       // if the field is a map
	typ   reflect.Type // of the value
}

func (f field) of() string {
	if f.lab {
		return "lab"
	}
	return "run"
}

// labPrefix begins the paths of the lab.
const labPrefix = "lab."

// root returns the root of a path, and the rest of the path.
func root(path string) (field, string) {
	if path == "lab" || strings.HasPrefix(path, labPrefix) {
		return field{path: path, lab: true, typ: reflect.TypeFor[spec.Lab]()}, strings.TrimPrefix(path[len("lab"):], ".")
	}
	return field{path: path, typ: reflect.TypeFor[spec.Run]()}, path
}

// find follows a path through the specification of a run or, after "lab.", of a lab.
func find(path string) (field, error) {
	f, rest := root(path)
	for rest != "" {
		if f.typ.Kind() == reflect.Map {
			f.key, f.typ = rest, f.typ.Elem()
			return f, decidedByStudy(path)
		}
		var name string
		name, rest, _ = strings.Cut(rest, ".")
		sub, ok := fieldNamed(structOf(f.typ), name)
		if !ok {
			return field{}, unknownPath(path)
		}
		f.index, f.typ = append(f.index, sub.Index...), sub.Type
	}
	switch f.typ.Kind() {
	case reflect.Struct:
		return field{}, fmt.Errorf("path %q has keys below it. Name one of them: %s", path,
			strings.Join(below(f.typ, strings.TrimSuffix(path, ".")), ", "))
	case reflect.Map:
		return field{}, fmt.Errorf("path %q has names below it. Write %s.NAME", path, path)
	}
	return f, decidedByStudy(path)
}

// structOf dereferences the pointer of an optional part of a lab.
func structOf(t reflect.Type) reflect.Type {
	if t.Kind() == reflect.Pointer {
		return t.Elem()
	}
	return t
}

// decidedByStudy rejects paths that levels cannot set.
func decidedByStudy(path string) error {
	switch path {
	case "out":
		return fmt.Errorf("path %q: the study sets the directories of its trials", path)
	case "load_phase.only":
		return fmt.Errorf("path %q: a trial that ends after loading measures nothing", path)
	case "lab.name":
		return fmt.Errorf("path %q: the lab of a study has one name", path)
	}
	if strings.HasPrefix(path, "observe.") {
		return fmt.Errorf("path %q: all trials are observed in the same way", path)
	}
	if strings.HasPrefix(path, "lab.labels") {
		return fmt.Errorf("path %q: labels have no effect", path)
	}
	return nil
}

func fieldNamed(t reflect.Type, name string) (reflect.StructField, bool) {
	if t.Kind() != reflect.Struct || name == "" {
		return reflect.StructField{}, false
	}
	for i := range t.NumField() {
		if f := t.Field(i); spec.KeyOf(f) == name {
			return f, true
		}
	}
	return reflect.StructField{}, false
}

// below lists the paths that can be set below a type.
func below(t reflect.Type, path string) []string {
	var paths []string
	for i := range t.NumField() {
		f := t.Field(i)
		name := strings.TrimPrefix(path+"."+spec.KeyOf(f), ".")
		switch inner := structOf(f.Type); {
		case inner.Kind() == reflect.Struct:
			paths = append(paths, below(inner, name)...)
		case f.Type.Kind() == reflect.Map && decidedByStudy(name+".NAME") != nil:
		case f.Type.Kind() == reflect.Map:
			paths = append(paths, name+".NAME")
		case decidedByStudy(name) == nil:
			paths = append(paths, name)
		}
	}
	return paths
}

// otherWords are the names of keys in other tools and in the write concern.
var otherWords = map[string]string{
	"threads": "load.workers", "threadcount": "load.workers", "recordcount": "workload.records",
	"operationcount": "load.operations", "j": "durability.journal", "readconcern": "durability.read_concern",
	"nodes": "lab.topology.members", "replicas": "lab.topology.members", "ftt": "lab.storage.tolerate",
	"raid":         "lab.storage.redundancy",
	"stripe_width": "lab.storage.stripe", "wiredtigercachesizegb": "lab.engine.cache",
}

func unknownPath(path string) error {
	runs, labs := below(reflect.TypeFor[spec.Run](), ""), below(reflect.TypeFor[spec.Lab](), "lab")
	what, own, other := "run", runs, labs
	if strings.HasPrefix(path, labPrefix) {
		what, own, other = "lab", labs, runs
	}
	last := path[strings.LastIndexByte(path, '.')+1:]
	hint := otherWords[strings.ToLower(last)]
	for _, p := range slices.Concat(own, other) {
		if hint == "" && strings.HasSuffix(p, "."+last) {
			hint = p
		}
	}
	if hint == "" {
		hint = nearest.Word(path, own)
	}
	if hint != "" {
		return fmt.Errorf("path %q: the %s has no such key, did you mean %s?", path, what, hint)
	}
	return fmt.Errorf("path %q: the %s has no such key (known: %s)", path, what, strings.Join(own, ", "))
}

// at returns the field. Optional parts that are absent are made if make is true, otherwise the result is not valid.
func (f field) at(w *settings, make bool) reflect.Value {
	v := reflect.ValueOf(&w.Run).Elem()
	if f.lab {
		v = reflect.ValueOf(&w.Lab).Elem()
	}
	for _, i := range f.index {
		if v.Kind() == reflect.Pointer {
			if v.IsNil() && !make {
				return reflect.Value{}
			}
			if v.IsNil() {
				v.Set(reflect.New(v.Type().Elem()))
			}
			v = v.Elem()
		}
		v = v.Field(i)
	}
	return v
}

// set sets a parsed value in settings that share no maps or pointers.
func (f field) set(w *settings, v reflect.Value) {
	at := f.at(w, true)
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
func (f field) get(w *settings) (reflect.Value, bool) {
	at := f.at(w, false)
	if !at.IsValid() {
		return reflect.Zero(f.typ), false
	}
	if f.key == "" {
		return at, !at.IsZero()
	}
	v := at.MapIndex(reflect.ValueOf(f.key))
	if !v.IsValid() {
		return reflect.Zero(f.typ), false
	}
	return v, true
}

// convert makes a value of type t from one of YAML or JSON.
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
		return reflect.Value{}, fmt.Errorf("%q is not a list", fmt.Sprint(value))
	case reflect.Struct:
		return reflect.Value{}, fmt.Errorf("keys are needed here (%s), not %q", strings.Join(spec.KeysOf(t), ", "),
			fmt.Sprint(value))
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
			return out, fmt.Errorf("unknown key %q%s (known: %s)", key, nearest.DidYouMean(key, spec.KeysOf(t)),
				strings.Join(spec.KeysOf(t), ", "))
		}
		v, err := convert(f.Type, m[key])
		if err != nil {
			return out, fmt.Errorf("%s: %w", key, err)
		}
		out.FieldByIndex(f.Index).Set(v)
	}
	return out, nil
}

// convertScalar reads a single value. Types with their own form (times, counts, rates) read it themselves.
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
	case reflect.Float64:
		x, err := strconv.ParseFloat(text, 64)
		if err != nil || math.IsNaN(x) || math.IsInf(x, 0) {
			return v, fmt.Errorf("%q is not a number", text)
		}
		v.SetFloat(x)
	default:
		return v, fmt.Errorf("a level cannot set a %s", t)
	}
	return v, nil
}

// scalarText formats a value as in a file. Numbers have no exponent, because not every unit accepts one.
func scalarText(value any) string {
	if x, ok := value.(float64); ok {
		return strconv.FormatFloat(x, 'f', -1, 64)
	}
	return fmt.Sprint(value)
}

// plain returns a parsed value in the form of records: as in JSON, with whole numbers as int. Those that JSON cannot
// hold become text.
func plain(v reflect.Value) any {
	if v.Kind() == reflect.Uint64 && v.Uint() > 1<<53 {
		return strconv.FormatUint(v.Uint(), 10)
	}
	b, err := json.Marshal(v.Interface())
	if err != nil { // cannot happen; a test of package record checks it
		return fmt.Sprint(v.Interface())
	}
	var out any
	if err := json.Unmarshal(b, &out); err != nil {
		return string(b)
	}
	return spec.Plain(out)
}
