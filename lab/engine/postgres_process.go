package engine

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"regexp"
	"strconv"
	"sync"
	"syscall"

	"github.com/plimsoll-bench/plimsoll/lab/host"
	"github.com/plimsoll-bench/plimsoll/lab/process"
)

// placed is what the nodes of documentdb have in common: one process on a host, in the engine's root, that can be
// started again.
type placed struct {
	name, kind string
	log        string // its log file; all starts are appended
	inst       installed

	mu     sync.Mutex
	host   host.Host
	port   int
	proc   *process.Process // the last one that was started
	ended  chan struct{}    // closed with it
	paused bool             // by Pause, until Resume
	asked  *process.Process // the last one that was asked to end, or was killed, through this node
}

func (n *placed) Name() string    { return n.name }
func (n *placed) Kind() string    { return n.kind }
func (n *placed) Logs() []string  { return []string{n.log} }
func (n *placed) Version() string { return n.inst.version }

func (n *placed) Host() host.Host {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.host
}

// Address is host:port where it listens.
func (n *placed) Address() string {
	ip, port := n.endpoint()
	return net.JoinHostPort(ip, strconv.Itoa(port))
}

func (n *placed) endpoint() (ip string, port int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.host.Address(), n.port
}

// settle gives the node a port on a host.
func (n *placed) settle(h host.Host) error {
	port, err := h.Port()
	if err != nil {
		return fmt.Errorf("%s: %w", n.name, err)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.host, n.port = h, port
	return nil
}

// Move makes the next start happen on another host. A start on the same host keeps the port.
func (n *placed) Move(to host.Host) error {
	if n.Status().Running {
		return fmt.Errorf("%s runs on %s: it must be stopped before it is moved", n.name, n.Host().Name())
	}
	if to == n.Host() {
		return nil
	}
	return n.settle(to)
}

// launch starts the process on the host, with its output appended to the log.
func (n *placed) launch(ctx context.Context, s process.Spec) error {
	if n.Status().Running {
		return fmt.Errorf("%s runs already", n.name)
	}
	log, err := os.OpenFile(n.log, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer log.Close() // the process has its own
	s.Log = log
	p, err := n.Host().Start(ctx, s)
	if err != nil {
		return fmt.Errorf("%s: %w", n.name, err)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.proc, n.ended, n.paused = p, p.Done, false
	return nil
}

// process is the one that was started last, or nil.
func (n *placed) process() *process.Process {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.proc
}

// Ended is closed when the process that was started last has ended, and nil before the first start.
func (n *placed) Ended() <-chan struct{} {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.ended
}

// Status says whether it runs.
func (n *placed) Status() Status {
	p := n.process()
	if p == nil {
		return Status{}
	}
	return Status{Running: p.Running(), Processes: []ProcessStatus{p.Status()}}
}

// Pids are the ids of the process and its children.
func (n *placed) Pids() []int {
	p := n.process()
	if p == nil || !p.Running() {
		return nil
	}
	return process.Family(p.PID)
}

// Kill ends it at once with all its children.
func (n *placed) Kill() error {
	if p := n.process(); p != nil {
		n.ask(p)
		p.Kill()
	}
	return nil
}

// ask notes that a process that runs is about to be ended.
func (n *placed) ask(p *process.Process) {
	if p.Running() {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.asked = p
	}
}

// Asked says whether the process that was started last was ended through this node, and not by itself.
func (n *placed) Asked() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.proc != nil && n.asked == n.proc
}

// end asks the process to end with sig, and kills it when ctx ends first. One that is paused could not hear it.
func (n *placed) end(ctx context.Context, sig syscall.Signal) error {
	p := n.process()
	if p == nil || !p.Running() {
		return nil
	}
	n.ask(p)
	if n.Paused() {
		p.Kill()
		return nil
	}
	return p.End(ctx, sig)
}

// Pause stops the process and its children where they are, and returns when they stand: one that runs on another core
// would answer once more. The process comes first, so that it makes no new children meanwhile.
func (n *placed) Pause() error {
	if err := n.signalAll(syscall.SIGSTOP, true); err != nil {
		return err
	}
	awaitStanding(n.Pids)
	return nil
}

// Resume lets them go on. It also ends the pause of a process that was killed meanwhile.
func (n *placed) Resume() error { return n.signalAll(syscall.SIGCONT, false) }

func (n *placed) signalAll(sig syscall.Signal, paused bool) error {
	p := n.process()
	if paused && (p == nil || !p.Running()) {
		return fmt.Errorf("%s does not run, so it cannot be paused", n.name)
	}
	n.mu.Lock()
	n.paused = paused
	n.mu.Unlock()
	if p == nil {
		return nil
	}
	p.Signal(sig)
	if p.Running() {
		for _, child := range process.Descendants(p.PID) {
			_ = syscall.Kill(child, sig) // it may have ended in between
		}
	}
	return nil
}

// Paused says whether it was paused and not resumed, also if the process was killed since.
func (n *placed) Paused() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.paused
}

// answerError is the error of a node that did not answer in time. What a node that has ended said of a parameter comes
// first: that nobody answers then is no news.
func (n *placed) answerError(err error) error {
	if errors.Is(err, errEnded) {
		tail := process.LogTail(n.log)
		if said := refusedParameter.FindStringSubmatch(tail); said != nil {
			return fmt.Errorf("%s on %s does not start with these engine.parameters: %s%s", n.name, n.Host().Name(), said[1], tail)
		}
		return fmt.Errorf("%s on %s at %s: %w%s", n.name, n.Host().Name(), n.Address(), errEnded, tail)
	}
	return fmt.Errorf("%s on %s at %s: %w%s", n.name, n.Host().Name(), n.Address(), err, process.LogTail(n.log))
}

// refusedParameter is how PostgreSQL says in its log that it does not take a parameter, or not with this value.
var refusedParameter = regexp.MustCompile(`(?m)\b(?:LOG|ERROR|FATAL|WARNING):\s+((?:unrecognized configuration )?parameter ".*|invalid value for parameter ".*|-?[0-9.]+ ?\w* is outside the valid range for parameter ".*)$`)

// tailOf is the end of what a program printed, if its error has it not already.
func tailOf(out []byte) string { return process.LastLines(out, 15) }
