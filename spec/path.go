package spec

import (
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/plimsoll-bench/plimsoll/internal/nearest"
)

// Path is the place of a key in a specification. Factors of a study and flags of commands set keys by their paths.
type Path struct {
	Name  string       // keys with dots between them: load.workers
	Type  reflect.Type // of the value
	index []int        // of the field, from the type of the specification
	key   string       // if the field is a map
	tag   string       // for the schema
}

// Enum lists the words that the key may have, if only some are known.
func (p Path) Enum() (words []string) {
	for part := range strings.SplitSeq(p.tag, ",") {
		if word, ok := strings.CutPrefix(part, "enum="); ok {
			words = append(words, word)
		}
	}
	return words
}

// PathIn follows a path through a type of specification. ok is false if there is no such key. What follows the path of
// a map is a name in it.
func PathIn(t reflect.Type, name string) (p Path, ok bool) {
	p = Path{Name: name, Type: t}
	for rest := name; rest != ""; {
		if p.Type.Kind() == reflect.Map {
			p.key, p.Type = rest, p.Type.Elem()
			return p, true
		}
		var key string
		key, rest, _ = strings.Cut(rest, ".")
		f, ok := fieldOf(StructOf(p.Type), key)
		if !ok {
			return p, false
		}
		p.index, p.Type, p.tag = append(p.index, f.Index...), f.Type, f.Tag.Get("jsonschema")
	}
	return p, true
}

// StructOf is the type behind the pointer of an optional part.
func StructOf(t reflect.Type) reflect.Type {
	if t.Kind() == reflect.Pointer {
		return t.Elem()
	}
	return t
}

// At returns the field of a specification, to which the first argument is a pointer. Optional parts that are absent are
// made if make is true, otherwise the result is not valid.
func (p Path) At(specification any, make bool) reflect.Value {
	v := reflect.ValueOf(specification).Elem()
	for _, i := range p.index {
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

// Set sets a value of [Convert]. The specification shares no maps or pointers with another one.
func (p Path) Set(specification any, v reflect.Value) {
	at := p.At(specification, true)
	if p.key == "" {
		at.Set(v)
		return
	}
	if at.IsNil() {
		at.Set(reflect.MakeMap(at.Type()))
	}
	at.SetMapIndex(reflect.ValueOf(p.key), v)
}

// Get returns the value, and whether it was given.
func (p Path) Get(specification any) (reflect.Value, bool) {
	at := p.At(specification, false)
	if !at.IsValid() {
		return reflect.Zero(p.Type), false
	}
	if p.key == "" {
		return at, !at.IsZero()
	}
	v := at.MapIndex(reflect.ValueOf(p.key))
	if !v.IsValid() {
		return reflect.Zero(p.Type), false
	}
	return v, true
}

// Convert makes a value of type t from one of YAML, of JSON, or a text as in a file; nil is the zero value. Its error
// says what is needed instead.
func Convert(t reflect.Type, value any) (reflect.Value, error) {
	if value == nil {
		return reflect.Zero(t), nil
	}
	if t.Kind() == reflect.Pointer {
		v, err := Convert(t.Elem(), value)
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
		return reflect.Value{}, fmt.Errorf("keys are needed here (%s), not %q", strings.Join(KeysOf(t), ", "),
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
		v, err := Convert(t.Elem(), item)
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
		f, ok := fieldOf(t, key)
		if !ok {
			return out, fmt.Errorf("unknown key %q%s (known: %s)", key, nearest.DidYouMean(key, KeysOf(t)),
				strings.Join(KeysOf(t), ", "))
		}
		v, err := Convert(f.Type, m[key])
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
	case reflect.Int, reflect.Int64:
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return v, fmt.Errorf("%q is not a whole number", text)
		}
		v.SetInt(n)
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
