package record

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"

	"github.com/plimsoll-bench/plimsoll/internal/safeopen"
)

// readLines reads a journal in order, none if it does not exist. Unreadable and incomplete lines are skipped and
// counted. Errors have the name: "the study in DIR".
func readLines[E any](path, of string, whole func(*E) bool) (events []E, unreadable int, err error) {
	f, err := safeopen.Open(filepath.Dir(path), filepath.Base(path))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, fmt.Errorf("cannot read %s: %w", of, cause(err))
	}
	defer f.Close()
	var kept safeopen.Kept
	for lines := safeopen.NewLines(f); ; {
		line, err := lines.Next()
		if errors.Is(err, io.EOF) {
			return events, unreadable, nil
		}
		if err != nil && !errors.Is(err, safeopen.ErrTorn) {
			return events, unreadable, fmt.Errorf("cannot read %s: %w", of, err)
		}
		if line = bytes.TrimSpace(line); len(line) == 0 {
			continue
		}
		var e E
		err = kept.Unmarshal(line, &e)
		if errors.As(err, new(*safeopen.LimitError)) {
			return events, unreadable, fmt.Errorf("cannot read %s: %w", of, err)
		}
		if err != nil || !whole(&e) {
			unreadable++
			continue
		}
		events = append(events, e)
	}
}
