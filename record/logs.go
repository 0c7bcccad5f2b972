package record

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"github.com/klauspost/compress/zstd"

	"github.com/plimsoll-bench/plimsoll/internal/expression"
	"github.com/plimsoll-bench/plimsoll/internal/pathname"
	"github.com/plimsoll-bench/plimsoll/internal/redact"
	"github.com/plimsoll-bench/plimsoll/internal/safeopen"
)

// LogsDir holds what the servers of a lab wrote into their logs during the run: MEMBER.log.zst.
const LogsDir = "logs"

// maxLog is the largest size of the log of one member in a record, before compression. Of a longer one the first and
// the last half of that are kept.
const maxLog = 8 << 20

// maxLogLine is the longest line that is kept whole.
const maxLogLine = 64 << 10

// logFile is how logs are called in the checksums.
var logFile = expression.New(`^logs/[A-Za-z0-9%_-][A-Za-z0-9%._-]*\.log\.zst$`)

// LogPart is a stretch of a log file.
type LogPart struct {
	Path     string
	From, To int64 // in bytes; To is the end of the file as it was
}

// AddLog copies the log of a member into the record: compressed, no longer than [maxLog], and without credentials.
// Nothing is written where the parts are empty. An error means that the log is missing from the record.
func (w *RunWriter) AddLog(member string, parts []LogPart) error {
	total := int64(0)
	for _, p := range parts {
		total += max(0, p.To-p.From)
	}
	if total == 0 || w.failed != nil {
		return w.failed
	}
	name := path.Join(LogsDir, pathname.Of(member)+".log.zst")
	if err := w.writeLog(filepath.Join(w.dir, filepath.FromSlash(name)), parts); err != nil {
		return fmt.Errorf("the log of %s is not in the record: %w", member, err)
	}
	w.run.Files = append(w.run.Files, File{name, "the log of " + w.red.text(member) + " during the run, compressed with zstd"})
	return nil
}

func (w *RunWriter) writeLog(file string, parts []LogPart) (err error) {
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	f, err := os.OpenFile(file, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer func() {
		err = errors.Join(err, f.Sync(), f.Close())
		if err != nil {
			_ = os.Remove(file) // half a log says less than none
		}
	}()
	z, err := zstd.NewWriter(f, zstd.WithEncoderConcurrency(1))
	if err != nil {
		return err
	}
	for _, p := range parts {
		if err := w.copyLog(z, p, len(parts) > 1, maxLog/int64(len(parts))); err != nil {
			return errors.Join(err, z.Close())
		}
	}
	return z.Close()
}

// copyLog copies a stretch of a log file, with the middle left out where it is longer than most bytes.
func (w *RunWriter) copyLog(out io.Writer, p LogPart, named bool, most int64) error {
	in, err := safeopen.OpenFile(p.Path)
	if err != nil {
		return err
	}
	defer in.Close()
	if named {
		fmt.Fprintf(out, "# %s\n", w.red.text(filepath.Base(p.Path)))
	}
	if p.To-p.From <= most {
		return w.copyLines(out, io.NewSectionReader(in, p.From, p.To-p.From))
	}
	if err := w.copyLines(out, io.NewSectionReader(in, p.From, most/2)); err != nil {
		return err
	}
	fmt.Fprintf(out, "# %d bytes are left out here\n", p.To-p.From-most/2*2)
	return w.copyLines(out, io.NewSectionReader(in, p.To-most/2, most/2))
}

// copyLines copies text line by line, without credentials. Of a line that never ends only the beginning is kept.
func (w *RunWriter) copyLines(out io.Writer, in io.Reader) error {
	lines := bufio.NewReaderSize(in, maxLogLine)
	for {
		line, long, err := lines.ReadLine()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		text := w.red.text(redact.Named(string(line)))
		if long {
			text += " …"
		}
		if _, err := fmt.Fprintln(out, text); err != nil {
			return err
		}
		for long && err == nil {
			_, long, err = lines.ReadLine()
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
	}
}

// filesBelow lists the files below dir whose names match, for the checksums of a record.
func filesBelow(dir, pattern string, name expression.Lazy) (names []string, err error) {
	files, err := fs.Glob(os.DirFS(dir), pattern)
	for _, f := range files {
		if info, err := os.Lstat(filepath.Join(dir, filepath.FromSlash(f))); err == nil && info.Mode().IsRegular() &&
			name().MatchString(f) {
			names = append(names, f)
		}
	}
	return names, err
}
