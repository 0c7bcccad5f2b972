package record

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
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
	for _, name := range []string{ComparisonFile, StudyFile, RunFile} {
		if _, err := os.Lstat(filepath.Join(dir, name)); err == nil {
			return fmt.Errorf("%s already holds a record (%s is there): choose another directory (--out)", dir, name)
		}
	}
	b, err := marshal(r)
	if err != nil {
		return err
	}
	if err := replace(dir, ComparisonFile, b, true); err != nil {
		return explain(dir, err)
	}
	return nil
}

// OpenComparison reads the record of a comparison.
func OpenComparison(dir string) (*ComparisonReport, error) {
	path := filepath.Join(dir, ComparisonFile)
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s holds no comparison: there is no %s in it", dir, ComparisonFile)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read the comparison in %s: %w", dir, cause(err))
	}
	if err := checkHead(path, b, KindComparison); err != nil {
		return nil, err
	}
	var r ComparisonReport
	if err := json.Unmarshal(b, &r); err != nil {
		return nil, fmt.Errorf("%s is damaged: %w", path, err)
	}
	return &r, nil
}
