package engine

import (
	"fmt"
	"os/exec"
	"strings"

	"github.com/plimsoll-bench/plimsoll/lab/process"
)

// MongoOpenFiles is the soft limit of open files that a mongod or mongos is started with, where the hard limit allows it:
// what MongoDB recommends (manual: "UNIX ulimit Settings"). A server takes connections for 80 % of its soft limit at most,
// and WiredTiger keeps a file open for each collection and index.
const MongoOpenFiles = 64000

// tunables is the variable of the C library's settings.
const tunables = "GLIBC_TUNABLES"

// mongoEnvironment is what a server's environment has besides that of this process. From 8.0 on mongod's allocator keeps
// its caches per CPU if the C library leaves restartable sequences to it; packages and images of MongoDB see to that
// (production notes: "TCMalloc Performance Optimization for a Self-Managed Deployment"). What the user has set stays.
func mongoEnvironment(v MongoVersion) []string {
	const rseq = "glibc.pthread.rseq"
	set := ""
	for _, v := range new(exec.Cmd).Environ() { // what the server would inherit
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

// FewFiles says that a running server may open fewer files than it should, and what to do; "" if that is not so or not
// known.
func FewFiles(p ProcessStatus) string {
	files := process.OpenFiles(p.PID)
	if !p.Running || files == 0 || files >= MongoOpenFiles {
		return ""
	}
	return fmt.Sprintf("%s may open %d files, so it takes at most %d connections. MongoDB recommends %d files. Raise the hard limit first: ulimit -Hn %d",
		p.Role, files, files*8/10, MongoOpenFiles, MongoOpenFiles)
}
