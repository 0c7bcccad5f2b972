package action

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// running is what the kernel says of a process.
type running struct {
	born  uint64 // in ticks since the machine was started; with the id it names one process for ever
	ticks uint64 // of processor time that it used
	state byte
}

// processOf reads /proc. A process that has ended and waits for its parent counts as gone.
func processOf(pid int) (running, bool) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return running{}, false
	}
	return parseStat(text)
}

// parseStat reads the fields after the name, which may have anything in it.
func parseStat(text []byte) (running, bool) {
	end := bytes.LastIndexByte(text, ')')
	if end < 0 {
		return running{}, false
	}
	fields := strings.Fields(string(text[end+1:]))
	if len(fields) < 20 || len(fields[0]) != 1 {
		return running{}, false
	}
	var r running
	r.state = fields[0][0]
	user, err1 := strconv.ParseUint(fields[11], 10, 64)
	system, err2 := strconv.ParseUint(fields[12], 10, 64)
	born, err3 := strconv.ParseUint(fields[19], 10, 64)
	if err1 != nil || err2 != nil || err3 != nil || strings.ContainsRune("ZXx", rune(r.state)) {
		return running{}, false
	}
	r.ticks, r.born = user+system, born
	return r, true
}

// canSeeProcesses says whether this system has /proc.
func canSeeProcesses() bool {
	_, ok := processOf(os.Getpid())
	return ok
}
