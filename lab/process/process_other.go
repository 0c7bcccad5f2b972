//go:build !linux

package process

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"syscall"
)

func launch(ctx context.Context, s Spec) (*exec.Cmd, error) {
	if s.Sandbox != nil {
		return nil, errors.New("a separate root directory needs Linux")
	}
	if s.Place.Network != "" || len(s.Place.Groups) > 0 || s.Place.Unified != "" {
		return nil, errors.New("network namespaces and control groups need Linux")
	}
	if s.Nobody && os.Geteuid() == 0 {
		return nil, errors.New("it does not run as root. Run plimsoll as another user")
	}
	cmd := command(ctx, s)
	return cmd, cmd.Start()
}

// CPUSeconds is not known without /proc.
func CPUSeconds(int) (seconds float64, born uint64, ok bool) { return 0, 0, false }

// OpenFiles is not known without prlimit.
func OpenFiles(int) uint64 { return 0 }

// Alive says whether there is a process with this id.
func Alive(pid int, _ uint64) bool { return syscall.Kill(pid, 0) == nil }

// Family is the process alone: its descendants are not known without /proc.
func Family(pid int) []int { return []int{pid} }

// Children knows none.
func Children(int) ([]int, bool) { return nil, false }

// Descendants are not known without /proc.
func Descendants(int) []int { return nil }

// IDs are not known without /proc.
func IDs() []int { return nil }

// RemoveTree removes a directory tree.
func RemoveTree(dir string) error { return os.RemoveAll(dir) }
