package finite

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

type inner struct {
	Mean float64  `json:"mean"`
	Low  *float64 `json:"low,omitempty"`
}

type outer struct {
	inner
	List   []inner            `json:"list"`
	Course []float64          `json:"course"`
	Values map[string]float64 `json:"values"`
	Any    any                `json:"any"`
	Plain  float32
	Two    [2]float64
}

func TestCopyHasNoInfiniteNumber(t *testing.T) {
	inf := math.Inf(1)
	v := outer{List: []inner{{1, &inf}, {math.NaN(), nil}}, Course: []float64{1, inf, 3},
		Values: map[string]float64{"a": 1, "b": -inf},
		Any:    map[string]any{"x": []any{inf, 2.0}, "y": inner{Mean: inf}}, Plain: float32(inf), Two: [2]float64{inf, 1}}
	got, dropped := Copy(v)
	want := outer{List: []inner{{1, nil}, {0, nil}}, Course: []float64{1, 3}, Values: map[string]float64{"a": 1},
		Any: map[string]any{"x": []any{2.0}, "y": inner{}}, Two: [2]float64{0, 1}}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(outer{})); diff != "" {
		t.Error(diff)
	}
	if len(dropped) != 8 || dropped[0] != "list[0].low" || dropped[1] != "list[1].mean" || dropped[2] != "course[1]" {
		t.Errorf("dropped %q", dropped)
	}
	if !math.IsInf(*v.List[0].Low, 1) || len(v.Course) != 3 || len(v.Values) != 2 {
		t.Error("the original was changed")
	}
}

// What can be encoded is encoded as it is; other errors stay errors.
func TestEncode(t *testing.T) {
	var b strings.Builder
	e := json.NewEncoder(&b)
	if err := Encode(e, outer{}); err != nil {
		t.Fatal(err)
	}
	if err := Encode(e, []float64{1e308, math.Inf(1)}); err != nil {
		t.Fatal(err)
	}
	if !strings.HasSuffix(b.String(), "\n[1e+308]\n") {
		t.Errorf("wrote %s", b.String())
	}
	if err := Encode(e, make(chan int)); err == nil {
		t.Error("a channel was encoded")
	}
}

func TestTake(t *testing.T) {
	values := map[string]float64{"a": 1, "b": math.NaN(), "c": 1e308, "d": math.Inf(-1), "e": -1e150, "f": 0}
	if dropped := Take(values); !cmp.Equal(dropped, []string{"b", "c", "d"}) || len(values) != 3 {
		t.Errorf("dropped %q, left %v", dropped, values)
	}
	sum, squares := 0.0, 0.0
	for range 1_000_000 {
		sum += Most
		squares += Most * Most / 1e6
	}
	if math.IsInf(sum, 0) || math.IsInf(squares, 0) {
		t.Error("sums of the largest numbers are infinite")
	}
}
