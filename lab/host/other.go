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
	return fmt.Errorf("they need the network namespaces and control groups of Linux, and this is %s", runtime.GOOS)
}

// network and isolated hosts are Linux's.
type network struct{}

var errLinux = errors.New("only Linux has isolated hosts")

func newNetwork(context.Context, *Ground) (*network, error) { return nil, errLinux }
func (*network) close(context.Context) error                { return nil }

func newIsolated(context.Context, *body) (Host, error) { return nil, errLinux }

func systemRemovers() map[string]journal.Remover { return nil }

// table would be what the system says about processes.
type table struct{}

// trees knows only the first process of each.
func (*table) trees(roots []int) map[int][]int {
	trees := map[int][]int{}
	for _, pid := range roots {
		trees[pid] = []int{pid}
	}
	return trees
}

// treeUsage would count what processes use.
type treeUsage struct{}

func (*treeUsage) begin()     {}
func (*treeUsage) end()       {}
func (*treeUsage) look(*body) {}

func (*treeUsage) now(b *body) (record.LabUsage, error) {
	return record.LabUsage{Host: b.name}, fmt.Errorf("%w: only Linux tells what processes use", ErrUnsupported)
}

// bootID is not known.
func bootID() string { return "" }

// groupAlive cannot look closer.
func groupAlive(int) bool { return true }

// thaw has nothing to do without control groups.
func thaw(string) {}

// marked cannot look into others' environment.
func marked(string) []int { return nil }
