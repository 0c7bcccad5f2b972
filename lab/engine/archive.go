package engine

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// Limits of an unpacked archive; a mongod of 2026 has about 200 MB.
const (
	maxUnpacked = 8 << 30
	maxMembers  = 10_000
)

// unpackServer unpacks the regular files of the folder bin and the licence texts of a .tgz. Every file gets the last
// part of its name and goes to dir/bin or dir. An archive with a name or link that points outside is refused.
func unpackServer(archive, dir string) error {
	f, err := os.Open(archive)
	if err != nil {
		return err
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return fmt.Errorf("it is not a gzip file: %w", err)
	}
	if err := os.MkdirAll(filepath.Join(dir, "bin"), 0o755); err != nil {
		return err
	}
	r := tar.NewReader(z)
	left := int64(maxUnpacked)
	for range maxMembers {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return checkExecutable(filepath.Join(dir, "bin", "mongod"))
		}
		if err != nil {
			return fmt.Errorf("the archive is damaged: %w", err)
		}
		if leadsOutside(h) {
			return fmt.Errorf("the archive was refused, because its member %q points outside of it", h.Name)
		}
		name, mode := memberPlace(h)
		if name == "" {
			continue
		}
		if left -= h.Size; left < 0 {
			return fmt.Errorf("the archive was refused, because it unpacks to more than %d bytes", int64(maxUnpacked))
		}
		if err := writeMember(filepath.Join(dir, name), mode, r); err != nil {
			return err
		}
	}
	return fmt.Errorf("the archive was refused, because it has more than %d members", maxMembers)
}

// leadsOutside reports whether a member's name, or the target of its link, is outside of the archive.
func leadsOutside(h *tar.Header) bool {
	switch {
	case !filepath.IsLocal(h.Name):
		return true
	case h.Typeflag == tar.TypeLink: // names a member
		return !filepath.IsLocal(h.Linkname)
	case h.Typeflag == tar.TypeSymlink: // is relative to the member's folder
		return path.IsAbs(h.Linkname) || !filepath.IsLocal(path.Join(path.Dir(path.Clean(h.Name)), h.Linkname))
	}
	return false
}

// memberPlace returns the path of a member relative to the installation, "" to skip it.
func memberPlace(h *tar.Header) (name string, mode os.FileMode) {
	base := path.Base(h.Name)
	if h.Typeflag != tar.TypeReg || !filepath.IsLocal(h.Name) || base == "." || strings.ContainsAny(base, "\\\x00") {
		return "", 0
	}
	folder := path.Base(path.Dir(h.Name))
	depth := strings.Count(strings.Trim(path.Clean(h.Name), "/"), "/")
	switch {
	case folder == "bin" && depth == 2:
		return path.Join("bin", base), 0o755
	case depth == 1 && isLicence(base):
		return base, 0o644
	}
	return "", 0
}

// isLicence reports whether a file must stay with the executables.
func isLicence(base string) bool {
	return slices.ContainsFunc([]string{"LICENSE", "THIRD-PARTY-NOTICES", "MPL", "README"},
		func(start string) bool { return strings.HasPrefix(base, start) })
}

// writeMember writes one file. It must not exist yet: an archive with the same name twice is refused.
func writeMember(name string, mode os.FileMode, r io.Reader) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, r)
	return errors.Join(err, f.Close())
}
