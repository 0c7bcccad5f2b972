package spec

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/plimsoll-bench/plimsoll/internal/safeopen"
)

// WorkloadFile is the content of a workload file. The specification of a run keeps it, so records and agents on other
// machines need no file.
type WorkloadFile struct {
	// Path is where it was read.
	Path string `json:"path" yaml:"path"`
	// Text is its content.
	Text string `json:"text" yaml:"text"`
}

// IsFile reports whether the workload is a file.
func (w *Workload) IsFile() bool {
	switch strings.ToLower(filepath.Ext(w.Name)) {
	case ".yaml", ".yml", ".json":
		return true
	}
	return false
}

// Title is the name of the workload, of a file without its folder.
func (w *Workload) Title() string {
	if w.IsFile() {
		return strings.TrimSuffix(filepath.Base(w.Name), filepath.Ext(w.Name))
	}
	return w.Name
}

// read reads the workload file, unless its text is there already.
func (w *Workload) read() error {
	if !w.IsFile() || w.File != nil && w.File.Path == w.Name {
		return nil
	}
	b, err := safeopen.ReadPath(w.Name, MaxBytes)
	switch {
	case errors.As(err, new(*safeopen.LimitError)):
		return fmt.Errorf("workload.name: %s is larger than 1 MiB. Is this a workload file?", w.Name)
	case err != nil:
		return fmt.Errorf("workload.name: cannot open the workload file: %w", err)
	}
	w.File = &WorkloadFile{Path: w.Name, Text: string(b)}
	return nil
}

// Text is the content of the workload file, empty for a built-in workload.
func (w *Workload) Text() string {
	if w.File == nil || !w.IsFile() {
		return ""
	}
	return w.File.Text
}
