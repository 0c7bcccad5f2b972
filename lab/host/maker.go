package host

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/plimsoll-bench/plimsoll/internal/expression"
	"github.com/plimsoll-bench/plimsoll/internal/wait"
	"github.com/plimsoll-bench/plimsoll/lab/journal"
)

// MakerOptions are the options of [NewMaker].
type MakerOptions struct {
	// Lab is the name of the lab, which becomes part of the names of resources.
	Lab string
	// Dir is the directory of the lab; each host gets a directory in it.
	Dir string
	// Home is shared by all labs of this machine ([SharedHome]). Resources that only one lab may have (ports, networks)
	// are reserved below it.
	Home string
	// Mode is [Plain] or [Isolated].
	Mode    string
	Journal *journal.Journal
}

// Maker is shared by the hosts of one lab: the reserved ports and, for isolated hosts, a network with a bridge.
// Its methods may be called from several goroutines.
type Maker struct {
	opts  MakerOptions
	token string // random part of the names of resources, so that two labs never use the same name

	mu     sync.Mutex // held while a host is made or all are closed
	hosts  []Host
	net    *network // of isolated hosts
	closed bool
}

// names are the names of labs and hosts that can be parts of the names of files and groups.
var names = expression.New(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,62}$`)

// NewMaker makes the resources that the hosts of a lab share.
func NewMaker(ctx context.Context, o MakerOptions) (*Maker, error) {
	if !names().MatchString(o.Lab) {
		return nil, fmt.Errorf("%q cannot be the name of a lab: use up to 63 letters, digits, '-', '_' and '.'", o.Lab)
	}
	if o.Journal == nil || o.Dir == "" || o.Home == "" {
		return nil, errors.New("hosts need the lab's directory, its journal and Plimsoll's home")
	}
	if err := Check(o.Mode); err != nil {
		return nil, err
	}
	g := &Maker{opts: o, token: newToken()}
	if o.Mode == Isolated {
		var err error
		if g.net, err = newNetwork(ctx, g); err != nil {
			return nil, fmt.Errorf("cannot create the network of the lab: %w", err)
		}
	}
	return g, nil
}

// newToken returns eight random letters and digits.
func newToken() string { return strings.ToLower(rand.Text()[:8]) }

// Check returns an error if this machine does not support a mode of hosts.
func Check(mode string) error {
	switch mode {
	case Plain:
		return nil
	case Isolated:
		if err := checkIsolated(); err != nil {
			return fmt.Errorf("isolated hosts are not possible on this machine: %w. Use hosts.mode: plain (--hosts plain), "+
				"which cannot limit, cut off or slow down a host", err)
		}
		return nil
	}
	return fmt.Errorf("hosts.mode %q is not valid: use plain or isolated", mode)
}

// The minimum limits: servers do not start with less, and the kernel refuses some lower values.
const (
	leastCores  = 0.02
	leastMemory = 16 << 20
	leastRate   = 1 << 10
)

// checkLimits returns an error if hosts of a mode cannot have these limits.
func checkLimits(mode string, l Limits) error {
	switch {
	case mode == Plain && l != (Limits{}):
		return fmt.Errorf("%w: plain hosts have no limits of cores, memory or network. "+
			"Use hosts.mode: isolated (--hosts isolated), or remove the limits", ErrUnsupported)
	case l.Cores != 0 && l.Cores < leastCores:
		return fmt.Errorf("%g cores are too few for a host: the minimum is %g", l.Cores, leastCores)
	case l.Memory != 0 && l.Memory < leastMemory:
		return fmt.Errorf("%d bytes of memory are too few for a host: the minimum is %d", l.Memory, leastMemory)
	case l.Network != 0 && l.Network < leastRate:
		return fmt.Errorf("%d bytes per second are too few for a host's network: the minimum is %d", l.Network, leastRate)
	}
	return nil
}

// Make makes a host and powers it on.
func (g *Maker) Make(ctx context.Context, name, role string, l Limits) (Host, error) {
	if !names().MatchString(name) {
		return nil, fmt.Errorf("%q cannot be the name of a host: use up to 63 letters, digits, '-', '_' and '.'", name)
	}
	if err := checkLimits(g.opts.Mode, l); err != nil {
		return nil, fmt.Errorf("host %s: %w", name, err)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return nil, fmt.Errorf("cannot create host %s: the lab is being removed", name)
	}
	if slices.ContainsFunc(g.hosts, func(h Host) bool { return h.Name() == name }) {
		return nil, fmt.Errorf("there is a host %s already", name)
	}
	b := newBody(g, name, role, l)
	if err := os.MkdirAll(b.dir, 0o755); err != nil {
		return nil, fmt.Errorf("cannot create the directory of host %s: %w", name, err)
	}
	h, err := g.make(ctx, b)
	if err != nil {
		return nil, fmt.Errorf("cannot create host %s: %w", name, err)
	}
	g.hosts = append(g.hosts, h)
	return h, nil
}

func (g *Maker) make(ctx context.Context, b *body) (Host, error) {
	if g.opts.Mode == Isolated {
		return newIsolated(ctx, b)
	}
	return &plainHost{body: b, usage: &treeUsage{}}, nil
}

// Close closes all hosts and removes their shared resources. The directories of the hosts have logs; they are removed
// with the directory of the lab.
func (g *Maker) Close(ctx context.Context) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = true
	err := wait.Each(g.hosts, func(h Host) error { return h.Close(ctx) })
	if g.net != nil {
		err = errors.Join(err, g.net.close(ctx))
	}
	return err
}

// groupPrefix is the prefix of the names of control groups and namespaces.
const groupPrefix = "plimsoll-"

func (g *Maker) hostDir(name string) string { return filepath.Join(g.opts.Dir, "hosts", name) }
