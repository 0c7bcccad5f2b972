//go:build !race

package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// follower is a running command and its output so far.
type follower struct {
	*command
	out string
}

func follow(t *testing.T, args ...string) follower {
	t.Helper()
	f := files(t)
	c := &command{cmd: exec.Command(f.binary, args...), args: args, dir: t.TempDir(), done: make(chan struct{})}
	out, err := os.Create(filepath.Join(c.dir, "stdout"))
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	c.cmd.Env = append(os.Environ(), "PLIMSOLL_HOME="+f.home)
	c.cmd.Dir, c.cmd.Stdout, c.cmd.Stderr = c.dir, out, &c.stderr
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { c.err = c.cmd.Wait(); close(c.done) }()
	t.Cleanup(func() { _ = c.cmd.Process.Kill(); <-c.done })
	return follower{c, out.Name()}
}

// says waits until the output has a text at least n times.
func (f follower) says(t *testing.T, text string, times int) {
	t.Helper()
	until(t, strings.Join(f.args, " ")+" prints "+text, func() bool {
		printed, err := os.ReadFile(f.out)
		return err == nil && strings.Count(string(printed), text) >= times
	})
}

// testFollowers starts commands that run until a lab is removed, and ends one of them with Ctrl-C. It returns the
// others.
func testFollowers(t *testing.T, name, member string) []follower {
	t.Helper()
	watch := follow(t, "lab", "status", name, "--watch")
	watch.says(t, name+": up", 2)
	interrupted := follow(t, "lab", "logs", name, "-f")
	interrupted.says(t, "usable after", 1)
	events := follow(t, "lab", "logs", name, "--follow")
	plimsoll(t, "lab", "fail", name, "pause", member, "--for", "1s").must(t, 0)
	events.says(t, "pause "+member+" is reverted", 1)
	log := follow(t, "lab", "logs", name, member, "-f", "-n", "3")
	log.says(t, "\n", 1)
	interrupted.signal(t, syscall.SIGINT)
	interrupted.wait(t).must(t, 0)
	return []follower{watch, events, log}
}

// testCompletion completes names of labs and of their parts, like a shell.
func testCompletion(t *testing.T, name, member, host string) {
	t.Helper()
	for _, c := range []struct {
		args    string
		has     []string
		without string
	}{
		{"status", []string{name}, host},
		{"exec " + name, []string{host, member, "primary"}, name},
		{"logs " + name, []string{member}, host},
		{"fail " + name, []string{"kill", "power-off"}, host},
		{"fail " + name + " kill", []string{host, member, "random"}, name},
		{"heal " + name, nil, host},
		{"repair " + name, nil, host},
		{"down", []string{name}, host},
	} {
		args := append(append([]string{"__complete", "lab"}, strings.Fields(c.args)...), "")
		words := strings.Fields(plimsoll(t, args...).must(t, 0).stdout)
		for _, want := range c.has {
			if !slices.Contains(words, want) {
				t.Errorf("lab %s is completed by %q, without %s", c.args, words, want)
			}
		}
		if slices.Contains(words, c.without) {
			t.Errorf("lab %s is completed by %q, with %s", c.args, words, c.without)
		}
	}
}

// testExecByMember runs programs on the host of a member, and programs that cannot run.
func testExecByMember(t *testing.T, name, member, host string) {
	t.Helper()
	e := plimsoll(t, "lab", "exec", name, member, "--", "sh", "-c", "echo $PLIMSOLL_LAB_HOST $PLIMSOLL_LAB_MEMBER $PLIMSOLL_LAB_MEMBER_ADDRESS").must(t, 0)
	if words := strings.Fields(e.stdout); len(words) != 3 || words[0] != host || words[1] != member ||
		!strings.Contains(words[2], ":") {
		t.Errorf("beside a member exec printed %q", e.stdout)
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, []byte("words"), 0o600); err != nil {
		t.Fatal(err)
	}
	for program, code := range map[string]int{"no-such-program": 127, "/no/such/program": 127, file: 126} {
		plimsoll(t, "lab", "exec", name, host, "--", program).must(t, code)
		plimsoll(t, "lab", "connect", name, "--", program).must(t, code)
	}
	plimsoll(t, "lab", "connect", name, "--", "sh", "-c", "exit 9").must(t, 9)
	if out := plimsoll(t, "lab", "connect", name, "--", "echo", "at={}").must(t, 0).stdout; !strings.HasPrefix(out, "at=mongodb://") {
		t.Errorf("connect -- echo printed %q", out)
	}
	plimsoll(t, "lab", "fail", name, "power-off", host).must(t, 0)
	if e := plimsoll(t, "lab", "exec", name, host, "--", "true").must(t, 3); !strings.Contains(e.stderr, "has no power") {
		t.Errorf("on a host without power: %s", e.stderr)
	}
	plimsoll(t, "lab", "revert", name, host).must(t, 0)
}
