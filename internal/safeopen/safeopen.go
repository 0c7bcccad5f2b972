// Package safeopen opens files that a person, a specification or a record names, and untrusted files, such as those of
// a record from a mail, an archive or a shared folder. It looks at what stands at a name, waits for a pipe only as long
// as a context allows, never leaves a given directory, and bounds the size before it allocates.
package safeopen

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// The limits are far above the sizes of Plimsoll's files: the line of one second has about 10 KB, the document of a
// study of 1,000 trials about 5 MB.
const (
	MaxLine     = 16 << 20 // bytes of one line
	MaxLines    = 1 << 20  // lines of one file: twelve days at one per second
	MaxDocument = 64 << 20 // bytes of one JSON document
	MaxValues   = 1 << 20  // values (objects, arrays, their members) in one JSON document
	MaxDepth    = 200      // nesting of objects and arrays
)

// nonblock opens a pipe without waiting for a writer. NoLink is a flag for [os.OpenFile]: it opens no link and does not
// wait for a pipe.
const (
	nonblock = syscall.O_NONBLOCK
	NoLink   = syscall.O_NOFOLLOW | nonblock
)

// ErrTorn reports that a file ends in the middle of a line, like that of a killed process.
var ErrTorn = errors.New("the file ends in the middle of a line")

// ErrNotRegular reports that a name is a link, a pipe, a device or a directory.
var ErrNotRegular = errors.New("not a regular file (links, pipes and devices are not read)")

// A LimitError reports that a file is larger than Plimsoll's files.
type LimitError struct {
	What string // "a line", "the file", "the document"
	Most int64
	Unit string // "bytes", "lines", "values", "levels"
}

func (e *LimitError) Error() string {
	return fmt.Sprintf("%s has more than %d %s; Plimsoll does not write that much", e.What, e.Most, e.Unit)
}

// Open opens the regular file name below dir. The path dir may have links, because the user chose it. The
// slash-separated name must not lead through a link out of dir, and must not be a link.
func Open(dir, name string) (*os.File, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	return OpenIn(root, name)
}

// OpenIn is [Open] below an open root.
func OpenIn(root *os.Root, name string) (*os.File, error) {
	before, err := root.Lstat(filepath.FromSlash(name))
	if err != nil {
		return nil, err
	}
	refuse := func() error {
		return &fs.PathError{Op: "open", Path: filepath.Join(root.Name(), filepath.FromSlash(name)), Err: ErrNotRegular}
	}
	if !before.Mode().IsRegular() {
		return nil, refuse()
	}
	f, err := root.OpenFile(filepath.FromSlash(name), os.O_RDONLY|nonblock, 0)
	if err != nil {
		return nil, err
	}
	// Another process may have replaced the file in between.
	after, err := f.Stat()
	if err != nil || !after.Mode().IsRegular() || !os.SameFile(before, after) {
		f.Close()
		return nil, refuse()
	}
	return solid(f, after.Size())
}

// OpenFile opens a regular file by a path that a user chose. The path may be a link, but not a pipe or a device.
func OpenFile(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|nonblock, 0)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		f.Close()
		return nil, &fs.PathError{Op: "open", Path: path, Err: ErrNotRegular}
	}
	return solid(f, info.Size())
}

// ReadFile reads the regular file name below dir, of at most most bytes.
func ReadFile(dir, name string, most int64) ([]byte, error) {
	f, err := Open(dir, name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readAll(f, most)
}

// ReadPath reads a regular file that a user chose, of at most most bytes.
func ReadPath(path string, most int64) ([]byte, error) {
	f, err := OpenFile(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readAll(f, most)
}

// readAll checks the size first, so that it refuses a sparse file of 30 GB without reading it.
func readAll(f *os.File, most int64) ([]byte, error) {
	limit := &fs.PathError{Op: "read", Path: f.Name(), Err: &LimitError{What: "the file", Most: most, Unit: "bytes"}}
	if info, err := f.Stat(); err == nil && info.Size() > most {
		return nil, limit
	}
	b, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(b)) > most {
		return nil, limit
	}
	return b, err
}

// Exists reports whether name below dir is a regular file.
func Exists(dir, name string) bool {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return false
	}
	defer root.Close()
	info, err := root.Lstat(filepath.FromSlash(name))
	return err == nil && info.Mode().IsRegular()
}

// Dir returns the path of the directory name below dir. The directory must exist, and name must have no links.
func Dir(dir, name string) (string, error) {
	path := dir
	for part := range strings.SplitSeq(filepath.ToSlash(name), "/") {
		if part == "" || part == "." || part == ".." {
			return "", fmt.Errorf("%q is not a path below %s", name, dir)
		}
		path = filepath.Join(path, part)
		info, err := os.Lstat(path)
		if err != nil {
			return "", err
		}
		if !info.IsDir() {
			return "", &fs.PathError{Op: "open", Path: path, Err: errors.New("not a directory (links are not followed)")}
		}
	}
	return path, nil
}

// Lines reads lines of bounded length.
type Lines struct {
	r    *bufio.Reader
	long []byte
	n    int
}

func NewLines(r io.Reader) *Lines { return &Lines{r: bufio.NewReaderSize(r, 1<<16)} }

// Next returns the next line with its newline, valid until the next call. At the end it returns [io.EOF], or [ErrTorn]
// with an incomplete last line. Too long lines and too many lines are a [*LimitError].
func (l *Lines) Next() ([]byte, error) {
	if l.n++; l.n > MaxLines {
		return nil, &LimitError{What: "the file", Most: MaxLines, Unit: "lines"}
	}
	b, err := l.r.ReadSlice('\n')
	if !errors.Is(err, bufio.ErrBufferFull) {
		return torn(b, err)
	}
	l.long = append(l.long[:0], b...)
	for errors.Is(err, bufio.ErrBufferFull) {
		if len(l.long) > MaxLine {
			return nil, &LimitError{What: "a line", Most: MaxLine, Unit: "bytes"}
		}
		b, err = l.r.ReadSlice('\n')
		l.long = append(l.long, b...)
	}
	return torn(l.long, err)
}

func torn(b []byte, err error) ([]byte, error) {
	if errors.Is(err, io.EOF) && len(b) > 0 {
		return b, ErrTorn
	}
	return b, err
}

// count bounds the number and the nesting of the values of a JSON document. It ignores invalid JSON.
func count(b []byte) error {
	if len(b) > MaxDocument {
		return &LimitError{What: "the document", Most: MaxDocument, Unit: "bytes"}
	}
	values, depth, quoted := 0, 0, false
	for i := 0; i < len(b); i++ {
		if quoted {
			switch b[i] {
			case '\\':
				i++
			case '"':
				quoted = false
			}
			continue
		}
		switch b[i] {
		case '"':
			quoted = true
		case '{', '[':
			values++
			depth++
		case ',':
			values++
		case '}', ']':
			depth--
		}
		if values > MaxValues {
			return &LimitError{What: "the document", Most: MaxValues, Unit: "values"}
		}
		if depth > MaxDepth {
			return &LimitError{What: "the document", Most: MaxDepth, Unit: "levels"}
		}
	}
	return nil
}
