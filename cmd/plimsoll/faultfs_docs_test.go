package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/notrun"
)

// TestFaultfsDocs runs what docs/faultfs.md shows as one session of a shell, with real mounts and loop devices.
func TestFaultfsDocs(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "faultfs.md"))
	if err != nil {
		t.Fatal(err)
	}
	documentedFaultfsFlags(t, string(page))
	commands := shellCommands(string(page))
	if len(commands) < 25 {
		t.Fatalf("found only %d commands: %q", len(commands), commands)
	}
	if os.Getuid() != 0 || runtime.GOOS != "linux" {
		if os.Getenv("CI") != "" {
			t.Fatal("CI must be root on Linux")
		}
		notrun.Here(t, "the commands need root on Linux: they are not run here")
		return
	}
	out, err := faultfsSession(t, commands)
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, want := range []string{`"lie": `, "+ cat", "before", "nvme-plp", "smalldatum", "disk  size"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is not in what the commands printed:\n%s", want, out)
		}
	}
}

// faultfsSession runs commands in a shell whose mounts nobody else sees, below a directory of its own.
func faultfsSession(t *testing.T, commands []string) (string, error) {
	t.Helper()
	dir, err := os.MkdirTemp("", "plimsoll-docs-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(self, filepath.Join(dir, "plimsoll")); err != nil {
		t.Fatal(err)
	}
	session := strings.NewReplacer("/var/tmp/disks", dir+"/data", "/mnt/disks", dir+"/disks", "/mnt/data", dir+"/fs", "/run/disks.sock", dir+"/s").
		Replace(strings.Join(commands, "\n"))
	// A number of a loop device may belong to somebody else by now, so it is found by its file.
	const cleanup = `clean() { status=$?; set +e; trap - EXIT; umount "$D/fs"
		losetup -nl -O NAME,BACK-FILE | while read -r l f; do case $f in "$D"/*) losetup -d "$l";; esac; done
		kill %1; wait; exit $status; }; trap clean EXIT` + "\n"
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "unshare", "--mount", "--propagation", "private", "bash", "-m", "-e", "-x", "-c", cleanup+session)
	cmd.Env = append(os.Environ(), "D="+dir, "PATH="+dir+":"+os.Getenv("PATH"))
	cmd.WaitDelay = time.Minute
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// documentedFaultfsFlags compares the flags of the page with those of the commands.
func documentedFaultfsFlags(t *testing.T, page string) {
	t.Helper()
	env, _, _ := engineEnvironment(t.TempDir())
	root := newFaultfsCommand(env)
	for _, m := range regexp.MustCompile("`(?:plimsoll faultfs [a-z ]*)?--([a-z-]+)").FindAllStringSubmatch(page, -1) {
		found := m[1] == "direct-io" // of losetup
		for _, c := range append(root.Commands(), newFaultfsControlCommand(env).Commands()...) {
			found = found || c.Flags().Lookup(m[1]) != nil || c.PersistentFlags().Lookup(m[1]) != nil
		}
		if !found {
			t.Errorf("no command of faultfs has the flag --%s", m[1])
		}
	}
}
