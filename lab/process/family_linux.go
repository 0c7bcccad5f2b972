package process

import (
	"os"
	"strconv"
	"strings"
)

// Family returns a process and its living descendants. It reads the kernel's list of children of each, which costs a
// fraction of [Descendants]. A process that starts or ends meanwhile may be missing, so do not use it to end processes.
func Family(pid int) []int {
	found := []int{pid}
	for i := 0; i < len(found); i++ {
		children, ok := Children(found[i])
		if !ok && i == 0 { // a kernel without lists of children, or a process that has ended
			return append(found, Descendants(pid)...)
		}
		found = append(found, children...)
	}
	return found
}

// Children returns the living children of all threads of a process. ok is false if the kernel has no lists of children,
// or the process has ended.
func Children(pid int) (children []int, ok bool) {
	dir := "/proc/" + strconv.Itoa(pid) + "/task/"
	tasks, err := os.Open(dir)
	if err != nil {
		return nil, false
	}
	threads, _ := tasks.Readdirnames(-1) // the names before an error are used
	tasks.Close()
	for _, thread := range threads {
		text, err := os.ReadFile(dir + thread + "/children")
		if err != nil {
			continue // the thread has ended
		}
		ok = true
		for word := range strings.FieldsSeq(string(text)) {
			if child, err := strconv.Atoi(word); err == nil {
				children = append(children, child)
			}
		}
	}
	return children, ok
}
