//go:build !linux

package engine

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"syscall"
)

// onOwnThread runs f in a goroutine: there is no parent-death signal to keep a thread for.
func onOwnThread(f func()) { go f() }

func launch(s spec) (*exec.Cmd, error) {
	if s.sandbox != nil {
		return nil, errors.New("only Linux can run it in a root directory of its own")
	}
	cmd := exec.Command(s.path, s.args...)
	cmd.Env = s.env
	if s.input != "" {
		cmd.Stdin = strings.NewReader(s.input)
	}
	cmd.Stdout, cmd.Stderr = s.log, s.log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return cmd, cmd.Start()
}

// startTime is not known without /proc.
func startTime(int) (uint64, error) { return 0, nil }

func alive(pid int, _ uint64) bool { return syscall.Kill(pid, 0) == nil }

func descendants(int) []int { return nil }

func allPids() []int { return nil }

func removeTree(dir string) error { return os.RemoveAll(dir) }
