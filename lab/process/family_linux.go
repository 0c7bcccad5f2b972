package process

import (
	"os"
	"strconv"
	"strings"
)

// Family returns a process and its living descendants: it asks the kernel for the children of each, which costs a
// fraction of what [Descendants] reads. One that begins or ends meanwhile may be missing, so it is not for ending
// processes.
func Family(pid int) []int {
	found := []int{pid}
	for i := 0; i < len(found); i++ {
		children, ok := Children(found[i])
		if !ok && i == 0 { // a kernel without these lists, or a process that has ended
			return append(found, Descendants(pid)...)
		}
		found = append(found, children...)
	}
	return found
}

// Children returns the living children of a process, those of all its threads, and false where the kernel has no lists
// of them or the process has ended.
func Children(pid int) (children []int, ok bool) {
	dir := "/proc/" + strconv.Itoa(pid) + "/task/"
	tasks, err := os.Open(dir)
	if err != nil {
		return nil, false
	}
	threads, _ := tasks.Readdirnames(-1) // what was read until an error is what there is
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
