package volume

import (
	"context"
	"io"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/plimsoll-bench/plimsoll/spec"
)

// copyMounts starts a program with a copy of all mounts of this machine, from which nothing goes by itself, and returns
// when it has them. It runs until the test ends.
func copyMounts(t *testing.T, in string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command("unshare", "--mount", "--propagation", "private", "sh", "-c", `cd "$1" && echo && exec cat`, "sh", in)
	stdin, err := cmd.StdinPipe() // cat waits for it to be closed
	must(t, err)
	stdout, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	t.Cleanup(func() {
		_ = stdin.Close()
		_ = cmd.Wait() // it may have been killed
	})
	_, err = io.ReadFull(stdout, make([]byte, 1))
	must(t, err)
	return cmd
}

// A program that has copies of a volume's mount does not keep it: not when it is mounted anew, not when it is removed.
func TestCopiesOfMounts(t *testing.T) {
	if !canMount(t) {
		return
	}
	for _, p := range []spec.Storage{{Size: small, Filesystem: "ext4"}, {Size: small, Tolerate: 1}} {
		b := newBench(t, p)
		v := b.volume(t)
		other := copyMounts(t, "/")
		mounts := filepath.Join("/proc", strconv.Itoa(other.Process.Pid), "mountinfo")
		if !strings.Contains(content(mounts), v.Dir()) {
			t.Fatal("the program has no copy of the mount")
		}
		sum := fill(t, filepath.Join(v.Dir(), "f"), small/8, 1)
		must(t, v.Remount(context.Background()))
		if strings.Contains(content(mounts), v.Dir()) {
			t.Error("the program has the old mount still")
		}
		verify(t, filepath.Join(v.Dir(), "f"), sum)
		last := copyMounts(t, "/")
		must(t, b.Close(context.Background()))
		for _, p := range []*exec.Cmd{other, last} {
			if err := p.Process.Signal(syscall.Signal(0)); err != nil {
				t.Errorf("the program has ended: %v", err)
			}
		}
	}
}

// Who really uses a copy is named, and the volume can be removed when that has ended.
func TestCopyInUse(t *testing.T) {
	if !canMount(t) {
		return
	}
	b := newBench(t, spec.Storage{Size: small, Tolerate: 1})
	v := b.volume(t)
	other := copyMounts(t, v.Dir())
	v.(*blocks).dropBallast()
	must(t, unix.Unmount(v.Dir(), 0))
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	err := awaitRelease(ended, v.Devices()[0])
	if err == nil || !strings.Contains(err.Error(), strconv.Itoa(other.Process.Pid)+" (cat)") ||
		!strings.Contains(err.Error(), v.Dir()) {
		t.Errorf("it says %v, which does not name process %d", err, other.Process.Pid)
	}
	must(t, other.Process.Kill())
	must(t, b.Close(context.Background()))
}

// What is still mounted here is in use, and its copies are left alone.
func TestCopiesOfWhatIsMounted(t *testing.T) {
	if !canMount(t) {
		return
	}
	v := newBench(t, spec.Storage{Size: small}).volume(t)
	other := copyMounts(t, "/")
	held := unmountCopies(v.Devices()[0])
	if len(held) == 0 || !strings.Contains(held[0], "mounted at "+v.Dir()) {
		t.Errorf("in use by %v", held)
	}
	if !strings.Contains(content(filepath.Join("/proc", strconv.Itoa(other.Process.Pid), "mountinfo")), v.Dir()) {
		t.Error("a copy is gone")
	}
}
