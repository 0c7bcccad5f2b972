package fleet

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"

	"github.com/plimsoll-bench/plimsoll/internal/childproc"
)

// Launcher returns the command of a process that calls [Serve] with its standard input and output. It must not have
// secrets; a client gets its order on standard input.
type Launcher func(context.Context) *exec.Cmd

// Processes places agents as processes on this machine. They end with this process and with their links.
func Processes(launch Launcher) Placers {
	return func(place string) (Placer, error) {
		if place != "" {
			return nil, fmt.Errorf("load.place: this command starts load clients on this machine only, not at %q", place)
		}
		return processes{launch}, nil
	}
}

type processes struct{ launch Launcher }

func (p processes) Place(ctx context.Context, n int, _ func(string)) ([]Link, error) {
	var list []Link
	for i := range n {
		link, err := startProcess(ctx, p.launch)
		if err != nil {
			for _, l := range list {
				l.Close()
			}
			return nil, fmt.Errorf("cannot start %s of %d: %w", name(i), n, err)
		}
		list = append(list, link)
	}
	return list, nil
}

// The processes have ended with their links.
func (processes) End() error { return nil }

// process is the link to a process on this machine.
type process struct {
	*pipe
	cmd    *exec.Cmd
	stderr tail
}

func startProcess(ctx context.Context, launch Launcher) (*process, error) {
	p := &process{cmd: launch(ctx)}
	in, err := p.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.cmd.Stderr = &p.stderr
	if err := childproc.Start(p.cmd); err != nil {
		return nil, err
	}
	p.pipe = newPipe(out, in)
	return p, nil
}

func (p *process) Facts() Facts {
	host, _ := os.Hostname() // only shown
	return Facts{Protocol: Protocol, Host: host, PID: p.cmd.Process.Pid, Local: true}
}

func (p *process) Break() { _ = p.cmd.Process.Kill() } // fails if it has ended

// Its last error is the end of the process.
func (p *process) Receive() ([]byte, error) {
	frame, broken := p.pipe.Receive()
	if broken == nil {
		return frame, nil
	}
	if !errors.Is(broken, io.EOF) {
		p.Break() // it writes other data than messages, or was cut off
	}
	if err := p.cmd.Wait(); err != nil {
		why := strings.TrimSpace(err.Error() + ": " + p.stderr.last())
		return nil, errors.New(strings.TrimSuffix(why, ":"))
	}
	return nil, broken
}

// pipe is a wire of lines of JSON.
type pipe struct {
	from *json.Decoder
	to   *lines
}

func newPipe(in io.Reader, out io.Writer) *pipe {
	return &pipe{from: json.NewDecoder(bufio.NewReaderSize(in, 1<<16)), to: newLines(out)}
}

// Pipe is the agent's side of a wire over its standard input and output. Nothing else may write to out.
func Pipe(in io.Reader, out io.Writer) Wire { return newPipe(in, out) }

func (p *pipe) Send(frame []byte) { p.to.send(frame) }

func (p *pipe) Receive() ([]byte, error) {
	var frame json.RawMessage
	err := p.from.Decode(&frame)
	return frame, err
}

func (p *pipe) Close() { p.to.close() }

func (p *pipe) Closed() <-chan struct{} { return p.to.done }

// lines writes JSON lines from its own goroutine, so that a slow reader does not block senders.
type lines struct {
	mu     sync.Mutex
	filled sync.Cond
	queue  [][]byte
	closed bool
	done   chan struct{} // closed when everything is written, or after an error
}

func newLines(w io.Writer) *lines {
	l := &lines{done: make(chan struct{})}
	l.filled.L = &l.mu
	go l.write(w)
	return l
}

func (l *lines) send(line []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.closed {
		l.queue = append(l.queue, line)
		l.filled.Signal()
	}
}

// close ends the writing when the queue is empty.
func (l *lines) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	l.filled.Signal()
}

func (l *lines) write(w io.Writer) {
	defer close(l.done)
	if c, ok := w.(io.Closer); ok {
		defer c.Close()
	}
	for {
		b, ok := l.next()
		if !ok {
			return
		}
		if _, err := w.Write(append(b, '\n')); err != nil {
			l.mu.Lock()
			l.closed, l.queue = true, nil
			l.mu.Unlock()
			return
		}
	}
}

func (l *lines) next() ([]byte, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.queue) == 0 && !l.closed {
		l.filled.Wait()
	}
	if len(l.queue) == 0 {
		return nil, false
	}
	b := l.queue[0]
	l.queue = l.queue[1:]
	return b, true
}

// tail keeps the end of what is written to it.
type tail struct {
	mu   sync.Mutex
	text []byte
}

const tailBytes = 4 << 10

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, b...)
	if over := len(t.text) - tailBytes; over > 0 {
		t.text = append(t.text[:0], t.text[over:]...)
	}
	return len(b), nil
}

// last returns the first line, which is the error of a program that failed.
func (t *tail) last() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	line, _, _ := strings.Cut(strings.TrimSpace(string(t.text)), "\n")
	return line
}

func name(client int) string { return fmt.Sprintf("client %d", client) }
