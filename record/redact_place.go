package record

import (
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/plimsoll-bench/plimsoll/internal/redact"
)

// place is the place of a value in a record.
type place struct {
	in   reflect.Type // the structure, nil for none
	name string       // in JSON: of the field, or the key of a free mapping
	kept bool         // the value is chosen by programs, or they rely on it
}

// keptFields are the texts, by their names in JSON, that are words of our own or that tell what belongs together.
// A password may be any word, "run" or "trial", so known ones are not looked for there. Addresses still are.
var keptFields = []string{
	"schema_version", "kind", "status", "event", "record", "procedure", "path", "directory", "out", "database", "place",
	"trial", "trials", "metric", "metrics", "unit", "phase", "objective", "objectives", "host", "cpu",
	"source", "class", "outcome", "ended_by", "Class.name", "ClassResult.name", "Outcome.name", "Series.name", "File.name",
	"Target.level", "Target.topology", "Target.set_name", "Target.version", "Part.name", "PartPlan.name", "Finding.id", "Workload.name", "Workload.mode", "Tool.name", "Tool.version", "Tool.commit", "Tool.go",
}

// placeOf returns the place of a field.
func placeOf(in reflect.Type, f reflect.StructField) place {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	kept := slices.Contains(keptFields, name) || slices.Contains(keptFields, in.Name()+"."+name) ||
		strings.Contains(f.Tag.Get("jsonschema"), "enum=")
	return place{in, name, kept}
}

// clean removes credentials from all texts of a value, in place. It depends on the types: names of fields, times,
// numbers and our own words are never changed, whatever the password is, because a study is resumed from its record.
func (r *redactor) clean(v reflect.Value, at place) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			r.clean(v.Elem(), at)
		}
	case reflect.Interface:
		if !v.IsNil() {
			inner := reflect.New(v.Elem().Type()).Elem() // what an interface holds cannot be set
			inner.Set(v.Elem())
			r.clean(inner, at)
			v.Set(inner)
		}
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[Environment]() {
			return // read from the machine
		}
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() {
				r.clean(v.Field(i), placeOf(v.Type(), f))
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			r.clean(v.Index(i), at)
		}
	case reflect.Map:
		r.cleanMap(v, at)
	case reflect.String:
		if v.Type() == reflect.TypeFor[string]() { // types of their own are lists of words
			v.SetString(r.textAt(v.String(), at))
		}
	}
}

func (r *redactor) textAt(text string, at place) string {
	switch {
	case at.kept:
		return redact.Addresses(text)
	case redact.SecretName(at.name) && text != "":
		return hidden
	}
	return r.text(text)
}

// cleanMap cleans a mapping whose keys somebody chose. Those of numbers are names of metrics and stay.
func (r *redactor) cleanMap(v reflect.Value, at place) {
	if v.IsNil() {
		return
	}
	names := map[string]reflect.Value{}
	for it := v.MapRange(); it.Next(); {
		value := reflect.New(v.Type().Elem()).Elem()
		value.Set(it.Value())
		r.clean(value, place{name: it.Key().String()})
		names[it.Key().String()] = value
	}
	v.Clear()
	for _, name := range slices.Sorted(maps.Keys(names)) {
		key := name
		if k := v.Type().Elem().Kind(); k == reflect.String || k == reflect.Interface {
			key = r.key(name, at)
		}
		// a key may be a word of its own type
		as := func(key string) reflect.Value { return reflect.ValueOf(key).Convert(v.Type().Key()) }
		for v.MapIndex(as(key)).IsValid() {
			key += "'" // nothing is lost because two names became the same
		}
		v.SetMapIndex(as(key), names[name])
	}
}

// freePaths are the paths of a run specification that end in a name which somebody chose.
var freePaths = []string{"workload.params.", "labels."}

// key cleans a key of a free mapping. Those of set are paths.
func (r *redactor) key(name string, at place) string {
	if at.name != "set" {
		return r.text(name)
	}
	for _, prefix := range freePaths {
		if rest, ok := strings.CutPrefix(name, prefix); ok {
			return prefix + r.text(rest)
		}
	}
	return redact.Addresses(name)
}
