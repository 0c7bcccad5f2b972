package record

import (
	"fmt"

	"github.com/plimsoll-bench/plimsoll/internal/safeopen"
)

// ComparisonFile is the file of the record of a comparison.
const ComparisonFile = "comparison.json"

// WriteComparison writes a comparison into a directory of its own. One that holds a record already is left alone.
func WriteComparison(dir string, r *ComparisonReport) error {
	s, err := Create[*ComparisonReport](dir, nil)
	if err != nil {
		return err
	}
	return s.Write(r)
}

func (r *ComparisonReport) complete(string, bool) error { return nil }

// OpenComparisonFile reads a comparison from a file with any name. It has no checksums.
func OpenComparisonFile(path string) (*ComparisonReport, error) {
	b, err := safeopen.ReadPath(path, safeopen.MaxDocument)
	if err != nil {
		return nil, fmt.Errorf("cannot read the comparison %s: %w", path, cause(err))
	}
	var r ComparisonReport
	if err := parseDocument(path, b, KindComparison, &r); err != nil {
		return nil, err
	}
	r.Validity = append(r.Validity, Empty(&r)...)
	return &r, nil
}
