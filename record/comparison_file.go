package record

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/plimsoll-bench/plimsoll/internal/safeopen"
)

// ComparisonFile is the file of the record of a comparison.
const ComparisonFile = "comparison.json"

// WriteComparison writes a comparison into a directory of its own. One that holds a record already is left alone.
func WriteComparison(dir string, r *ComparisonReport) error {
	if strings.TrimSpace(dir) == "" {
		return errors.New("a record needs a directory: give one (--out)")
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return explain(dir, err)
	}
	if err := vacate(dir); err != nil {
		return err
	}
	b, err := marshal(r)
	if err != nil {
		return err
	}
	if err := replaceSealed(dir, ComparisonFile, b, Complete); err != nil {
		return explain(dir, err)
	}
	return nil
}

func (r *ComparisonReport) complete(string, bool) error { return nil }

// OpenComparisonFile reads a comparison from a file by itself, whatever its name. It has no checksums.
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
