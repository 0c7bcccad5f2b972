package engine

import (
	"fmt"
	"os/exec"
	"strings"

	"github.com/plimsoll-bench/plimsoll/lab/process"
)

// MongoOpenFiles is the soft limit of open files of a mongod or mongos, if the hard limit allows it: MongoDB's
// recommendation (manual: "UNIX ulimit Settings"). A server accepts at most 80 % of its soft limit as connections, and
// WiredTiger keeps a file open for each collection and index.
const MongoOpenFiles = 64000

// tunables is the variable of the C library's settings.
const tunables = "GLIBC_TUNABLES"

// mongoEnvironment returns the additional environment of a server. Since 8.0 mongod's allocator has caches per CPU if
// the C library does not use restartable sequences; packages and images of MongoDB set that (production notes:
// "TCMalloc Performance Optimization for a Self-Managed Deployment"). Settings of the user are kept.
func mongoEnvironment(v MongoVersion) []string {
	const rseq = "glibc.pthread.rseq"
	set := ""
	for _, v := range new(exec.Cmd).Environ() { // the inherited environment
		if value, ok := strings.CutPrefix(v, tunables+"="); ok {
			set = value
		}
	}
	if !v.AtLeast(8, 0) || strings.Contains(set, rseq+"=") {
		return nil
	}
	if set != "" {
		set += ":"
	}
	return []string{tunables + "=" + set + rseq + "=0"}
}

// FewFiles returns a warning if the limit of open files of a running server is too low; "" if it is not, or unknown.
func FewFiles(p ProcessStatus) string {
	files := process.OpenFiles(p.PID)
	if !p.Running || files == 0 || files >= MongoOpenFiles {
		return ""
	}
	return fmt.Sprintf("%s can open only %d files, so it accepts at most %d connections. MongoDB recommends a limit of %d files. "+
		"Raise the hard limit first: ulimit -Hn %d", p.Role, files, files*8/10, MongoOpenFiles, MongoOpenFiles)
}
