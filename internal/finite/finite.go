// Package finite keeps numbers finite that become JSON, which has no infinite number. Numbers from outside are dropped
// where they come in; what was computed is checked where it is written. It does not round, and knows no unit.
package finite

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"

	"github.com/plimsoll-bench/plimsoll/internal/deep"
)

// Most is the largest number that is taken from outside. The square of it is finite, and so are sums and means of such
// numbers.
const Most = 1e150

// usable reports whether a number from outside can be taken: it is finite and not above [Most].
func usable(x float64) bool { return math.Abs(x) <= Most } // false for NaN

// Take removes the values from outside that cannot be taken, and returns their names in order.
func Take(values map[string]float64) (dropped []string) {
	maps.DeleteFunc(values, func(name string, x float64) bool {
		if usable(x) {
			return false
		}
		dropped = append(dropped, name)
		return true
	})
	slices.Sort(dropped)
	return dropped
}

// Encode writes v as [json.Encoder] does. If v has numbers that JSON has not, it writes a copy without them.
func Encode(e *json.Encoder, v any) error {
	err := e.Encode(v)
	if errors.As(err, new(*json.UnsupportedValueError)) { // nothing was written
		v, _ = Copy(v)
		err = e.Encode(v)
	}
	return err
}

// Marshal is [json.Marshal] by the rules of [Encode].
func Marshal(v any) ([]byte, error) {
	b, err := json.Marshal(v)
	if errors.As(err, new(*json.UnsupportedValueError)) {
		v, _ = Copy(v)
		b, err = json.Marshal(v)
	}
	return b, err
}

// Copy returns a deep copy of v without numbers that are not finite, and their places, such as "series[3].mean". What
// may be absent is absent then; a field that is always there is 0.
func Copy[T any](v T) (out T, dropped []string) {
	out = deep.Copy(v)
	return out, Clean(&out)
}

// Clean is [Copy] in place, for what a pointer leads to.
func Clean(v any) (dropped []string) {
	c := cleaner{}
	c.clean(reflect.ValueOf(v).Elem(), "")
	return c.dropped
}

// mostPlaces bounds what is kept of the places.
const mostPlaces = 1000

type cleaner struct{ dropped []string }

func (c *cleaner) drop(at string) {
	if len(c.dropped) < mostPlaces {
		c.dropped = append(c.dropped, at)
	}
}

// infinite reports whether a value is a number that JSON has not, or a pointer to one.
func infinite(v reflect.Value) bool {
	for v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface {
		if v.IsNil() {
			return false
		}
		v = v.Elem()
	}
	return v.CanFloat() && (math.IsNaN(v.Float()) || math.IsInf(v.Float(), 0))
}

func (c *cleaner) clean(v reflect.Value, at string) {
	if infinite(v) {
		if v.CanSet() {
			v.SetZero()
			c.drop(at)
		}
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			c.clean(v.Elem(), at)
		}
	case reflect.Interface:
		if !v.IsNil() && v.CanSet() {
			inner := reflect.New(v.Elem().Type()).Elem() // what an interface holds cannot be set
			inner.Set(v.Elem())
			c.clean(inner, at)
			v.Set(inner)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() {
				c.clean(v.Field(i), join(at, f))
			}
		}
	case reflect.Array:
		for i := range v.Len() {
			c.clean(v.Index(i), at+"["+strconv.Itoa(i)+"]")
		}
	case reflect.Slice:
		c.cleanSlice(v, at)
	case reflect.Map:
		c.cleanMap(v, at)
	}
}

// cleanSlice removes the numbers of a list.
func (c *cleaner) cleanSlice(v reflect.Value, at string) {
	n := 0
	for i := range v.Len() {
		place := at + "[" + strconv.Itoa(i) + "]"
		if infinite(v.Index(i)) {
			c.drop(place)
			continue
		}
		c.clean(v.Index(i), place)
		if n != i {
			v.Index(n).Set(v.Index(i))
		}
		n++
	}
	if n < v.Len() && v.CanSet() {
		v.SetLen(n)
	}
}

func (c *cleaner) cleanMap(v reflect.Value, at string) {
	for _, key := range v.MapKeys() {
		place := at + "." + fmt.Sprint(key)
		value := reflect.New(v.Type().Elem()).Elem()
		value.Set(v.MapIndex(key))
		if infinite(value) {
			c.drop(place)
			v.SetMapIndex(key, reflect.Value{})
			continue
		}
		c.clean(value, place)
		v.SetMapIndex(key, value)
	}
}

// join is the place of a field, by its name in JSON.
func join(at string, f reflect.StructField) string {
	name := f.Tag.Get("json")
	for i := range name {
		if name[i] == ',' {
			name = name[:i]
			break
		}
	}
	if name == "" && f.Anonymous {
		return at
	}
	if name == "" {
		name = f.Name
	}
	if at == "" {
		return name
	}
	return at + "." + name
}
