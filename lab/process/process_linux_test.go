package process

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/plimsoll-bench/plimsoll/internal/notrun"
	"github.com/plimsoll-bench/plimsoll/internal/procid"
)

func TestAlive(t *testing.T) {
	me := os.Getpid()
	born := procid.Of(me).Ticks
	if born == 0 || !Alive(me, born) || Alive(me, born+1) {
		t.Errorf("start time %d", born)
	}
}

// A program gets the limit of open files that is asked for, and never more than this process may have. The limit is
// there when the start is over.
func TestOpenFiles(t *testing.T) {
	var own unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &own); err != nil {
		t.Fatal(err)
	}
	for wanted, want := range map[uint64]uint64{256: 256, own.Max + 1: own.Max} {
		file := filepath.Join(t.TempDir(), "file")
		p, err := Start(t.Context(), Spec{Role: "sh", Path: "/bin/sh", Args: []string{"-c", `until [ -e "$0" ]; do sleep 0.01; done; ulimit -S -n >"$0"`, file}, OpenFiles: wanted})
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, nil, 0o600); err != nil { // the start is over
			t.Error(err)
			p.Kill()
		}
		<-p.Done
		out, err := os.ReadFile(file)
		if got := strings.TrimSpace(string(out)); err != nil || got != strconv.FormatUint(want, 10) {
			t.Errorf("asked for %d files the program may open %s, error %v; want %d", wanted, got, err, want)
		}
	}
	p, err := Start(t.Context(), Spec{Role: "sleep", Path: "/bin/sh", Args: []string{"-c", "sleep 600"}, OpenFiles: 300})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Kill()
	if got := OpenFiles(p.PID); got != 300 {
		t.Errorf("the process may open %d files, want 300", got)
	}
}

// A tree with a mount in it is unmounted first: what is mounted must survive the removal. Only root can mount.
func TestRemoveTreeUnmounts(t *testing.T) {
	if os.Geteuid() != 0 {
		notrun.Here(t, "only root can mount")
		return
	}
	precious := filepath.Join(t.TempDir(), "precious")
	tree := filepath.Join(t.TempDir(), "a tree")
	at := filepath.Join(tree, "deep", "mount point")
	for _, dir := range []string{precious, at} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(precious, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount(precious, at, "", unix.MS_BIND, ""); err != nil {
		t.Fatal(err)
	}
	if err := RemoveTree(tree); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(file); err != nil {
		t.Errorf("what was mounted is gone: %v", err)
	}
	if _, err := os.Stat(tree); err == nil {
		t.Error("the tree is left")
	}
}

// What a program started is ended with it, also what it left in the background.
func TestRunEndsDescendants(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	go func() {
		_, _ = r.Read(make([]byte, 1)) // it runs
		cancel()
	}()
	_, err = Run(ctx, Spec{Role: "sleeper", Path: "/bin/sh", Args: []string{"-c", "sleep 600 & echo; wait"}}, w)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	if left := Descendants(os.Getpid()); slices.ContainsFunc(left, isSleep) {
		t.Errorf("processes %v are left", left)
	}
}

func isSleep(pid int) bool {
	cmd, _ := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "comm"))
	return strings.TrimSpace(string(cmd)) == "sleep"
}

// What is mounted as a hierarchy may be a part of it, as in containers.
func TestGroupDir(t *testing.T) {
	for _, c := range []struct{ dir, path, old, want string }{
		{"/sys/fs/cgroup/cpu/plimsoll-a", "/plimsoll-a", "/", "/sys/fs/cgroup/cpu"},
		{"/sys/fs/cgroup/cpu/plimsoll-a", "/plimsoll-a", "/user.slice/x", "/sys/fs/cgroup/cpu/user.slice/x"},
		{"/sys/fs/cgroup/cpu/plimsoll-a", "/docker/1/plimsoll-a", "/docker/1", "/sys/fs/cgroup/cpu"},
		{"/sys/fs/cgroup/cpu/plimsoll-a", "/docker/1/plimsoll-a", "/docker/1/b", "/sys/fs/cgroup/cpu/b"},
	} {
		if got := groupDir(c.dir, c.path, c.old); got != c.want {
			t.Errorf("%v: %s", c, got)
		}
	}
}

// The thread that waits for a process in a group and a namespace is in neither itself. Only root can make them.
func TestPlaceIsLeft(t *testing.T) {
	group := filepath.Join("/sys/fs/cgroup/cpu", "plimsoll-process-test-"+strconv.Itoa(os.Getpid()))
	if err := os.Mkdir(group, 0o755); err != nil {
		notrun.Here(t, "no control groups of version 1: %v", err)
		return
	}
	t.Cleanup(func() {
		if err := os.Remove(group); err != nil {
			t.Error(err)
		}
	})
	home, err := os.Readlink("/proc/thread-self/ns/net")
	if err != nil {
		t.Fatal(err)
	}
	OnThread(func() {
		if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
			t.Error(err)
			return
		}
		file := filepath.Join("/proc", strconv.Itoa(os.Getpid()), "task", strconv.Itoa(unix.Gettid()), "ns/net")
		p, err := Start(t.Context(), Spec{Role: "sleeper", Path: "/bin/sleep", Args: []string{"600"},
			Place: Place{Network: file, Groups: []string{group}}})
		if err != nil {
			t.Error(err)
			return
		}
		defer p.Kill()
		if inside, _ := os.ReadFile(filepath.Join(group, "tasks")); strings.TrimSpace(string(inside)) != strconv.Itoa(p.PID) {
			t.Errorf("in the group are %q, not just %d", inside, p.PID)
		}
		if at, _ := os.Readlink(filepath.Join("/proc", strconv.Itoa(p.PID), "ns/net")); at == home {
			t.Error("the process is in the namespace of the machine")
		}
		threads, _ := filepath.Glob("/proc/self/task/*/ns/net")
		elsewhere := 0
		for _, thread := range threads {
			if at, err := os.Readlink(thread); err == nil && at != home {
				elsewhere++
			}
		}
		if elsewhere != 1 { // this one
			t.Errorf("%d threads are in other namespaces", elsewhere)
		}
	})
}

// A program that leaves something behind which holds its output ends with the context all the same.
func TestRunEndsWithItsContext(t *testing.T) {
	file := filepath.Join(t.TempDir(), "pid")
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := Run(ctx, Spec{Role: "leaver", Path: "/bin/sh", Args: []string{"-c", "sleep 1000 & echo $! >" + file + ".new; mv " + file + ".new " + file}}, io.Discard)
		done <- err
	}()
	var left []byte
	for len(left) == 0 {
		time.Sleep(10 * time.Millisecond)
		left, _ = os.ReadFile(file)
	}
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("it ended with %v", err)
	}
	if pid, err := strconv.Atoi(strings.TrimSpace(string(left))); err == nil {
		_ = syscall.Kill(pid, syscall.SIGKILL) // what it left
	}
}

func TestRunBoundsOutput(t *testing.T) {
	_, err := Run(t.Context(), Spec{Role: "babbler", Path: "/bin/sh", Args: []string{"-c", "exec yes"}}, io.Discard)
	if err == nil || !strings.Contains(err.Error(), "wrote more than") {
		t.Errorf("it ended with %v", err)
	}
}
