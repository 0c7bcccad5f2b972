package record

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plimsoll-bench/plimsoll/measure"
)

func TestComparisonsAreKept(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "comparison")
	want := &ComparisonReport{Head: Head{SchemaVersion: SchemaVersion, Kind: KindComparison,
		Validity: []measure.Finding{}}, Sides: []ComparisonSide{{Name: "a<b", Records: []string{},
		Values: map[string][]float64{"throughput": {1}}}},
		Differences: []Difference{}, Comparisons: []Comparison{{Metric: "throughput", Verdict: Inconclusive}}}
	if err := WriteComparison(dir, want); err != nil {
		t.Fatal(err)
	}
	got, err := OpenComparison(dir)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if err := WriteComparison(dir, want); err == nil || !strings.Contains(err.Error(), "already holds a record") {
		t.Errorf("a record was replaced: %v", err)
	}
	if err := WriteComparison(" ", want); err == nil || !strings.Contains(err.Error(), "--out") {
		t.Errorf("%v", err)
	}
	file := filepath.Join(dir, ComparisonFile)
	if err := WriteComparison(filepath.Join(file, "below"), want); err == nil || !strings.Contains(err.Error(), "another directory") {
		t.Errorf("below a file: %v", err)
	}
}

func TestOpenComparisonRefuses(t *testing.T) {
	dir := t.TempDir()
	for content, says := range map[string]string{
		"": "damaged", `{"schema_version": "2.0", "kind": "comparison"}`: "schema version", `{"schema_version": "1.0", "kind": "run"}`: "not of",
		`{"schema_version": "1.0", "kind": "comparison", "sides": 5}`: "damaged",
	} {
		if err := os.WriteFile(filepath.Join(dir, ComparisonFile), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := OpenComparison(dir); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: got error %v, want %q", content, err, says)
		}
	}
	if _, err := OpenComparison(filepath.Join(dir, "nowhere")); err == nil || !strings.Contains(err.Error(), "does not exist") {
		t.Errorf("%v", err)
	}
}
