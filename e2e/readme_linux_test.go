//go:build !race

package e2e

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/notrun"
	"github.com/plimsoll-bench/plimsoll/lab/engine/enginetest"
)

// nobody is the ordinary user as whom root runs the commands of the README.
const nobody = 65534

// readmeCodes are the exit codes that a command of the README may have besides 0, by its first words: those that the
// README names, and 6 where a busy machine makes a result doubtful.
var readmeCodes = map[string][]int{
	"plimsoll doctor":                           {4, 6},
	"plimsoll capacity":                         {4, 6},
	"plimsoll ab":                               {6},
	"plimsoll run":                              {6},
	"plimsoll drill examples/drill/kill":        {6},
	"sudo env \"PATH=$PATH\" plimsoll drill ex": {5, 6},
	"plimsoll size":                             {6},
}

// TestReadme runs every command of the README as it is written, in their order, in a fresh clone: as an ordinary user,
// and those with sudo as root. Only `make build` runs as the user of the test, because the caches of Go belong to that
// user.
func TestReadme(t *testing.T) {
	inTurn(t, 240)
	text, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	if lines := bytes.Count(text, []byte("\n")); lines > 150 {
		t.Errorf("the README has %d lines, 150 at most", lines)
	}
	var commands []string
	for _, block := range regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllSubmatch(text, -1) {
		commands = append(commands, strings.Split(strings.TrimSpace(string(block[1])), "\n")...)
	}
	if len(commands) < 12 || commands[0] != "make build" {
		t.Fatalf("found only %q", commands)
	}
	clone, home := freshClone(t)
	if out, err := program(t, clone, "sh", "-c", commands[0]).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", commands[0], err, out)
	}
	mongod, own := mongodForAll(t)
	user := readmeShell(t, clone, home, filepath.Dir(mongod), os.Getuid() == 0)
	for _, line := range commands[1:] {
		switch rootLine := strings.HasPrefix(line, "sudo "); {
		case rootLine && os.Getuid() != 0:
			notrun.Here(t, "as root: %s", line)
		case rootLine:
			if own {
				notrun.Here(t, "on a real mongod: %s", line)
				continue
			}
			root := readmeShell(t, clone, filepath.Join(t.TempDir(), "home"), filepath.Dir(mongod), false)
			root.run(t, commands[1], nil)
			root.run(t, strings.TrimPrefix(line, "sudo "), allowed(line))
		default:
			user.run(t, line, allowed(line))
		}
	}
	if left, err := exec.Command("git", "-c", "safe.directory=*", "-C", clone, "status", "--porcelain").CombinedOutput(); err != nil || len(left) > 0 {
		t.Errorf("the commands left in the clone (%v):\n%s", err, left)
	}
}

func allowed(line string) []int {
	for words, codes := range readmeCodes {
		if strings.HasPrefix(line, words) {
			return codes
		}
	}
	return nil
}

// freshClone is a clone with the files of this one as they are now, and a home directory.
func freshClone(t *testing.T) (clone, home string) {
	t.Helper()
	dir := openDir(t)
	clone, home = filepath.Join(dir, "plimsoll"), filepath.Join(dir, "home")
	top, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	const fresh = `set -e; cd "$1"; mkdir "$2" "$3"; git ls-files -z | xargs -0 cp -P --parents -t "$2"; cd "$2"; git init -q; git add -A
		git -c user.name=a -c user.email=a@example.com -c commit.gpgsign=false commit -qm clone`
	if out, err := program(t, ".", "sh", "-c", fresh, "sh", top, clone, home).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return clone, home
}

// openDir is a temporary directory that all users may enter.
func openDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "plimsoll-readme-")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// mongodForAll is a mongod that every user may run: a real one, or the stand-in, which is own.
func mongodForAll(t *testing.T) (path string, own bool) {
	t.Helper()
	dir := openDir(t)
	if path, ok := enginetest.RealMongo(t); ok { // whose directory may be root's alone
		if out, err := program(t, ".", "cp", "--reflink=auto", path, dir).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return filepath.Join(dir, filepath.Base(path)), false
	}
	path, err := enginetest.WriteStandin(dir, "8.0.21")
	if err != nil {
		t.Fatal(err)
	}
	if os.Getuid() == 0 {
		ownedBy(t, dir, nobody)
	}
	return path, true
}

func ownedBy(t *testing.T, dir string, user int) {
	t.Helper()
	if out, err := program(t, ".", "chown", "-R", fmt.Sprintf("%d:%d", user, user), dir).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

func program(t *testing.T, dir, name string, args ...string) *exec.Cmd {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*patience)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.WaitDelay = dir, time.Minute
	return cmd
}

// shell is a shell that performs one line after the other.
type shell struct {
	in  io.Writer
	out *bufio.Reader
}

// readmeShell starts a shell in a clone, with a home of its own and with the programs in a directory on its PATH.
func readmeShell(t *testing.T, clone, home, programs string, ordinary bool) *shell {
	t.Helper()
	cmd := program(t, clone, "bash")
	path := slices.DeleteFunc(filepath.SplitList(os.Getenv("PATH")), func(dir string) bool {
		_, err := os.Stat(filepath.Join(dir, "mongod"))
		return err == nil
	})
	cmd.Env = []string{"HOME=" + home, "PATH=" + programs + ":" + strings.Join(path, ":"), "LANG=C.UTF-8"}
	if ordinary {
		ownedBy(t, clone, nobody)
		ownedBy(t, home, nobody)
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = cmd.Stdout
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		_, _ = io.Copy(io.Discard, out)
		_ = cmd.Wait() // with the code of its last command
	})
	return &shell{in, bufio.NewReader(out)}
}

// run performs a line. It fails the test if its exit code is not 0 and none of the others.
func (s *shell) run(t *testing.T, line string, others []int) {
	t.Helper()
	began := time.Now()
	const end = "--- exit "
	fmt.Fprintf(s.in, "%s </dev/null\ncode=$?; echo; echo '%s'$code\n", line, end)
	var out strings.Builder
	for {
		text, err := s.out.ReadString('\n')
		if code, ok := strings.CutPrefix(text, end); ok {
			n, err := strconv.Atoi(strings.TrimSpace(code))
			if err != nil || n != 0 && !slices.Contains(others, n) {
				t.Errorf("%s\nexit %s%s", line, code, &out)
			}
			t.Logf("%.1f s, exit %d: %s", time.Since(began).Seconds(), n, line)
			return
		}
		out.WriteString(text)
		if err != nil {
			t.Fatalf("%s\n%v\n%s", line, err, &out)
		}
	}
}
