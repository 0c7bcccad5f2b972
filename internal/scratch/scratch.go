// Package scratch makes temporary directories. If a process is killed, the next one that makes such a directory removes
// what it left. What a person named, or would want to keep, does not belong here.
package scratch

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"

	"github.com/plimsoll-bench/plimsoll/internal/procid"
	"github.com/plimsoll-bench/plimsoll/internal/safeopen"
)

// makerFile names the process that made a directory.
const makerFile = "made-by.json"

// Make makes a directory below parent ("" is the system's directory for temporary files). Its name begins with prefix,
// which no other kind of directory may have. First it calls remove with each such directory whose process has ended;
// nil removes its files. The caller removes the new directory with [os.RemoveAll].
func Make(parent, prefix string, remove func(dir string)) (dir string, err error) {
	if parent == "" {
		parent = os.TempDir()
	}
	if remove == nil {
		remove = func(dir string) { _ = os.RemoveAll(dir) } // it may be that of another user
	}
	entries, _ := os.ReadDir(parent) // MkdirTemp reports what is wrong with it
	for _, e := range entries {
		if old := filepath.Join(parent, e.Name()); e.IsDir() && strings.HasPrefix(e.Name(), prefix) && abandoned(old) {
			remove(old)
		}
	}
	if dir, err = os.MkdirTemp(parent, prefix); err != nil {
		return "", err
	}
	maker, err := json.Marshal(procid.Self())
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, makerFile), maker, 0o600)
	}
	if err != nil {
		_ = os.RemoveAll(dir)
		return "", err
	}
	return dir, nil
}

// abandoned reports whether the process that made a directory has ended. A process of another machine or container, or
// from before a restart, cannot be checked from here: its directory stays. So do all on systems other than Linux.
func abandoned(dir string) bool {
	var maker procid.ID
	b, err := safeopen.ReadFile(dir, makerFile, 1<<10)
	if err != nil || json.Unmarshal(b, &maker) != nil {
		return false
	}
	self := procid.Self()
	return self.Boot != "" && maker.Boot == self.Boot && maker.Namespace == self.Namespace && !maker.Alive()
}
