package platform

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/notrun"
	"github.com/plimsoll-bench/plimsoll/internal/procid"
	"github.com/plimsoll-bench/plimsoll/lab"
	"github.com/plimsoll-bench/plimsoll/lab/process"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// writesUntilItFails writes to a file, each block to the disk, as the process that waits for a disk that hangs.
const writesUntilItFails = `echo; while dd if=/dev/zero of="$0" bs=64k count=1 conv=fsync 2>/dev/null; do :; done`

// A disk hangs with a process in it that the kernel cannot end, and the supervisor of its lab is killed. The process
// comes back, with an error, and the lab is removed at once with all that it was made of.
func TestHangingDiskOfALabThatIsKilled(t *testing.T) {
	if os.Geteuid() != 0 {
		notrun.Here(t, "virtual disks need root")
		return
	}
	home := t.TempDir()
	asked := spec.Lab{Name: fmt.Sprintf("hang-%d", os.Getpid()), Deadline: spec.Duration(patience)}
	asked.Engine.Name = "none"
	asked.Hosts.Mode = "isolated"
	asked.Storage = spec.Storage{Size: 512 << 20, Filesystem: "ext4", Faults: true}
	if err := asked.Complete(); err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	h, err := lab.Up(t.Context(), asked, lab.Options{Home: home, Executable: self})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	down := func() error {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		return lab.Down(ctx, home, asked.Name, nil)
	}
	t.Cleanup(func() { _ = down() })
	b := &bench{h: h, home: home}
	l := b.until(t, "its volume is there", func(l record.Lab) bool { return len(l.Volumes) == 1 && l.Volumes[0].Mount != "" })
	writer := startWriter(t, filepath.Join(l.Volumes[0].Mount, "file"))
	if _, err := h.Fail(t.Context(), spec.Fault{Action: spec.ParseAction("disk-hang:" + l.Volumes[0].Name)}, 0); err != nil {
		t.Fatal(err)
	}
	b.waits(t)
	killSupervisor(t, h.Dir())
	if err := down(); err != nil {
		t.Errorf("the lab cannot be removed: %v", err)
	}
	if err := process.Gone(writer, patience); err != nil {
		t.Errorf("who waited for the disk waits still: %v", err)
	}
	if left := leftIn(t, h.Dir()); left != "" {
		t.Errorf("left is %s", left)
	}
}

// startWriter starts a program that writes until it cannot, and returns it with what it has started.
func startWriter(t *testing.T, file string) map[int]uint64 {
	t.Helper()
	cmd := exec.Command("/bin/sh", "-c", writesUntilItFails, file)
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err == nil {
		_, err = io.ReadFull(out, make([]byte, 1)) // it runs
	}
	if err != nil {
		t.Fatal(err)
	}
	born := procid.Of(cmd.Process.Pid).Ticks
	ended := make(chan struct{})
	go func() { _ = cmd.Wait(); close(ended) }() // that its disk is gone is how it ends
	t.Cleanup(func() { process.KillTree(cmd.Process.Pid); <-ended })
	return map[int]uint64{cmd.Process.Pid: born}
}

// waits returns when a request waits for a disk of the lab.
func (b *bench) waits(t *testing.T) {
	t.Helper()
	for limit := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) {
		w, err := b.h.Counters(t.Context())
		for _, d := range w.Disks {
			if d.Stats.Waiting > 0 {
				return
			}
		}
		if time.Now().After(limit) {
			t.Fatalf("nothing waits for the disk: %+v, %v", w.Disks, err)
		}
	}
}

// killSupervisor kills the supervisor of a lab.
func killSupervisor(t *testing.T, dir string) {
	t.Helper()
	var s struct{ PID int }
	text, err := os.ReadFile(filepath.Join(dir, "supervisor.json"))
	if err == nil {
		err = json.Unmarshal(text, &s)
	}
	if err == nil {
		err = syscall.Kill(s.PID, syscall.SIGKILL)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// leftIn says what of a lab is left: its directory, mounts, loop devices, or processes that were started in it.
func leftIn(t *testing.T, dir string) string {
	t.Helper()
	if _, err := os.Lstat(dir); err == nil {
		return dir
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(mounts), dir+"/") {
		return "a mount in " + dir
	}
	for _, pattern := range []string{"/sys/block/loop*/loop/backing_file", "/proc/[0-9]*/cmdline"} {
		files, _ := filepath.Glob(pattern)
		for _, f := range files {
			// one that has gone meanwhile is not left
			if text, err := os.ReadFile(f); err == nil && strings.Contains(string(text), dir+"/") {
				return f + ": " + strings.ReplaceAll(string(text), "\x00", " ")
			}
		}
	}
	for _, pattern := range []string{"/run/plimsoll/netns/plimsoll-%s-*", "/sys/fs/cgroup/plimsoll-%s-*", "/sys/fs/cgroup/*/plimsoll-%s-*"} {
		if found, _ := filepath.Glob(fmt.Sprintf(pattern, filepath.Base(dir))); len(found) > 0 {
			return found[0]
		}
	}
	return ""
}
