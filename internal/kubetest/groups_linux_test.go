package kubetest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/plimsoll-bench/plimsoll/internal/childproc"
	"github.com/plimsoll-bench/plimsoll/internal/notrun"
	"github.com/plimsoll-bench/plimsoll/lab/host"
)

// TestUnifiedGroups makes the groups of a node in the control groups of version 2 of this machine, which may have few
// controllers. A process runs in one of them, and the group beside it, which the kubelet makes, has all controllers.
func TestUnifiedGroups(t *testing.T) {
	g := findGroups("/sys/fs/cgroup", "plimsoll-kubetest-groups")
	if !g.unified {
		g = findGroups("/sys/fs/cgroup/unified", g.name)
	}
	if !g.unified || os.Geteuid() != 0 {
		notrun.Here(t, "version 2 of control groups is not mounted, or the user is not root")
		return
	}
	sleeper := exec.Command("sleep", "600")
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), Limit)
		defer cancel()
		if err := host.RemoveGroups(ctx, g.left()); err != nil {
			t.Error(err)
		}
		_ = sleeper.Wait() // it was killed with its group, if it was started
	})
	for _, name := range []string{"control", "n1", "n1/system", "n1/system"} {
		if err := g.make(name); err != nil {
			t.Fatal(err)
		}
	}
	system := g.place("n1/system", &namespace{file: os.Stdin}).Unified
	if err := childproc.Start(sleeper); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(system, "cgroup.procs"), []byte(fmt.Sprint(sleeper.Process.Pid)), 0); err != nil {
		t.Fatal(err)
	}
	pods := filepath.Join(filepath.Dir(system), "kubepods")
	if err := os.Mkdir(pods, 0o755); err != nil {
		t.Fatal(err)
	}
	read := func(dir string) string {
		text, err := os.ReadFile(filepath.Join(dir, "cgroup.controllers"))
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(string(text))
	}
	if all := read(g.mount); read(pods) != all || all == "" {
		t.Errorf("the pods of a node have the controllers %q, and the machine has %q", read(pods), all)
	}
}
