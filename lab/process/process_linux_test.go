package process

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestStartTime(t *testing.T) {
	me := os.Getpid()
	born, err := StartTime(me)
	if err != nil || born == 0 || !Alive(me, born) || Alive(me, born+1) {
		t.Errorf("start time %d, error %v", born, err)
	}
}

// A tree with a mount in it is unmounted first: what is mounted must survive the removal. Only root can mount.
func TestRemoveTreeUnmounts(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Log("not tested: only root can mount")
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
