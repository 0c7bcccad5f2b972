package deep

import (
	"reflect"
	"testing"
)

type inner struct {
	Map  map[string]any
	List []*int
}

type outer struct {
	inner
	Inner *inner
	Any   any
	None  map[string]int
}

func TestCopySharesNothing(t *testing.T) {
	one := 1
	made := func() outer {
		x := inner{Map: map[string]any{"a": []any{1, map[string]any{"b": "c"}}}, List: []*int{&one, nil}}
		return outer{inner: x, Inner: &inner{Map: map[string]any{"d": 2.5}, List: []*int{}}, Any: []string{"e"}}
	}
	from := made()
	got := Copy(from)
	if !reflect.DeepEqual(got, from) {
		t.Fatalf("Copy(%+v) = %+v", from, got)
	}
	got.Inner.Map["d"] = 3
	got.Inner.List = append(got.Inner.List, nil)
	got.Any.([]string)[0] = "f"
	if want := made(); !reflect.DeepEqual(from, want) {
		t.Errorf("a change of the copy changed the original: %+v, want %+v", from, want)
	}
}

func TestCopyOfMapsInMaps(t *testing.T) {
	from := map[string]any{"a": []any{map[string]any{"b": 1}}}
	got := Copy(from)
	got["a"].([]any)[0].(map[string]any)["b"] = 2
	if from["a"].([]any)[0].(map[string]any)["b"] != 1 {
		t.Errorf("a change of the copy changed the original: %+v", from)
	}
}
