package engine

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// removeSharedMemory removes the small System V segment that a killed PostgreSQL leaves behind.
// Segments are PostgreSQL's interlock against two servers on the same data, so one that a process
// still uses stays. The seventh line of postmaster.pid names it: "key id". The id alone would not do:
// after a reboot it may be another program's.
func removeSharedMemory(dataDir string) {
	text, err := os.ReadFile(filepath.Join(dataDir, postgresDir, "postmaster.pid"))
	lines := strings.Split(string(text), "\n")
	if err != nil || len(lines) < 7 {
		return
	}
	var key, id int
	if _, err := fmt.Sscan(lines[6], &key, &id); err != nil {
		return
	}
	var desc unix.SysvShmDesc
	if _, err := unix.SysvShmCtl(id, unix.IPC_STAT, &desc); err != nil {
		return
	}
	if desc.Nattch == 0 && desc.Perm.Key == int32(key) {
		_, _ = unix.SysvShmCtl(id, unix.IPC_RMID, nil) // 56 bytes that stay are no reason to fail
	}
}
