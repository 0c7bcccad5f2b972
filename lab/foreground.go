package lab

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/plimsoll-bench/plimsoll/internal/filelock"
	"github.com/plimsoll-bench/plimsoll/lab/engine"
	"github.com/plimsoll-bench/plimsoll/lab/process"
	"github.com/plimsoll-bench/plimsoll/lab/topology"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// Foreground begins the names of the labs of [Run] that nobody named.
const Foreground = "engine-"

// Own are the choices for a lab of [Run] besides its specification.
type Own struct {
	Clients topology.Clients
	// Data is the directory of the member's data, which stays. Absent, the data are removed with the lab.
	Data string
}

// Run makes a lab of one member whose supervisor is this process, and calls usable when clients can use the cluster.
// When ctx ends, it removes the lab and returns nil. If a process of a server exits before that, the error has the last
// lines of the log. If this process is killed, the kernel kills the servers, and [Down] removes the rest.
func Run(ctx context.Context, asked spec.Lab, opts Options, own Own, usable func(topology.Cluster)) error {
	who := own.Clients
	if err := errors.Join(engine.CheckPort(who.Port), engine.CheckAccess(who.User, who.Password)); err != nil {
		return err
	}
	unlock, err := lockData(own.Data)
	if err != nil {
		return err
	}
	defer unlock()
	p, err := Plan(ctx, opts.Home, asked)
	if err != nil {
		return err
	}
	var s *supervisor
	var release func()
	h, err := create(p.Spec, opts, func(h *Handle) (err error) {
		s, release, err = begin(context.WithoutCancel(ctx), h.dir)
		return err
	})
	if err != nil {
		return err
	}
	defer h.Close()
	s.own = own
	served := make(chan error, 1)
	go func() { served <- s.serve() }()
	if err = h.awaitUsable(ctx, opts.Progress); err == nil {
		cluster := s.inventory.running()
		usable(cluster)
		err = s.awaitExit(ctx, cluster.Nodes())
	}
	if ctx.Err() != nil {
		err = nil
	}
	s.stop()
	err = errors.Join(err, <-served)
	release()
	downCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), downLimit)
	defer cancel()
	return errors.Join(err, Down(downCtx, opts.Home, asked.Name, nil))
}

// lockData makes a data directory that a person named, and locks it until this process ends.
func lockData(dir string) (unlock func(), err error) {
	if dir == "" {
		return func() {}, nil
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("cannot make the data directory: %w", err)
	}
	unlock, err = filelock.Dir(dir)
	if errors.Is(err, filelock.ErrBusy) {
		err = fmt.Errorf("the data directory %s is in use by another server: stop that server or use another directory", dir)
	}
	return unlock, err
}

// awaitExit returns when ctx or the supervisor ends, or with an error when a process of a server has exited.
func (s *supervisor) awaitExit(ctx context.Context, nodes []engine.Node) error {
	exited := make(chan engine.Node, len(nodes))
	for _, n := range nodes {
		go func() {
			select {
			case <-n.Ended():
				exited <- n
			case <-s.ctx.Done():
			}
		}()
	}
	select {
	case <-ctx.Done():
		return nil
	case <-s.ctx.Done():
		return nil
	case n := <-exited:
		var ends, logs []string
		for _, p := range n.Status().Processes {
			ends = append(ends, fmt.Sprintf("%s (process %d): %s", p.Role, p.PID, p.Exit))
		}
		for _, log := range n.Logs() {
			logs = append(logs, process.LogTail(log))
		}
		return fmt.Errorf("the server exited: %s%s", strings.Join(ends, ", "), strings.Join(logs, ""))
	}
}
