package report

import (
	"strings"
	"testing"

	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/report/recordtest"
)

// scalingPicture is the drawing of throughput over the factor of a study, and all of its figure.
func scalingPicture(t *testing.T, s *record.Study) (drawing string, f *Figure) {
	t.Helper()
	for _, sec := range studyDocument(s, &studyFiles{Source: &Source{}, Study: s}).Sections {
		for _, f := range sec.Figures {
			if strings.Contains(f.Chart.About().ID, "-curve-0") {
				return svg(f), f
			}
		}
	}
	t.Fatal("got no curve")
	return "", nil
}

func TestTheLawOfScalingIsDrawn(t *testing.T) {
	drawing, f := scalingPicture(t, recordtest.Study{Workers: []int{2, 4, 8, 16, 32, 64}, Blocks: 4, Seed: 1}.Make())
	for _, want := range []string{`class="ln dash c2"`, `class="area-c2"`} {
		if !strings.Contains(drawing, want) {
			t.Errorf("no %s in the drawing", want)
		}
	}
	if !strings.Contains(f.Note, "Universal Scalability Law") || !strings.Contains(f.Note, "σ = ") || !strings.Contains(f.Note, "peak at ") {
		t.Errorf("note %q", f.Note)
	}
	if strings.Contains(drawing, `class="ln dot c2"`) || strings.Contains(drawing, "not measured") || len(f.Numbers.Rows) != 6 {
		t.Errorf("the law is drawn beyond the measurements, or its numbers are %v", f.Numbers.Rows)
	}
}

func TestALawThatMayNotBeUsed(t *testing.T) {
	drawing, f := scalingPicture(t, recordtest.Study{Workers: []int{8, 10, 12}, Blocks: 4, Seed: 1}.Make())
	if !strings.Contains(drawing, `class="ln dash c2"`) {
		t.Error("the law is not drawn")
	}
	if !strings.Contains(f.Note, "It may not be used: only 3 sizes were measured") || len(f.Numbers.Rows) != 3 {
		t.Errorf("note %q, %d rows", f.Note, len(f.Numbers.Rows))
	}
}

func TestNoLawForWhatIsNoSize(t *testing.T) {
	s := recordtest.Study{Workers: []int{2, 4, 8, 16}, Blocks: 4, Seed: 1}.Make()
	s.Specification.Factors[0].Path = "workload.params.fieldlength"
	if drawing, f := scalingPicture(t, s); strings.Contains(drawing, "law") || strings.Contains(f.Note, "Law") {
		t.Error("a law of scaling over the length of fields")
	}
}
