package disktest

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/plimsoll-bench/plimsoll/internal/mountinfo"
)

// aloneVariable says that the test program has mounts of its own already.
const aloneVariable = "PLIMSOLL_TEST_ALONE"

// Alone begins the test program anew with mounts that nobody else sees. Other programs on the machine copy all mounts
// that they see when they make a namespace, and a loop device is in use for as long as such a copy of what is mounted
// from it lives. What a killed test program has mounted ends with it.
func Alone() {
	if os.Getuid() != 0 || os.Getenv(aloneVariable) != "" {
		return
	}
	runtime.LockOSThread()
	err := unix.Unshare(unix.CLONE_NEWNS)
	if err == nil {
		err = unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, "")
	}
	if err == nil {
		dropCopies()
		err = syscall.Exec("/proc/self/exe", os.Args, append(os.Environ(), aloneVariable+"=1"))
	}
	fmt.Fprintln(os.Stderr, "the tests share their mounts with others:", err)
	runtime.UnlockOSThread()
}

// dropCopies unmounts, in the namespace of this program alone, what others mounted from loop devices and by FUSE.
func dropCopies() {
	mounts, _ := mountinfo.Self()
	for _, m := range mounts {
		if strings.HasPrefix(m.Source, "/dev/loop") || strings.HasPrefix(m.Type, "fuse") {
			_ = unix.Unmount(m.Point, unix.MNT_DETACH) // it may have gone with one below it
		}
	}
}
