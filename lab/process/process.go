// Package process starts programs that must not outlive Plimsoll, ends them with all their descendants, and tells a
// process from a later one with the same id.
//
// A program can run in a root directory of its own with its own mounts, in a network namespace and in control groups.
// The callers make these, decide what the programs are for, and keep the journal (package journal).
package process

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/childproc"
	"github.com/plimsoll-bench/plimsoll/internal/expression"
	"github.com/plimsoll-bench/plimsoll/internal/procid"
)

// Spec says how to run one program.
type Spec struct {
	Role    string // what the process is for, in words: "postgres", "apt-get"
	Path    string // in the sandbox, if there is one
	Args    []string
	Env     []string // nil: this process's own
	Also    []string // environment variables besides Env
	Input   string   // standard input; empty: none
	Log     *os.File // standard output and error
	Sandbox *Sandbox // nil: run like any child
	Place   Place    // the zero value: that of this process
	// Nobody runs the program as the user nobody if this process is root, even if nobody cannot read the program's file.
	// If that is not possible, the program is not started.
	Nobody bool
	// OpenFiles is the program's soft limit of open files, at most the hard limit of this process; 0 keeps the limit. Only
	// Linux sets it. See [OpenFiles].
	OpenFiles uint64
}

// Place has the namespace and control groups of a process. It needs Linux and root.
type Place struct {
	// Network is the file of a network namespace, such as /run/netns/NAME.
	Network string
	// Groups are directories of control groups of version 1, one for each hierarchy.
	Groups []string
	// Unified is the directory of a control group of version 2.
	Unified string
}

// Sandbox is a mount and a process namespace for a program that must not run in the machine's file system. The kernel
// removes both, with all their processes and mounts, when the program ends, however it ends. It needs root.
type Sandbox struct {
	Root   string // the new root directory; empty: the machine's own
	Bind   []Bind // directories shown in the new root
	UID    uint32
	GID    uint32
	DevPts bool // with the machine's terminals, which package scripts need
}

// Bind mounts the directory From at the path At of a sandbox.
type Bind struct{ From, At string }

// Process is a child of this process. The kernel kills it when this process ends.
type Process struct {
	Role string
	PID  int
	Born uint64 // see [procid.ID]
	Done chan struct{}
	Exit error // valid when Done is closed
}

// Status is the state of a program that the lab started.
type Status struct {
	Role    string // "postgres", "gateway", "mongod"
	PID     int
	Running bool
	Exit    string // how it ended; empty while it runs
}

// OnThread runs f on a thread that nothing else uses and that ends with f, and waits for it. The thread's namespaces
// may be changed, because no other code sees them.
func OnThread(f func()) {
	done := make(chan struct{})
	childproc.OwnThread(func() { defer close(done); f() })
	<-done
}

// command describes a program without its place and its sandbox.
func command(ctx context.Context, s Spec) *exec.Cmd {
	cmd := childproc.Command(ctx, s.Path, s.Args...)
	cmd.Env = s.Env
	if len(s.Also) > 0 {
		cmd.Env = append(cmd.Environ(), s.Also...)
	}
	if s.Input != "" {
		cmd.Stdin = strings.NewReader(s.Input)
	}
	cmd.Stdout, cmd.Stderr = s.Log, s.Log
	cmd.SysProcAttr = &syscall.SysProcAttr{}
	childproc.Attributes(cmd.SysProcAttr)
	return cmd
}

// Start starts a program and returns when it was executed. The process is in a process group of its own, so that Ctrl-C
// on a terminal reaches Plimsoll alone, which ends the process in order. ctx permits the start; its end does not end
// the process.
func Start(ctx context.Context, s Spec) (*Process, error) {
	p := &Process{Role: s.Role, Done: make(chan struct{})}
	started := make(chan error)
	childproc.OwnThread(func() { // which lasts until the child has ended
		cmd, err := launch(ctx, s)
		if err != nil {
			started <- fmt.Errorf("cannot start %s: %w", s.Role, err)
			return
		}
		p.PID = cmd.Process.Pid
		p.Born = procid.Of(p.PID).Ticks // it exists at least as a zombie
		started <- nil
		p.Exit = cmd.Wait()
		close(p.Done)
	})
	if err := <-started; err != nil {
		return nil, err
	}
	return p, nil
}

func (p *Process) Running() bool {
	select {
	case <-p.Done:
		return false
	default:
		return true
	}
}

func (p *Process) Status() Status {
	s := Status{Role: p.Role, PID: p.PID, Running: p.Running()}
	if !s.Running {
		s.Exit = "ended"
		if p.Exit != nil {
			s.Exit = p.Exit.Error()
		}
	}
	return s
}

// Signal sends a signal if the process runs.
func (p *Process) Signal(sig syscall.Signal) {
	if p.Running() {
		_ = syscall.Kill(p.PID, sig) // it may have ended meanwhile, which Done tells
	}
}

// Kill kills the process and its descendants, and waits for the process to end.
func (p *Process) Kill() {
	if p.Running() {
		KillTree(p.PID)
	}
	<-p.Done
}

// End sends a signal, waits for the process to end, and kills it when ctx is done.
func (p *Process) End(ctx context.Context, sig syscall.Signal) error {
	p.Signal(sig)
	select {
	case <-p.Done:
		return nil
	case <-ctx.Done():
	}
	p.Kill()
	return fmt.Errorf("%s did not end in time after signal %q and was killed", p.Role, sig)
}

// KillTree kills a process and its descendants. It stops the process first, so that the process cannot fork meanwhile.
func KillTree(pid int) {
	_ = syscall.Kill(pid, syscall.SIGSTOP)
	all := append(Descendants(pid), pid)
	for _, p := range all {
		_ = syscall.Kill(p, syscall.SIGKILL)
	}
}

// Run runs a program to its end and returns its output, which is also written to log. If the program fails, the error
// has the last lines of the output.
func Run(ctx context.Context, s Spec, log io.Writer) ([]byte, error) {
	return RunBy(ctx, s, log, Start)
}

// maxOutput bounds the output of [Run]. An installation of hundreds of packages writes 1 MB.
const maxOutput = 64 << 20

// RunBy is [Run] with another function than [Start], such as one that also writes a journal.
func RunBy(ctx context.Context, s Spec, log io.Writer,
	start func(context.Context, Spec) (*Process, error)) ([]byte, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	s.Log = w
	p, err := start(ctx, s)
	w.Close() // the child has its own
	if err != nil {
		return nil, errors.Join(err, r.Close())
	}
	stop := context.AfterFunc(ctx, func() {
		p.Kill()
		_ = r.SetReadDeadline(time.Now()) // a process that it left may have the other end open
	})
	defer stop()
	var out bytes.Buffer
	n, err := io.Copy(io.MultiWriter(&out, log), io.LimitReader(r, maxOutput))
	if n == maxOutput {
		p.Kill()
	}
	r.Close()
	<-p.Done
	switch {
	case n == maxOutput:
		return nil, fmt.Errorf("%s wrote more than %d bytes and was killed", s.Role, int64(maxOutput))
	case ctx.Err() != nil:
		return nil, fmt.Errorf("%s: %w", s.Role, context.Cause(ctx))
	case p.Exit != nil:
		return nil, fmt.Errorf("%s failed: %w%s", s.Role, p.Exit, LastLines(out.Bytes(), 15))
	}
	return out.Bytes(), err
}

// LastLines returns the last n lines of a text for the end of an error message; empty if there are none.
func LastLines(text []byte, n int) string {
	s := strings.TrimSpace(string(text))
	if s == "" {
		return ""
	}
	lines := strings.Split(s, "\n")
	if len(lines) > n {
		lines = lines[len(lines)-n:]
	}
	return "\n  | " + strings.Join(lines, "\n  | ")
}

// LogTail returns the last lines of a log file for the end of an error message; empty if there are none.
func LogTail(name string) string {
	f, err := os.Open(name)
	if err != nil {
		return ""
	}
	defer f.Close()
	if size, err := f.Seek(0, io.SeekEnd); err == nil {
		_, _ = f.Seek(max(0, size-16<<10), io.SeekStart)
	}
	data, _ := io.ReadAll(f)
	if tail := LastLines(data, 15); tail != "" {
		return "; " + name + strings.TrimSuffix(tailMark, "\n") + tail
	}
	return ""
}

// Brief shortens a text for an event: it replaces each [LogTail] by the most important line and the name of the log.
func Brief(text string) string {
	head, rest, ok := strings.Cut(text, tailMark)
	if !ok {
		return text
	}
	var tail []string
	after := ""
	for line := range strings.Lines(rest) {
		if l, in := strings.CutPrefix(strings.TrimRight(line, "\n"), "  | "); in && after == "" {
			tail = append(tail, l)
		} else {
			after += line
		}
	}
	if i := strings.LastIndex(head, "; "); i >= 0 {
		head = head[:i] + ": " + strings.TrimSpace(mostImportant(tail)) + " (log: " + head[i+len("; "):] + ")"
	}
	if after == "" {
		return head
	}
	return head + "\n" + Brief(after)
}

// tailMark is between the name of a log and its last lines.
const tailMark = " ends with:\n"

// severities are the marks of severe log lines of servers, the most severe first.
var severities = []expression.Lazy{
	expression.New(`(?i)\b(panic|fatal)\b|"s":"F"`),
	expression.New(`(?i)\b(error|failed|cannot)\b|"s":"E"`),
}

// mostImportant is the first of the most severe lines; the last line if none is severe.
func mostImportant(lines []string) string {
	for _, w := range severities {
		if i := slices.IndexFunc(lines, w().MatchString); i >= 0 {
			return lines[i]
		}
	}
	if len(lines) == 0 {
		return ""
	}
	return lines[len(lines)-1]
}

// Gone waits until none of the processes with the given ids and start times is left.
func Gone(pids map[int]uint64, within time.Duration) error {
	deadline := time.Now().Add(within)
	for {
		left := 0
		for pid, born := range pids {
			if Alive(pid, born) {
				left = pid
			}
		}
		if left == 0 {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("process %d was killed but still runs after %v", left, within)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// LockedWriter lets several programs write to one log.
type LockedWriter struct {
	mu sync.Mutex
	W  io.Writer
}

func (l *LockedWriter) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.W.Write(p)
}
