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

// process is a client as its parent sees it.
type process struct {
	number int
	cmd    *exec.Cmd
	in     io.WriteCloser
	to     *lines
	stderr tail
}

// report is what the parent hears of a client: a message, or that the process is gone.
type report struct {
	client int
	message
	gone bool
	why  string // how it ended, if it is gone and did not end well
}

// startProcess starts a client. What it says goes to reports, until a report that it is gone.
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

// follow passes on what a client says until it is gone.
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
		p.kill() // it says what nobody understands, or was cut off in the middle of a word
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

func (p *process) kill() { _ = p.cmd.Process.Kill() } // it may have ended by itself

// tell sends a command. A client that is gone is noticed elsewhere.
func (p *process) tell(c command) { _ = p.to.send(c) }

// release ends the input of a client, which ends the client where it has not ended yet.
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

// last returns the first line that was kept, which is what a program that ends by itself says.
func (t *tail) last() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	line, _, _ := strings.Cut(strings.TrimSpace(string(t.text)), "\n")
	return line
}

// name is how a client is called in texts.
func name(client int) string { return fmt.Sprintf("client %d", client) }
