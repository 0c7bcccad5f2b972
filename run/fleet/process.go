package fleet

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"

	"github.com/plimsoll-bench/plimsoll/internal/childproc"
)

// process is the process of a client in the parent.
type process struct {
	number int
	cmd    *exec.Cmd
	in     io.WriteCloser
	to     *lines
	stderr tail
}

// report is a message of a client, or the end of its process.
type report struct {
	client int
	message
	gone bool
	why  string // how it failed, if it is gone
}

// startProcess starts a client. Its messages go to reports; the last report is the end of its process.
func startProcess(number int, launch Launcher, reports chan<- report) (*process, error) {
	p := &process{number: number, cmd: launch()}
	in, err := p.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.in, p.cmd.Stderr = in, &p.stderr
	if err := childproc.Start(p.cmd); err != nil {
		return nil, err
	}
	go p.follow(out, reports)
	p.to = newLines(in)
	return p, nil
}

// follow passes on the messages of a client until its process ends.
func (p *process) follow(out io.Reader, reports chan<- report) {
	lines := json.NewDecoder(bufio.NewReaderSize(out, 1<<16))
	var broken error
	for {
		var m message
		if broken = lines.Decode(&m); broken != nil {
			break
		}
		reports <- report{client: p.number, message: m}
	}
	if !errors.Is(broken, io.EOF) {
		p.kill() // it writes other data than messages, or was cut off
	}
	why := ""
	if err := p.cmd.Wait(); err != nil {
		why = strings.TrimSpace(err.Error() + ": " + p.stderr.last())
		why = strings.TrimSuffix(why, ":")
	} else if !errors.Is(broken, io.EOF) {
		why = broken.Error()
	}
	reports <- report{client: p.number, gone: true, why: why}
}

func (p *process) kill() { _ = p.cmd.Process.Kill() } // fails if it has ended

// send sends a command. follow notices if the client has ended.
func (p *process) send(c command) { _ = p.to.send(c) }

// release closes the input of a client, which ends the client.
func (p *process) release() {
	p.to.close()
	_ = p.in.Close()
}

// tail keeps the end of what is written to it.
type tail struct {
	mu   sync.Mutex
	text []byte
}

const tailBytes = 4 << 10

// Write implements [io.Writer].
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
