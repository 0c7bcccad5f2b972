// Package deep copies values with all that they refer to: maps, slices and pointers. It uses reflection, so it is for
// specifications and records and not for operations.
package deep

import "reflect"

// Copy returns a copy of v that shares no map, slice or pointer with it, except in unexported fields.
func Copy[T any](v T) T {
	own(reflect.ValueOf(&v).Elem())
	return v
}

// own replaces the maps, slices and pointers of a variable by copies.
func own(v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Field(i); f.CanSet() {
				own(f)
			}
		}
	case reflect.Pointer:
		if !v.IsNil() {
			v.Set(owned(v.Elem()).Addr())
		}
	case reflect.Interface:
		if !v.IsNil() {
			v.Set(owned(v.Elem()))
		}
	case reflect.Slice:
		if !v.IsNil() {
			list := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
			for i := range v.Len() {
				list.Index(i).Set(owned(v.Index(i)))
			}
			v.Set(list)
		}
	case reflect.Map:
		if !v.IsNil() {
			m := reflect.MakeMap(v.Type())
			for key, x := range v.Seq2() {
				m.SetMapIndex(key, owned(x))
			}
			v.Set(m)
		}
	}
}

// owned returns a variable with a copy of v.
func owned(v reflect.Value) reflect.Value {
	out := reflect.New(v.Type()).Elem()
	out.Set(v)
	own(out)
	return out
}
