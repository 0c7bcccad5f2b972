package measure

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/cgroup"
)

// quotas are the control groups whose quotas limit this process.
var quotas = sync.OnceValue(cgroup.CPU)

// readSystemUse reads the throttling of the control groups and the run-queue delays of the threads. It returns 0 for
// what the kernel does not count.
func readSystemUse() (u systemUse) {
	u.times, u.throttled = cgroup.Throttled(quotas())
	threads, _ := filepath.Glob("/proc/self/task/*/schedstat")
	for _, name := range threads {
		text, _ := os.ReadFile(name) // a thread may have ended
		if fields := strings.Fields(string(text)); len(fields) > 1 {
			n, _ := strconv.ParseInt(fields[1], 10, 64) // on core, ready to run, time slices
			u.runDelay += time.Duration(n)
		}
	}
	return u
}
