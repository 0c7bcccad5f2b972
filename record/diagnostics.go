package record

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/expression"
	"github.com/plimsoll-bench/plimsoll/internal/pathname"
	"github.com/plimsoll-bench/plimsoll/internal/safeopen"
)

// DiagnosticsDir has what members wrote into diagnostic.data, one directory for each.
const DiagnosticsDir = "diagnostic.data"

// maxDiagnostics is the largest size of the diagnostic data of one member in a record, in bytes: some hours.
const maxDiagnostics = 16 << 20

// diagnosticFile is how diagnostic data are called in the checksums.
var diagnosticFile = expression.New(`^diagnostic\.data/[A-Za-z0-9%_-][A-Za-z0-9%._-]*/metrics\.[A-Za-z0-9._:-]+$`)

// escapeGlob makes a pattern that matches a path as it is written.
func escapeGlob(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}

// diagnosticDelay is the time until a mongod writes its samples.
const diagnosticDelay = 15 * time.Second

// AddDiagnostics copies the diagnostic data of a mongod into the record as it is: the files in dir that were written
// since a moment, newest first, no more than [maxDiagnostics]. A directory that is not there has none. An error means
// that they are missing from the record.
func (w *RunWriter) AddDiagnostics(member, dir string, since time.Time) error {
	files, left := diagnosticFiles(dir, since)
	if len(files) == 0 || w.failed != nil {
		return w.failed
	}
	name := path.Join(DiagnosticsDir, pathname.Of(member))
	out := filepath.Join(w.dir, filepath.FromSlash(name))
	if err := os.MkdirAll(out, 0o755); err != nil {
		return fmt.Errorf("the diagnostic data of %s are not in the record: %w", member, err)
	}
	for _, f := range files {
		err := copyFile(filepath.Join(dir, f), filepath.Join(out, f))
		if errors.Is(err, fs.ErrNotExist) {
			continue // metrics.interim, which the server replaces as it goes
		}
		if err != nil {
			return fmt.Errorf("the diagnostic data of %s are not in the record: %w", member, err)
		}
	}
	what := "diagnostic data of " + w.red.text(member) + " (FTDC, as MongoDB's support reads them)"
	if left > 0 {
		what += fmt.Sprintf("; %d older files are not in the record, because it has at most %d MiB of each member", left, maxDiagnostics>>20)
	}
	w.run.Files = append(w.run.Files, File{name, what})
	return nil
}

// diagnosticFiles are the names of the files to keep, and how many are left out.
func diagnosticFiles(dir string, since time.Time) (names []string, left int) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, 0
	}
	var found []fs.FileInfo
	for _, e := range entries {
		info, err := e.Info()
		if err == nil && info.Mode().IsRegular() && strings.HasPrefix(e.Name(), "metrics.") &&
			!info.ModTime().Before(since.Add(-diagnosticDelay)) {
			found = append(found, info)
		}
	}
	slices.SortFunc(found, func(a, b fs.FileInfo) int {
		return cmp.Or(b.ModTime().Compare(a.ModTime()), strings.Compare(b.Name(), a.Name()))
	})
	total := int64(0)
	for _, info := range found {
		if total += info.Size(); total > maxDiagnostics {
			return names, len(found) - len(names)
		}
		names = append(names, info.Name())
	}
	return names, 0
}

func copyFile(from, to string) (err error) {
	in, err := safeopen.OpenFile(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, io.LimitReader(in, maxDiagnostics)) // it may grow meanwhile
	return cmp.Or(err, out.Close())
}
