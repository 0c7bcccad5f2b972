package host_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll-bench/plimsoll/lab/host"
	"github.com/plimsoll-bench/plimsoll/lab/journal"
)

// killLab starts a lab in a process of its own and kills it after a while, or when it is complete.
func killLab(t *testing.T, mode, lab, home string, after time.Duration) (dir string) {
	t.Helper()
	dir = t.TempDir()
	s := helper("lab", mode, lab, dir, home)
	cmd := exec.Command(s.Path, s.Args...)
	cmd.Env, cmd.Stderr = s.Env, os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if after == 0 {
		if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "ready\n" {
			t.Errorf("the lab says %q, error %v", line, err)
		}
		for _, h := range []string{"host1", "host2"} {
			number(t, filepath.Join(dir, "hosts", h, "child"))
		}
	}
	time.Sleep(after)
	_ = cmd.Process.Kill()
	_ = cmd.Wait() // it was killed
	return dir
}

// clean removes what the journal in a directory has, and fails if anything of the lab is left.
func clean(t *testing.T, dir, lab, home string) {
	t.Helper()
	j, err := journal.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	before := j.Live()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	if err := j.Clean(ctx, host.Removers()); err != nil {
		t.Error(err)
	}
	if left := remains(lab, dir, home); len(left) > 0 {
		t.Errorf("left: %v\nthe journal had: %+v", left, before)
	}
	// What is gone can be removed again.
	for _, r := range before {
		if err := host.Removers()[r.Kind](ctx, r); err != nil {
			t.Errorf("removing %+v again: %v", r, err)
		}
	}
}

// remains are what is left of a lab on this machine.
func remains(lab, dir, home string) (left []string) {
	for _, pattern := range []string{
		"/sys/fs/cgroup/*/plimsoll-" + lab + "-*", "/sys/fs/cgroup/plimsoll-" + lab + "-*",
		"/run/plimsoll/netns/plimsoll-" + lab + "-*", filepath.Join(home, "promises", "*"),
	} {
		found, _ := filepath.Glob(pattern)
		left = append(left, found...)
	}
	children, _ := filepath.Glob(filepath.Join(dir, "hosts", "*", "child"))
	for _, file := range children {
		text, _ := os.ReadFile(file)
		pid := strings.TrimSpace(string(text))
		cmd, _ := os.ReadFile(filepath.Join("/proc", pid, "cmdline"))
		if pid != "" && strings.HasPrefix(string(cmd), "sleep\x00600") {
			left = append(left, "process "+pid)
		}
	}
	return append(left, links(dir)...)
}

// foreign makes a group and a namespace's file with names like those of labs, which the journal of none has.
func foreign(t *testing.T, mode, lab string) []string {
	t.Helper()
	if mode == host.Plain {
		return nil
	}
	name := "plimsoll-" + lab + "other-host1-00000000-1"
	hierarchies, _ := filepath.Glob("/sys/fs/cgroup/*/cgroup.procs")
	if len(hierarchies) == 0 {
		t.Fatal("no control groups are mounted")
	}
	group := filepath.Join(filepath.Dir(hierarchies[0]), name)
	if err := os.Mkdir(group, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Remove(group) })
	space := filepath.Join("/run/plimsoll/netns", name)
	eventually(t, "a file in a directory that labs remove when it is empty", func() bool {
		return errors.Join(os.MkdirAll(filepath.Dir(space), 0o755), os.WriteFile(space, nil, 0o600)) == nil
	})
	t.Cleanup(func() {
		_, _ = os.Remove(space), os.Remove(filepath.Dir(space))
		_ = os.Remove("/run/plimsoll") // if it is empty
	})
	return []string{group, space}
}

// Whenever a lab is killed, what it made is removed by the next process.
func TestKilled(t *testing.T) {
	for _, mode := range modes(t) {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			seed := rand.Uint64()
			t.Logf("seed %d", seed)
			random := rand.New(rand.NewPCG(seed, 0))
			survives := foreign(t, mode, fmt.Sprintf("killed-%s%d-", mode, os.Getpid()))
			for i := range 8 {
				lab, home := fmt.Sprintf("killed-%s%d-%d", mode, os.Getpid(), i), t.TempDir()
				var after time.Duration // the first is killed when it is complete
				if i > 0 {
					after = time.Millisecond + time.Duration(random.Int64N(int64(400*time.Millisecond)))
				}
				clean(t, killLab(t, mode, lab, home, after), lab, home)
			}
			for _, path := range survives {
				if _, err := os.Stat(path); err != nil {
					t.Errorf("something of somebody else is gone: %v", err)
				}
			}
		})
	}
}

// A remover leaves alone what is another's by now: processes whose id was used again, promises that were made anew.
func TestRemoversLeaveOthersAlone(t *testing.T) {
	t.Parallel()
	other := exec.Command("/bin/sleep", "600")
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = other.Process.Kill()
		_ = other.Wait() // it was killed
	}()
	g := newMaker(t, host.Plain, t.TempDir())
	if _, err := g.host(t, "host1", host.Limits{}).Port(); err != nil {
		t.Fatal(err)
	}
	promise := g.journal.Live()[0]
	pid := strconv.Itoa(other.Process.Pid)
	boot, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	for _, r := range []journal.Resource{
		{Kind: "process", Name: "sleep"},
		{Kind: "process", Name: "sleep", Details: map[string]string{"pid": pid, "born": "1", "boot": strings.TrimSpace(string(boot))}},
		{Kind: "process", Name: "sleep", Details: map[string]string{"pid": pid, "born": "1", "boot": "an earlier one"}},
		{Kind: "promise", Name: promise.Name},
	} {
		if err := host.Removers()[r.Kind](t.Context(), r); err != nil {
			t.Errorf("%+v: %v", r, err)
		}
	}
	if cmd, err := os.ReadFile(filepath.Join("/proc", pid, "cmdline")); err != nil || len(cmd) == 0 {
		t.Error("the process of somebody else was ended")
	}
	if _, err := os.Stat(promise.Name); err != nil {
		t.Errorf("the promise of another lab was removed: %v", err)
	}
}
