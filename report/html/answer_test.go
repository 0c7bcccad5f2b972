package html

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/report/recordtest"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// What is there to be pasted is whole, or not there: a long value that was cut would do something else.
func TestReproduceIsExact(t *testing.T) {
	long := "size-" + strings.Repeat("x", 3000)
	o := small()
	o.Change = func(s *spec.Run) { s.Labels = map[string]string{"purpose": long} }
	if page := pageOf(t, openAll(t, run(t, o))...); !strings.Contains(page, long) {
		t.Error("a long value was cut")
	}
	o.Change = func(s *spec.Run) { s.Labels = map[string]string{"purpose": strings.Repeat(long, 40)} }
	if page := pageOf(t, openAll(t, run(t, o))...); !strings.Contains(page, "It is not shown because it is long (1") || strings.Contains(page, "--file - &lt;&lt;") {
		t.Error("the page does not say that the specification is too long")
	}
}

func TestStudyDisclosesWhatTrialsFound(t *testing.T) {
	dir := study(t, recordtest.Study{Workers: []int{8, 16}, Blocks: 2})
	s, err := record.OpenStudy(dir)
	if err != nil {
		t.Fatal(err)
	}
	o := small()
	if _, err := o.Write(filepath.Join(dir, s.Trials[0].Record)); err != nil {
		t.Fatal(err)
	}
	page := pageOf(t, openAll(t, dir)...)
	for _, want := range []string{"Target, as trial 1 found it", "replica set of 3", "durable (w: 1, j: true)", "<td>storage.wiredTiger.cacheSizeGB</td>",
		s.Trials[0].Record + "/" + record.SumsFile} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not have %q", want)
		}
	}
}
