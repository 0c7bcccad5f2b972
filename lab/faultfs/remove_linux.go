package faultfs

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// dead says whether the program of a mount has ended.
func dead(mount string) bool {
	var st unix.Stat_t
	err := unix.Lstat(mount, &st)
	return errors.Is(err, unix.ENOTCONN) || errors.Is(err, unix.ECONNABORTED)
}

// mountedType returns the type of the topmost filesystem at a directory. It does not access the directory, which may be
// dead.
func mountedType(dir string) (type_ string, mounted bool, err error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", false, err
	}
	if parent, err := filepath.EvalSymlinks(filepath.Dir(abs)); err == nil {
		abs = filepath.Join(parent, filepath.Base(abs))
	} else if errors.Is(err, fs.ErrNotExist) {
		return "", false, nil
	}
	text, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return "", false, err
	}
	for line := range strings.Lines(string(text)) {
		if at, t, ok := parseMount(line); ok && at == abs {
			type_, mounted = t, true // later mounts are above earlier ones
		}
	}
	return type_, mounted, nil
}

// parseMount reads the mount point and the type from a line of mountinfo.
func parseMount(line string) (at, type_ string, ok bool) {
	before, after, found := strings.Cut(line, " - ")
	fields, rest := strings.Fields(before), strings.Fields(after)
	if !found || len(fields) < 5 || len(rest) < 1 {
		return "", "", false
	}
	return unescape(fields[4]), rest[0], true
}

// unescape replaces the octal escapes of mountinfo.
func unescape(s string) string {
	return strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace(s)
}
