package files

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// A directory in which this user may not write is refused before a record is begun.
func TestRefuseWhatCannotBeWritten(t *testing.T) {
	dir := t.TempDir()
	if err := Refuse(dir); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Chmod(dir, 0o555), os.Chmod(filepath.Dir(dir), 0o755)); err != nil {
		t.Fatal(err)
	}
	got := make(chan error)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends with what it is
		if os.Geteuid() == 0 { // root may write anywhere
			const nobody = 65534
			if _, _, errno := unix.RawSyscall(unix.SYS_SETRESUID, nobody, nobody, nobody); errno != 0 {
				got <- errno
				return
			}
		}
		got <- Refuse(dir)
	}()
	err := <-got
	var refused *RefusedError
	if !errors.As(err, &refused) || refused.Forced || !strings.Contains(err.Error(), "choose a directory that you may write to") {
		t.Errorf("error %v", err)
	}
}
