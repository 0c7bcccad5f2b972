package report

import (
	"testing"

	"github.com/plimsoll-bench/plimsoll/record"
)

// Each kind of record has a row, and no result is held by two rows.
func TestEachKindOfRecordHasARow(t *testing.T) {
	for _, file := range record.MainFiles() {
		r, err := record.Decode(file, []byte(`{}`))
		if err != nil {
			t.Fatal(err)
		}
		k := named(r.Common().Kind)
		if k.holds == nil {
			t.Errorf("records of the kind %s cannot be printed: add a row to kinds", r.Common().Kind)
			continue
		}
		ready := Ready(t.TempDir(), r)
		n := 0
		for _, other := range kinds() {
			if other.holds(ready) {
				n++
			}
		}
		if n != 1 {
			t.Errorf("%d rows hold a %s", n, r.Common().Kind)
		}
		if what, formats := Formats(ready); what == "" || len(formats) < 3 {
			t.Errorf("%s: %q %v", file, what, formats)
		}
		if e, _ := EntryOf(r); e.Kind != k.name {
			t.Errorf("the entry of a %s is %+v", k.name, e)
		}
	}
}

func TestKindText(t *testing.T) {
	for _, x := range []struct {
		n          int
		kind, want string
	}{{1, "study", "1 study"}, {2, "study", "2 studies"}, {0, "run", "0 runs"}, {1200, "run", "1,200 runs"}} {
		if got := KindText(x.n, x.kind); got != x.want {
			t.Errorf("%d of %s: %q, want %q", x.n, x.kind, got, x.want)
		}
	}
}
