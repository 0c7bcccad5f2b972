package record

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/procid"
	"github.com/plimsoll-bench/plimsoll/internal/safeopen"
)

// The lock of a directory that is being written is a lock of the kernel on the file [LockFile] in it, which ends with
// the process. The content of the file is only for messages.

// holdFor is how long [Hold] tries before it reports another process: [Holder] takes the lock for some microseconds to
// test it.
const (
	holdFor   = time.Second
	holdRetry = 10 * time.Millisecond
)

// errHeld is the error of lockFile if another process has the lock.
var errHeld = errors.New("held by another process")

// HeldError says that another process is writing a directory.
type HeldError struct {
	Dir string
	Pid int // 0 if it could not be read
	// Since is when it began, zero if it could not be read.
	Since time.Time
}

func (e *HeldError) Error() string {
	who := "another process"
	if e.Pid > 0 {
		who = fmt.Sprintf("process %d", e.Pid)
	}
	if !e.Since.IsZero() {
		who += ", since " + e.Since.UTC().Format(time.RFC3339)
	}
	return fmt.Sprintf("%s is being written by %s. Wait until it has ended, or end it", e.Dir, who)
}

// holding is the content of the lock file.
type holding struct {
	procid.ID
	Started time.Time `json:"started"`
}

// Hold prevents other processes from writing a directory until release is called or this process ends. It makes the
// directory if needed. If another process has it, the error is a [*HeldError]. On a file system without locks it always
// succeeds.
func Hold(dir string) (release func(), err error) {
	if strings.TrimSpace(dir) == "" {
		return nil, errNoDir
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, explain(dir, err)
	}
	for deadline := time.Now().Add(holdFor); ; time.Sleep(holdRetry) {
		f, err := tryHold(dir)
		switch {
		case err == nil:
			return func() { _ = os.Remove(f.Name()); f.Close() }, nil
		case !errors.Is(err, errHeld):
			return nil, explain(dir, err)
		case time.Now().After(deadline):
			h := readHolding(dir)
			return nil, &HeldError{Dir: dir, Pid: h.PID, Since: h.Started}
		}
	}
}

// tryHold takes the lock once and writes down who has it.
func tryHold(dir string) (f *os.File, err error) {
	name := filepath.Join(dir, LockFile)
	if f, err = os.OpenFile(name, os.O_CREATE|os.O_RDWR|safeopen.NoLink, 0o644); err != nil {
		return nil, err
	}
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		f.Close()
		return nil, &fs.PathError{Op: "lock", Path: name, Err: safeopen.ErrNotRegular}
	}
	defer func() {
		if err != nil {
			f.Close()
		}
	}()
	if err := lockFile(f, true); err != nil {
		return nil, err
	}
	// The one who had it may have removed the file between our opening and locking it.
	if !samePlace(f) {
		return nil, errHeld
	}
	b, err := json.Marshal(holding{ID: procid.Self(), Started: time.Now().UTC().Truncate(time.Second)})
	if err != nil {
		return nil, err
	}
	if err := f.Truncate(0); err != nil {
		return nil, err
	}
	_, err = f.WriteAt(append(b, '\n'), 0)
	return f, err
}

// samePlace reports whether an open file is still the one of its name.
func samePlace(f *os.File) bool {
	here, err := f.Stat()
	if err != nil {
		return false
	}
	there, err := os.Stat(f.Name())
	return err == nil && os.SameFile(here, there)
}

// Holder says whether a process is writing a directory, and which one; pid is 0 where that could not be read.
func Holder(dir string) (pid int, held bool) {
	f, err := safeopen.Open(dir, LockFile)
	if err != nil {
		return 0, false
	}
	defer f.Close() // which unlocks it as well
	if !errors.Is(lockFile(f, false), errHeld) {
		return 0, false
	}
	return readHolding(dir).PID, true
}

func readHolding(dir string) holding {
	var h holding
	b, err := safeopen.ReadFile(dir, LockFile, 1<<16)
	if err != nil || safeopen.Unmarshal(b, &h) != nil {
		return holding{}
	}
	return h
}

// Interrupt sends SIGINT to the process that writes dir, as Ctrl-C does. What the lock file says may have been written
// in another PID namespace, before a restart, or by another user, so the signal is sent only to a process that is
// proven to be the writer: its boot, namespace and start are those of the file, and the kernel says that it holds the
// lock.
func Interrupt(dir string, pid int) error {
	h := readHolding(dir)
	err := errors.New("the lock file of the record does not name this process")
	if pid > 1 && h.PID == pid {
		err = h.Signal(syscall.SIGINT, func() error { return holdsLock(dir, pid) })
	}
	if err != nil {
		return fmt.Errorf("process %d was not interrupted: %w. End the run where it was started", pid, err)
	}
	return nil
}

var errNotHolding = errors.New("it does not hold the lock of the record")

// lockFile locks a file without waiting. The lock belongs to the open file: it ends with it.
func lockFile(f *os.File, exclusive bool) error {
	how := syscall.LOCK_SH
	if exclusive {
		how = syscall.LOCK_EX
	}
	for {
		switch err := syscall.Flock(int(f.Fd()), how|syscall.LOCK_NB); {
		case errors.Is(err, syscall.EINTR):
		case errors.Is(err, syscall.EWOULDBLOCK):
			return errHeld
		case errors.Is(err, syscall.ENOSYS), errors.Is(err, syscall.ENOTSUP), errors.Is(err, syscall.ENOLCK),
			errors.Is(err, syscall.EINVAL):
			return nil // this file system knows no locks
		default:
			return err
		}
	}
}
