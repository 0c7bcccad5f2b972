package report

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/internal/wording"
	"github.com/plimsoll-bench/plimsoll/report/chart"
)

// Bounds of what a page takes from a record.
const (
	maxText = 600  // characters of a text
	maxKeys = 300  // entries of a mapping
	maxList = 5000 // entries of a list
)

// Tidy bounds all texts of a record in place, takes characters out of them that are no visible text, and rewrites
// errors of Go for people. A name of a megabyte becomes its beginning and its length. v points to the record.
func Tidy(v any) { tidy(reflect.ValueOf(v)) }

func tidy(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		tidy(v.Elem())
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Field(i); f.CanSet() {
				tidy(f)
			}
		}
	case reflect.String:
		v.SetString(bounded(v.String()))
	case reflect.Slice:
		if v.Len() > maxList && v.CanSet() {
			v.Set(v.Slice(0, maxList))
		}
		for i := range v.Len() {
			tidy(v.Index(i))
		}
	case reflect.Map:
		tidyMap(v)
	case reflect.Interface:
		if v.IsNil() || !v.CanSet() {
			return
		}
		inner := reflect.New(v.Elem().Type()).Elem()
		inner.Set(v.Elem())
		tidy(inner)
		v.Set(inner)
	}
}

func tidyMap(m reflect.Value) {
	keys := m.MapKeys()
	slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
	for i, key := range keys {
		value := reflect.New(m.Type().Elem()).Elem()
		value.Set(m.MapIndex(key))
		tidy(value)
		name := reflect.New(key.Type()).Elem()
		name.Set(key)
		tidy(name)
		m.SetMapIndex(key, reflect.Value{})
		if i < maxKeys {
			m.SetMapIndex(name, value)
		}
	}
}

// bounded leaves a text alone that it has bounded before.
func bounded(s string) string {
	if len(s) > maxText && utf8.RuneCountInString(s) > maxText {
		const room = len("… (9,999 KiB in all)")
		s = string([]rune(s)[:maxText-room]) + fmt.Sprintf("… (%s in all)", figure.Bytes(int64(len(s))))
	}
	return chart.Plain(wording.Of(s))
}
