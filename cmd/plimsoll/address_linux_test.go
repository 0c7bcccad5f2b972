package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/store/null"
)

// TestProcessListHasNoSecret runs loads whose address comes from a variable, a file and standard input, and reads the
// command line and the environment of every process that they start, for as long as they run.
func TestProcessListHasNoSecret(t *testing.T) {
	t.Parallel()
	const secret = "hunter2Sekret"
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	uri := responder(t, null.Options{Count: 1 << 20}).URI() + "&appName=" + secret
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "uri"), []byte(uri+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, target := range []string{"env:MY_URI", "@uri", "@-"} {
		out := "rec" + target[:1] + strconv.Itoa(len(target))
		cmd := exec.Command(self, "run", target, "--clients", "2", "--threads", "2", "--records", "100", "--pace", "100", "--duration", "1h", "-q", "--out", out)
		cmd.Args[0], cmd.Dir = "plimsoll", dir
		cmd.Env = append(os.Environ(), "PLIMSOLL_HOME="+filepath.Join(dir, "home"))
		if target == "env:MY_URI" {
			cmd.Env = append(cmd.Env, "MY_URI="+uri)
		}
		var said bytes.Buffer
		cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(uri), &said, &said
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- cmd.Wait() }()
		seen, interrupted := map[int]bool{}, false
		for running := true; running; {
			select {
			case <-ended:
				running = false
			case <-time.After(5 * time.Millisecond):
				lookAt(t, cmd.Process.Pid, secret, seen)
			}
			// Both load processes were seen, and measure: nothing else begins.
			if len(seen) == 2 && !interrupted {
				r, err := record.OpenRun(filepath.Join(dir, out))
				interrupted = err == nil && r.Phase("measure") != nil && cmd.Process.Signal(os.Interrupt) == nil
			}
		}
		if code := cmd.ProcessState.ExitCode(); code != exitInterrupted || len(seen) < 2 {
			t.Errorf("run %s: exit %d, %d load processes were seen\n%s", target, code, len(seen), &said)
		}
	}
}

// lookAt looks for a secret in the command line of a process, and in the command lines and environments of its
// children.
func lookAt(t *testing.T, pid int, secret string, seen map[int]bool) {
	t.Helper()
	own, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid)) // it may have ended
	if bytes.Contains(own, []byte(secret)) {
		t.Errorf("its command line is %q", own)
	}
	lists, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, list := range lists {
		b, _ := os.ReadFile(list)
		for word := range strings.FieldsSeq(string(b)) {
			child, err := strconv.Atoi(word)
			if err != nil {
				t.Fatal(err)
			}
			words, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", child))
			variables, _ := os.ReadFile(fmt.Sprintf("/proc/%d/environ", child))
			if again, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", child)); bytes.Equal(words, own) || !bytes.Equal(words, again) {
				continue // it has not begun its program yet, and until then shows the memory of its parent
			}
			if bytes.Contains(words, []byte(secret)) || bytes.Contains(variables, []byte(secret)) {
				t.Errorf("the child %q has the secret in its command line or environment", words)
			}
			seen[child] = seen[child] || bytes.Contains(words, []byte(clientCommand))
			if !seen[child] {
				delete(seen, child)
			}
		}
	}
}
