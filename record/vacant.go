package record

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/plimsoll-bench/plimsoll/measure"
)

// vacate makes sure that a directory holds no record of any kind. What a record left that could not be begun, for example
// because the disk was full, is removed: empty files and directories, and files that were to replace a main file.
func vacate(dir string) error {
	if err := Vacant(dir); err != nil {
		return err
	}
	names := slices.Concat(covered, []string{SumsFile, StandingFile, ClientsDir, LogsDir, DiagnosticsDir, RoundsDir, TrialsDir, ProceduresIn, PartsDir})
	for _, name := range names {
		path := filepath.Join(dir, name)
		info, err := os.Lstat(path)
		switch {
		case err != nil || name == SuitePlan: // a plan is written before its suite, and replaced by the next one
			continue
		case info.Mode().IsRegular() && info.Size() > 0, !info.IsDir() && !info.Mode().IsRegular():
			return taken(dir, name)
		}
		if err := os.Remove(path); err != nil { // a directory that is not empty stays
			return taken(dir, name)
		}
	}
	for _, name := range append(MainFiles(), SuitePlan) {
		left, _ := filepath.Glob(filepath.Join(escapeGlob(dir), "."+name+".*")) // the pattern is well-formed
		for _, path := range left {
			_ = os.Remove(path) // it disturbs nobody
		}
	}
	return nil
}

// Unwritten is the finding of a result whose record could not be written completely.
func Unwritten(err error) measure.Finding {
	return measure.Finding{ID: "unwritten", Severity: measure.Invalid,
		Text: fmt.Sprintf("the record could not be written completely, so it does not hold this result: %v", err)}
}
