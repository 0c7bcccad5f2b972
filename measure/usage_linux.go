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

// quotaFiles are the files cpu.stat of the control groups whose quotas limit this process.
var quotaFiles = sync.OnceValue(func() (list []string) {
	for _, dir := range cgroup.CPU() {
		list = append(list, filepath.Join(dir, "cpu.stat"))
	}
	return list
})

// readSystemUse reads the throttling of the control groups and the run-queue delays of the threads. It returns 0 for
// what the kernel does not count.
func readSystemUse() (u systemUse) {
	for _, name := range quotaFiles() {
		text, _ := os.ReadFile(name) // the root of a hierarchy has none
		for line := range strings.Lines(string(text)) {
			key, value, _ := strings.Cut(strings.TrimSpace(line), " ")
			n, _ := strconv.ParseInt(value, 10, 64)
			switch key {
			case "nr_throttled":
				u.times += n
			case "throttled_usec": // version 2
				u.throttled += time.Duration(n) * time.Microsecond
			case "throttled_time": // version 1
				u.throttled += time.Duration(n)
			}
		}
	}
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
