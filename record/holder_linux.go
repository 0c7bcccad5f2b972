package record

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/plimsoll-bench/plimsoll/internal/safeopen"
)

// holdsLock is nil if the kernel says that a process has the lock file of dir locked. Devices are not compared:
// btrfs shows another number in /proc/locks than stat does.
func holdsLock(dir string, pid int) error {
	f, err := safeopen.Open(dir, LockFile)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	inode := info.Sys().(*syscall.Stat_t).Ino
	locks, err := os.ReadFile("/proc/locks")
	if err != nil {
		return fmt.Errorf("%s: %w", filepath.Join(dir, LockFile), err)
	}
	for line := range strings.Lines(string(locks)) {
		// 1: FLOCK  ADVISORY  WRITE 708 00:13:1234 0 EOF
		fields := strings.Fields(line)
		if len(fields) < 6 || fields[1] != "FLOCK" || fields[3] != "WRITE" || fields[4] != strconv.Itoa(pid) {
			continue
		}
		if at := strings.LastIndexByte(fields[5], ':'); fields[5][at+1:] == strconv.FormatUint(inode, 10) {
			return nil
		}
	}
	return errNotHolding
}
