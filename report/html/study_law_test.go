package html

import (
	"strings"
	"testing"

	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/report"
	"github.com/plimsoll-bench/plimsoll/report/html/recordtest"
)

// scalingPicture is the drawing of throughput over the factor of a study, and all of its figure.
func scalingPicture(t *testing.T, s *record.Study) (svg string, f *Figure) {
	t.Helper()
	for _, sec := range studySections(&Source{Study: s}, report.Of(s), "") {
		for _, b := range sec.Blocks {
			if b.Figure != nil && strings.Contains(b.Figure.ID, "-curve-0") {
				return string(b.Figure.SVG), b.Figure
			}
		}
	}
	t.Fatal("got no curve")
	return "", nil
}

func TestTheLawOfScalingIsDrawn(t *testing.T) {
	svg, f := scalingPicture(t, recordtest.Study{Workers: []int{2, 4, 8, 16, 32, 64}, Blocks: 4, Seed: 1}.Make())
	for _, want := range []string{`class="ln dash c2"`, `class="area-c2"`} {
		if !strings.Contains(svg, want) {
			t.Errorf("no %s in the drawing", want)
		}
	}
	if !strings.Contains(f.Note, "Universal Scalability Law") || !strings.Contains(f.Note, "σ = ") || !strings.Contains(f.Note, "peak at ") {
		t.Errorf("note %q", f.Note)
	}
	if strings.Contains(svg, `class="ln dot c2"`) || strings.Contains(svg, "not measured") || len(f.Numbers.Rows) != 6 {
		t.Errorf("the law is drawn beyond the measurements, or its numbers are %v", f.Numbers.Rows)
	}
}

func TestALawThatMayNotBeUsed(t *testing.T) {
	svg, f := scalingPicture(t, recordtest.Study{Workers: []int{8, 10, 12}, Blocks: 4, Seed: 1}.Make())
	if !strings.Contains(svg, `class="ln dash c2"`) {
		t.Error("the law is not drawn")
	}
	if !strings.Contains(f.Note, "It may not be used: only 3 sizes were measured") || len(f.Numbers.Rows) != 3 {
		t.Errorf("note %q, %d rows", f.Note, len(f.Numbers.Rows))
	}
}

func TestNoLawForWhatIsNoSize(t *testing.T) {
	s := recordtest.Study{Workers: []int{2, 4, 8, 16}, Blocks: 4, Seed: 1}.Make()
	s.Specification.Factors[0].Path = "workload.params.fieldlength"
	if svg, f := scalingPicture(t, s); strings.Contains(svg, "law") || strings.Contains(f.Note, "Law") {
		t.Error("a law of scaling over the length of fields")
	}
}
