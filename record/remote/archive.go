package remote

import (
	"archive/tar"
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/klauspost/compress/gzip"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
)

const suffix = ".tar.gz"

// The limits of archives that somebody else may have written.
const (
	maxFiles    = 100_000  // of one archive
	maxPacked   = 1 << 30  // bytes of one archive
	maxUnpacked = 4 << 30  // bytes of all archives of one check
	maxRatio    = 64       // unpacked to packed bytes; records of runs have 5 to 20
	anyRatio    = 16 << 20 // unpacked bytes at which the ratio does not matter
)

// sumsFile has the checksums of a record and names its files.
const sumsFile = "SHA256SUMS"

// files returns the files of a record: those that its SHA256SUMS lists, and those of the records in it. Other files may
// have secrets, such as those of a coordinator.
func files(root *os.Root) (names []string, err error) {
	err = fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || path.Base(name) != sumsFile || !d.Type().IsRegular() {
			return err
		}
		names = append(names, name)
		text, err := root.ReadFile(filepath.FromSlash(name))
		for line := range strings.Lines(string(text)) {
			if _, of, ok := strings.Cut(strings.TrimSpace(line), "  "); ok && path.Base(of) != sumsFile && fs.ValidPath(of) {
				names = append(names, path.Join(path.Dir(name), of))
			}
		}
		return err
	})
	if err == nil && !slices.Contains(names, sumsFile) {
		err = errors.New("the record is not complete: it has no " + sumsFile)
	}
	slices.Sort(names)
	return slices.Compact(names), err
}

// each calls do for the files of a record.
func each(dir string, do func(name string, info fs.FileInfo, r io.Reader) error) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	names, err := files(root)
	if err != nil {
		return err
	}
	one := func(name string) error {
		info, err := root.Lstat(filepath.FromSlash(name))
		if err != nil || !info.Mode().IsRegular() {
			return err
		}
		f, err := root.Open(filepath.FromSlash(name))
		if err != nil {
			return err
		}
		defer f.Close()
		return do(name, info, io.LimitReader(f, info.Size()))
	}
	for _, name := range names {
		if err := one(name); err != nil {
			return err
		}
	}
	return nil
}

// pack writes the files of a record.
func pack(w io.Writer, dir string) error {
	z := gzip.NewWriter(w)
	t := tar.NewWriter(z)
	err := each(dir, func(name string, info fs.FileInfo, r io.Reader) error {
		h := &tar.Header{Name: name, Size: info.Size(), Mode: 0o644, ModTime: info.ModTime()}
		if err := t.WriteHeader(h); err != nil {
			return err
		}
		_, err := io.Copy(t, r)
		return err
	})
	return errors.Join(err, t.Close(), z.Close())
}

// Copy copies the files of a record into a directory that it makes.
func Copy(from, to string) error {
	if err := os.MkdirAll(to, 0o755); err != nil {
		return err
	}
	root, err := os.OpenRoot(to)
	if err != nil {
		return err
	}
	defer root.Close()
	return each(from, func(name string, _ fs.FileInfo, r io.Reader) error { return unpackFile(root, name, r) })
}

// unpack writes the files of an archive below a directory that it makes. left are the bytes that it may unpack, and are
// reduced by those that it unpacked. The whole archive is read once before anything is written: an archive that is
// damaged or too large leaves nothing.
func unpack(archive io.ReadSeeker, dir string, left *int64) error {
	packed, err := archive.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	if packed > maxPacked {
		return fmt.Errorf("it has %s, and the limit is %s", figure.Bytes(packed), figure.Bytes(maxPacked))
	}
	most := min(*left, max(anyRatio, packed*maxRatio))
	size, err := walk(archive, most, func(string, io.Reader) error { return nil })
	*left -= size
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	root, err := os.OpenRoot(dir) // keeps every name inside of it
	if err != nil {
		return err
	}
	defer root.Close()
	_, err = walk(archive, most, func(name string, r io.Reader) error { return unpackFile(root, name, r) })
	return err
}

// walk calls do for the regular files of an archive, and returns how many bytes the archive unpacks to, headers
// included. It refuses an archive of more than most bytes, or whose files have more.
func walk(archive io.ReadSeeker, most int64, do func(name string, r io.Reader) error) (size int64, err error) {
	if _, err := archive.Seek(0, io.SeekStart); err != nil {
		return 0, err
	}
	z, err := gzip.NewReader(bufio.NewReader(archive))
	if err != nil {
		return 0, fmt.Errorf("it is not an archive: %w", err)
	}
	limited := &io.LimitedReader{R: z, N: most + 1}
	tooLarge := fmt.Errorf("it unpacks to more than %s. Archives of one check may have %s together, and each %d times its "+
		"own size", figure.Bytes(most), figure.Bytes(maxUnpacked), maxRatio)
	t, files := tar.NewReader(limited), int64(0)
	for n := 0; ; n++ {
		h, err := t.Next()
		size = max(files, most+1-limited.N)
		switch {
		case size > most:
			return size, tooLarge
		case errors.Is(err, io.EOF):
			if _, err := io.Copy(io.Discard, limited); err != nil { // it ends with a checksum
				return size, fmt.Errorf("it is damaged: %w", err)
			}
			return size, nil
		case err != nil:
			return size, fmt.Errorf("it is damaged: %w", err)
		case n == maxFiles:
			return size, fmt.Errorf("it has more than %d files", maxFiles)
		case h.Typeflag != tar.TypeReg:
			continue
		case !fs.ValidPath(h.Name):
			return size, fmt.Errorf("the name %.80q leads out of a record", h.Name)
		}
		if files += h.Size; files > most { // a file with holes has more bytes than the archive
			return size, tooLarge
		}
		if err := do(h.Name, t); err != nil {
			return size, err
		}
	}
}

func unpackFile(root *os.Root, name string, r io.Reader) error {
	name = filepath.FromSlash(name)
	if err := root.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	f, err := root.Create(name)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, r)
	return errors.Join(err, f.Close())
}
