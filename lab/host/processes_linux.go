package host

import (
	"bytes"
	"os"
	"strconv"

	"github.com/plimsoll-bench/plimsoll/internal/procid"
	"github.com/plimsoll-bench/plimsoll/lab/process"
)

// marked are the running processes whose mark has a prefix, except this one. Processes that removed their mark, and
// those of other users, are not found.
func marked(mark string) []int {
	want := []byte("\x00" + markVar + "=" + mark)
	var found []int
	for _, pid := range process.IDs() {
		environ, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
		if err == nil && pid != os.Getpid() && bytes.Contains(append([]byte{0}, environ...), want) {
			found = append(found, pid)
		}
	}
	return found
}

// groupAlive says whether a process group has members that are not zombies.
func groupAlive(pgid int) bool {
	for _, pid := range process.IDs() {
		fields, err := procid.Stat(pid)
		if err == nil && fields[2] == strconv.Itoa(pgid) && !procid.Ended(fields) {
			return true
		}
	}
	return false
}
