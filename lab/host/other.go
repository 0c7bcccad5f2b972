//go:build !linux

package host

import (
	"context"
	"errors"
	"fmt"
	"runtime"

	"github.com/plimsoll-bench/plimsoll/lab/journal"
	"github.com/plimsoll-bench/plimsoll/record"
)

func checkIsolated() error {
	return fmt.Errorf("the network namespaces and control groups of Linux are required, but this is %s", runtime.GOOS)
}

type network struct{}

var errLinux = errors.New("only Linux has isolated hosts")

func newNetwork(context.Context, *Maker) (*network, error) { return nil, errLinux }
func (*network) close(context.Context) error               { return nil }

func newIsolated(context.Context, *body) (Host, error) { return nil, errLinux }

func systemRemovers() map[string]journal.Remover { return nil }

type treeUsage struct{}

func (*treeUsage) begin()       {}
func (*treeUsage) end()         {}
func (*treeUsage) update(*body) {}

func (*treeUsage) now(b *body) (record.LabUsage, error) {
	return record.LabUsage{Host: b.name}, fmt.Errorf("%w: the usage of processes is known on Linux only", ErrUnsupported)
}

func groupAlive(int) bool { return true }

func thaw(string) {}

func marked(string) []int { return nil }
