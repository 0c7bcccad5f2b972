package observe

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/procfs"
)

// processAge is by how much the age of a process may differ from the uptime of its server.
const processAge = 5 * time.Second

// localServer reports whether a process of this machine is the server with this number and uptime. A server in another
// PID namespace or on another machine has a number that belongs to another process here, or to none.
func localServer(pid int, up time.Duration) bool {
	p, err := procfs.NewProc(pid)
	if err != nil {
		return false
	}
	name, err := p.Comm()
	if err != nil || name != "mongod" && name != "mongos" {
		return false
	}
	stat, err := p.Stat()
	if err != nil {
		return false
	}
	began, err := stat.StartTime()
	if err != nil {
		return false
	}
	age := time.Since(time.Unix(0, int64(began*1e9)))
	return (age - up).Abs() < processAge
}

// runDelays is the time that the threads of a process were ready to run and waited for a core, by thread. It is empty
// if the kernel does not count it.
func runDelays(pid int) map[string]time.Duration {
	files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
	all := map[string]time.Duration{}
	for _, name := range files {
		text, _ := os.ReadFile(name) // a thread may have ended
		if fields := strings.Fields(string(text)); len(fields) > 1 {
			n, _ := strconv.ParseInt(fields[1], 10, 64) // on core, ready to run, time slices
			all[name] = time.Duration(n)
		}
	}
	return all
}
