package engine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/expression"
	"github.com/plimsoll-bench/plimsoll/lab/host"
	"github.com/plimsoll-bench/plimsoll/lab/process"
)

// placed has the common parts of all nodes: one process on a host that can be started again.
type placed struct {
	name, kind string
	log        string    // file; every start appends to it
	fixed      int       // port; 0: the host chooses
	inst       installed // of documentdb, in whose root directory the process runs

	starting sync.Mutex // held by Start: of two at once, one starts a process

	mu     sync.Mutex
	host   host.Host
	port   int
	proc   *process.Process // the last started one
	ended  chan struct{}    // closed with it
	paused bool             // by Pause, until Resume
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

func (n *placed) Address() string {
	ip, port := n.endpoint()
	return net.JoinHostPort(ip, strconv.Itoa(port))
}

func (n *placed) endpoint() (ip string, port int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.host.Address(), n.port
}

// assignHost reserves a port on a host.
func (n *placed) assignHost(h host.Host) error {
	port := n.fixed
	if port == 0 {
		var err error
		if port, err = h.Port(); err != nil {
			return fmt.Errorf("%s: %w", n.name, err)
		}
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.host, n.port = h, port
	return nil
}

// Move sets the host of the next start. The same host keeps the port.
func (n *placed) Move(to host.Host) error {
	if n.Status().Running {
		return fmt.Errorf("%s runs on %s: stop it before it moves", n.name, n.Host().Name())
	}
	if to == n.Host() {
		return nil
	}
	return n.assignHost(to)
}

// launch starts the process on the host. Its output is appended to the log. The caller holds n.starting.
func (n *placed) launch(ctx context.Context, s process.Spec) error {
	if n.Status().Running {
		return fmt.Errorf("%s already runs", n.name)
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
	n.proc, n.ended, n.paused = p, make(chan struct{}), false
	go func(ended chan struct{}) {
		<-p.Done
		n.closeEnded(ended)
	}(n.ended)
	return nil
}

// closeEnded closes the channel of [placed.Ended], once.
func (n *placed) closeEnded(ended chan struct{}) {
	n.mu.Lock()
	defer n.mu.Unlock()
	select {
	case <-ended:
	default:
		close(ended)
	}
}

// process returns the last started process, or nil.
func (n *placed) process() *process.Process {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.proc
}

func (n *placed) Ended() <-chan struct{} {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.ended
}

func (n *placed) Status() Status {
	p := n.process()
	if p == nil {
		return Status{}
	}
	return Status{Running: p.Running(), Processes: []ProcessStatus{p.Status()}}
}

func (n *placed) Pids() []int { return n.family() }

func (n *placed) Kill() error {
	if p := n.process(); p != nil {
		p.Kill()
	}
	return nil
}

// end sends sig to the process, and kills it when ctx ends first. It kills a paused process, which cannot handle a
// signal.
func (n *placed) end(ctx context.Context, sig syscall.Signal) error {
	p := n.process()
	if p == nil || !p.Running() {
		return nil
	}
	if n.Paused() {
		p.Kill()
		return nil
	}
	return p.End(ctx, sig)
}

// Pause stops the process and its children, and returns when all their threads have stopped. The process is stopped
// first, so that it makes no new children meanwhile.
func (n *placed) Pause() error {
	if err := n.signalAll(syscall.SIGSTOP, true); err != nil {
		return err
	}
	awaitStopped(n.family)
	return nil
}

// family returns the process and its descendants.
func (n *placed) family() []int {
	p := n.process()
	if p == nil || !p.Running() {
		return nil
	}
	return process.Family(p.PID)
}

// Resume continues the process and its children. It also ends the pause of a process that was killed meanwhile.
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

// Paused reports whether the process runs and was paused.
func (n *placed) Paused() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.paused && n.proc != nil && n.proc.Running()
}

// awaitStopped waits until all threads of the processes have stopped, at most stopTimeout: a thread that waits for a
// disk stops later, before it does anything else.
func awaitStopped(pids func() []int) {
	for end := time.Now().Add(stopTimeout); time.Now().Before(end) && !stopped(pids()); time.Sleep(time.Millisecond) {
	}
}

const stopTimeout = 5 * time.Second

// stopped reports whether all threads of the processes have stopped. The kernel stops each thread separately, so a
// thread on another core may still answer a request after the signal. Without /proc it returns true.
func stopped(pids []int) bool {
	for _, pid := range pids {
		tasks, _ := filepath.Glob(filepath.Join("/proc", strconv.Itoa(pid), "task", "*", "stat"))
		for _, file := range tasks {
			text, err := os.ReadFile(file)
			if err != nil {
				continue // the thread has ended
			}
			_, fields, _ := strings.Cut(string(text[bytes.LastIndexByte(text, ')')+1:]), " ")
			if fields != "" && !strings.Contains("TtZX", fields[:1]) {
				return false
			}
		}
	}
	return true
}

// untilAnswers calls try until it succeeds or the node has ended.
func (n *placed) untilAnswers(ctx context.Context, try func(context.Context) error) error {
	if err := retry(ctx, n.Ended(), try); err != nil {
		return n.answerError(err)
	}
	return nil
}

// answerError is the error of a node that did not answer in time. If the node has ended because of a parameter, that is
// the error.
func (n *placed) answerError(err error) error {
	if errors.Is(err, errEnded) {
		tail := process.LogTail(n.log)
		if refused := refusedParameter().FindStringSubmatch(tail); refused != nil {
			return fmt.Errorf("%s on %s does not start with these engine.parameters: %s%s", n.name, n.Host().Name(), refused[1], tail)
		}
		return fmt.Errorf("%s on %s at %s: %w%s", n.name, n.Host().Name(), n.Address(), errEnded, tail)
	}
	return fmt.Errorf("%s on %s at %s: %w%s", n.name, n.Host().Name(), n.Address(), err, process.LogTail(n.log))
}

// refusedParameter matches PostgreSQL's log messages about unknown parameters and invalid values.
var refusedParameter = expression.New(`(?m)\b(?:LOG|ERROR|FATAL|WARNING):\s+(` +
	`(?:unrecognized configuration )?parameter ".*|invalid value for parameter ".*|` +
	`-?[0-9.]+ ?\w* is outside the valid range for parameter ".*)$`)

// tailOf returns the end of a program's output.
func tailOf(out []byte) string { return process.LastLines(out, 15) }
