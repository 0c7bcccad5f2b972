package record

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// NewEnvironment finds out what machine this is. dirs are the directories whose file systems matter, by
// their use ("record", "embedded"). It never reads environment variables, and what cannot be found out
// is left empty.
func NewEnvironment(dirs map[string]string) Environment {
	e := Environment{
		OS: runtime.GOOS, Arch: runtime.GOARCH, Threads: runtime.NumCPU(), Cores: float64(runtime.GOMAXPROCS(0)),
		Go: runtime.Version(), MaxProc: runtime.GOMAXPROCS(0),
	}
	if host, err := os.Hostname(); err == nil {
		e.Host = host
	}
	e.readSystem()
	for _, use := range []string{"record", "embedded"} {
		if dir, ok := dirs[use]; ok {
			e.Filesystems = append(e.Filesystems, filesystemOf(use, existing(dir)))
		}
	}
	return e
}

// existing returns dir, or the nearest directory above it that exists.
func existing(dir string) string {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return dir
	}
	for abs != filepath.Dir(abs) {
		if _, err := os.Stat(abs); err == nil {
			break
		}
		abs = filepath.Dir(abs)
	}
	if real, err := filepath.EvalSymlinks(abs); err == nil {
		return real
	}
	return abs
}

// word returns the content of a small file without white space around it, "" if it cannot be read.
func word(path string) string {
	b, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}
