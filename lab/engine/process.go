package engine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"
)

// spec says how to run one program.
type spec struct {
	role    string // what the process is for, in words: "postgres", "apt-get"
	path    string // in the sandbox, if there is one
	args    []string
	env     []string // nil: this process's own
	input   string   // standard input; empty: none
	log     *os.File // standard output and error
	sandbox *sandbox // nil: run like any child
}

// sandbox is where a program runs when it must not run in the machine's own file system: in a mount
// and a process namespace of its own. The kernel takes both away, with all processes and mounts in
// them, when the program ends, however it ends. It needs root.
type sandbox struct {
	root   string // the new root directory; empty: the machine's own
	bind   []bind // directories shown in the new root
	uid    uint32
	gid    uint32
	devPts bool // the machine's terminals as well (package scripts want one)
}

// bind shows the directory from at the path at in a sandbox.
type bind struct{ from, at string }

// process is a child of this process. It is killed when this process ends.
type process struct {
	role string
	pid  int
	born uint64 // start time as the kernel counts it, see [startTime]
	done chan struct{}
	exit error // how it ended; valid once done is closed
}

// start runs a program and returns when it was executed. The process is in a process group of its
// own, so that an interrupt typed at the terminal reaches only Plimsoll, which ends it in order.
func start(s spec) (*process, error) {
	p := &process{role: s.role, done: make(chan struct{})}
	started := make(chan error)
	// The kernel sends the parent-death signal when the thread that forked ends, so the thread is
	// kept until the child has ended.
	onOwnThread(func() {
		cmd, err := launch(s)
		if err != nil {
			started <- fmt.Errorf("cannot start %s: %w", s.role, err)
			return
		}
		p.pid = cmd.Process.Pid
		p.born, _ = startTime(p.pid) // still there at least as a zombie: nobody has waited for it
		started <- nil
		p.exit = cmd.Wait()
		close(p.done)
	})
	if err := <-started; err != nil {
		return nil, err
	}
	return p, nil
}

// running says whether the process has not ended yet.
func (p *process) running() bool {
	select {
	case <-p.done:
		return false
	default:
		return true
	}
}

func (p *process) status() ProcessStatus {
	s := ProcessStatus{Role: p.role, PID: p.pid, Running: p.running()}
	if !s.Running {
		s.Exit = "ended"
		if p.exit != nil {
			s.Exit = p.exit.Error()
		}
	}
	return s
}

// signal sends sig if the process runs.
func (p *process) signal(sig syscall.Signal) {
	if p.running() {
		_ = syscall.Kill(p.pid, sig) // it may have ended in between; its end is seen on done
	}
}

// kill ends the process and its descendants and waits for the process.
func (p *process) kill() {
	if p.running() {
		killTree(p.pid)
	}
	<-p.done
}

// end asks the process to end with sig and kills it when ctx is done.
func (p *process) end(ctx context.Context, sig syscall.Signal) error {
	p.signal(sig)
	select {
	case <-p.done:
		return nil
	case <-ctx.Done():
	}
	p.kill()
	return fmt.Errorf("%s did not end in time after signal %q and was killed", p.role, sig)
}

// killTree kills a process and its descendants. It stops the process first, so that it cannot have
// new children meanwhile.
func killTree(pid int) {
	_ = syscall.Kill(pid, syscall.SIGSTOP)
	all := append(descendants(pid), pid)
	for _, p := range all {
		_ = syscall.Kill(p, syscall.SIGKILL)
	}
}

// run runs a program to its end. If it fails, the error ends with the last lines it wrote. All that
// it writes also goes to log.
func run(ctx context.Context, s spec, log io.Writer) ([]byte, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	s.log = w
	p, err := start(s)
	w.Close() // the child has its own
	if err != nil {
		return nil, errors.Join(err, r.Close())
	}
	stop := context.AfterFunc(ctx, p.kill)
	defer stop()
	var out bytes.Buffer
	_, err = io.Copy(io.MultiWriter(&out, log), r)
	r.Close()
	<-p.done
	switch {
	case ctx.Err() != nil:
		return nil, fmt.Errorf("%s: %w", s.role, context.Cause(ctx))
	case p.exit != nil:
		return nil, fmt.Errorf("%s failed: %w%s", s.role, p.exit, lastLines(out.Bytes(), 15))
	}
	return out.Bytes(), err
}

// lastLines returns the last n lines of text for the end of an error message, or nothing.
func lastLines(text []byte, n int) string {
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

// LogTail returns the last lines of a log file for the end of an error message, or nothing if there are none.
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
	if tail := lastLines(data, 15); tail != "" {
		return "; " + name + " ends with:" + tail
	}
	return ""
}

// anyEnded returns a channel that is closed when the first of the processes has ended.
func anyEnded(ps []*process) <-chan struct{} {
	ended := make(chan struct{})
	var once sync.Once
	for _, p := range ps {
		go func() {
			<-p.done
			once.Do(func() { close(ended) })
		}()
	}
	return ended
}

// gone waits until none of the processes with the given ids and start times is left.
func gone(pids map[int]uint64, within time.Duration) error {
	deadline := time.Now().Add(within)
	for {
		left := 0
		for pid, born := range pids {
			if alive(pid, born) {
				left = pid
			}
		}
		if left == 0 {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("process %d was killed but is still there after %v", left, within)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// lockedWriter lets several programs write to one log.
type lockedWriter struct {
	mu sync.Mutex
	w  io.Writer
}

func (l *lockedWriter) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(p)
}
