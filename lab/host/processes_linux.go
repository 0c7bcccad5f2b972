package host

import (
	"bytes"
	"os"
	"strconv"
	"strings"
	"sync"
)

// bootID tells one run of the kernel from the next: ids of processes begin anew.
var bootID = sync.OnceValue(func() string {
	text, _ := os.ReadFile("/proc/sys/kernel/random/boot_id") // without it ids and start times must do
	return strings.TrimSpace(string(text))
})

// marked are the processes whose mark begins with what is given, without this one and those that have ended. A process
// may have taken its mark off, and those of other users are not seen.
func marked(mark string) []int {
	want := []byte("\x00" + markVar + "=" + mark)
	var found []int
	for _, pid := range pids() {
		environ, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
		if err == nil && pid != os.Getpid() && bytes.Contains(append([]byte{0}, environ...), want) {
			found = append(found, pid)
		}
	}
	return found
}

// pids are the ids of all processes.
func pids() []int {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1) // what was read until an error is what there is
	var all []int
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			all = append(all, pid)
		}
	}
	return all
}

// groupAlive says whether a process group has members that are not zombies.
func groupAlive(pgid int) bool {
	for _, pid := range pids() {
		text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
		if err != nil {
			continue
		}
		fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
		if len(fields) > 2 && fields[2] == strconv.Itoa(pgid) && fields[0] != "Z" && fields[0] != "X" {
			return true
		}
	}
	return false
}
