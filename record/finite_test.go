package record

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll-bench/plimsoll/spec"
)

// Every kind of record is written whatever its numbers are, and says which of them are missing.
func TestRecordsSurviveInfiniteNumbers(t *testing.T) {
	for _, x := range []float64{math.Inf(1), math.Inf(-1), math.NaN()} {
		for _, r := range []any{&Run{}, &Study{}, &Drill{}, &Probe{}, &Suite{}, &ComparisonReport{}, &HistoryReport{},
			&Backtest{}, &Gate{}, &Lab{}, &Failures{}, &SizeScaling{}, &SizeAnswer{}, &Sample{}} {
			t.Run(fmt.Sprintf("%T %v", r, x), func(t *testing.T) {
				n := fill(reflect.ValueOf(r).Elem(), x, 0)
				if n == 0 {
					t.Fatal("no number was found: correct this test")
				}
				var red redactor
				out, dropped := written(&red, r)
				if _, err := json.Marshal(out); err != nil {
					t.Errorf("the record cannot be written: %v", err)
				}
				if len(dropped) == 0 {
					t.Error("nothing was noted")
				}
				if _, err := marshal(r); err != nil {
					t.Errorf("a file of the record cannot be written: %v", err)
				}
			})
		}
	}
}

// fill sets every number of a value, makes what is nil, and returns how many numbers it set.
func fill(v reflect.Value, x float64, depth int) (n int) {
	if depth > 12 || v.Type() == reflect.TypeFor[time.Time]() {
		return 0
	}
	switch v.Kind() {
	case reflect.Float32, reflect.Float64:
		v.SetFloat(x)
		return 1
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		return fill(v.Elem(), x, depth+1)
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				n += fill(v.Field(i), x, depth+1)
			}
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return 0
		}
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		for i := range 2 {
			n += fill(v.Index(i), x, depth+1)
		}
	case reflect.Map:
		value := reflect.New(v.Type().Elem()).Elem()
		n = fill(value, x, depth+1)
		v.Set(reflect.MakeMap(v.Type()))
		if v.Type().Key().Kind() == reflect.String {
			v.SetMapIndex(reflect.ValueOf("a").Convert(v.Type().Key()), value)
		}
	}
	return n
}

// One number from a server, a CSV file or Prometheus must not end the record of a run.
func TestSamplesThatAreTooLarge(t *testing.T) {
	dir := t.TempDir()
	w, err := CreateRun(dir, Tool{}, spec.Run{})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Begin(testDims(), testStart); err != nil {
		t.Fatal(err)
	}
	intervals := testIntervals(t, 1)
	for i, iv := range intervals {
		if err := w.Samples([]Sample{{At: int64(iv.End) - 5e8, Source: "server:db1", Values: map[string]float64{
			"connections": 1e308, "queue": math.Inf(1), "requests": float64(i)}}}); err != nil {
			t.Fatal(err)
		}
		if err := w.Interval(iv); err != nil {
			t.Fatal(err)
		}
	}
	r, err := w.Finish(Ending{Status: Complete, Ended: testStart.Add(time.Minute)})
	if err != nil {
		t.Fatal(err)
	}
	again, err := OpenRun(dir)
	if err != nil {
		t.Fatal(err)
	}
	notes := strings.Join(again.Target.Notes, "\n")
	for _, name := range []string{"connections", "queue"} {
		want := fmt.Sprintf("%s of server:db1: %d values", name, len(intervals))
		if !strings.Contains(notes, want) {
			t.Errorf("the record does not say %q:\n%s", want, notes)
		}
	}
	if len(r.Series) != 1 || r.Series[0].Name != "requests" {
		t.Errorf("series %v, want the honest one", r.Series)
	}
}
