// Package ssh places agents on hosts that the ssh program of this machine reaches. The agents connect to the
// coordinator through the same connections, so nothing listens for the network. It does not know what agents do.
package ssh

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/plimsoll-bench/plimsoll/fleet"
	"github.com/plimsoll-bench/plimsoll/internal/childproc"
	"github.com/plimsoll-bench/plimsoll/internal/replace"
	"github.com/plimsoll-bench/plimsoll/internal/safeopen"
)

// Coordinator is where agents connect, on loopback of this machine.
type Coordinator interface {
	// Wait returns links to n agents when so many are there. Resume returns those of an unfinished run.
	Wait(ctx context.Context, n int, tell func(string)) ([]fleet.Link, error)
	Resume(ctx context.Context) ([]fleet.Link, error)
	// Connect is its address.
	Connect() string
	// Token is what an agent must know.
	Token() string
	// Dismiss ends all agents.
	Dismiss() error
}

// leaveAtMost is the time limit of agents after they were dismissed.
const leaveAtMost = 5 * time.Second

// tunnelsFile has the ports of the hosts, so that a coordinator that is started again is found through them.
const tunnelsFile = "ssh.json"

// maxTunnels bounds the file: a thousand hosts of some hundred bytes.
const maxTunnels = 1 << 20

// Placer places agents on hosts.
type Placer struct {
	hosts       []string
	coordinator Coordinator
	dir         string // of the coordinator
	program     string // ssh

	mu      sync.Mutex
	running []*session
}

// tunnel is a port of loopback on a host that ssh forwards to the coordinator.
type tunnel struct {
	Host string `json:"host"`
	Port int    `json:"port"`
}

// session is one ssh program, with an agent on its host or only with the tunnel of an earlier one.
type session struct {
	tunnel
	cmd    *exec.Cmd
	output output
	ended  chan struct{}
	err    error
}

// New returns the placer of hosts, with a file in the directory of the coordinator. Agent k runs on host k modulo their
// number.
func New(hosts []string, c Coordinator, dir string) *Placer {
	return &Placer{hosts: slices.Clone(hosts), coordinator: c, dir: dir, program: "ssh"}
}

// Place starts the agents that are missing.
func (p *Placer) Place(ctx context.Context, n int, tell func(string)) ([]fleet.Link, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.running = slices.DeleteFunc(p.running, func(s *session) bool { return s.over() })
	for len(p.running) < n {
		// Another program may have the port on that host. Then ssh ends with an error that says so.
		to := tunnel{p.hosts[len(p.running)%len(p.hosts)], 20_000 + rand.IntN(12_000)}
		if err := p.start(ctx, to, "plimsoll", "agent", "--connect", "tls://127.0.0.1:"+strconv.Itoa(to.Port), "--token-file", "-"); err != nil {
			return nil, err
		}
	}
	if err := p.keep(); err != nil {
		return nil, err
	}
	return p.wait(ctx, func(ctx context.Context) ([]fleet.Link, error) { return p.coordinator.Wait(ctx, n, tell) })
}

var _ fleet.Resumer = (*Placer)(nil)

// Resume opens the tunnels of the agents again.
func (p *Placer) Resume(ctx context.Context) ([]fleet.Link, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	text, err := safeopen.ReadFile(p.dir, tunnelsFile, maxTunnels)
	if err != nil {
		return nil, err
	}
	var list []tunnel
	if err := json.Unmarshal(text, &list); err != nil {
		return nil, fmt.Errorf("%s is damaged: %w", filepath.Join(p.dir, tunnelsFile), err)
	}
	for _, t := range list {
		if err := p.start(ctx, t, "cat"); err != nil { // it ends with this process
			return nil, err
		}
	}
	return p.wait(ctx, p.coordinator.Resume)
}

// keep writes the tunnels down.
func (p *Placer) keep() error {
	var list []tunnel
	for _, s := range p.running {
		list = append(list, s.tunnel)
	}
	text, err := json.Marshal(list)
	if err != nil {
		return err
	}
	return replace.File(filepath.Join(p.dir, tunnelsFile), text, 0o600, false)
}

// wait waits for agents, but not for those whose ssh has ended.
func (p *Placer) wait(ctx context.Context, wait func(context.Context) ([]fleet.Link, error)) ([]fleet.Link, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	for _, s := range p.running {
		go func() {
			select {
			case <-s.ended:
				cancel(s.failure())
			case <-ctx.Done():
			}
		}()
	}
	links, err := wait(ctx)
	if cause := context.Cause(ctx); err != nil && cause != nil && !errors.Is(cause, context.Canceled) {
		err = cause
	}
	return links, err
}

// start starts ssh with a command. The ssh program carries the connections of an agent: it connects to a port of
// loopback on its host, and ssh forwards that to the coordinator.
func (p *Placer) start(ctx context.Context, to tunnel, command ...string) error {
	_, address, ok := strings.Cut(p.coordinator.Connect(), "://")
	if !ok {
		return fmt.Errorf("%q is not the address of a coordinator", p.coordinator.Connect())
	}
	words := []string{"-T", "-o", "BatchMode=yes", "-o", "ExitOnForwardFailure=yes", "-o", "ServerAliveInterval=5",
		"-o", "ServerAliveCountMax=12", "-R", fmt.Sprintf("127.0.0.1:%d:%s", to.Port, address), "--", to.Host}
	s := &session{tunnel: to, ended: make(chan struct{}),
		cmd: childproc.Command(ctx, p.program, append(words, command...)...)}
	s.cmd.Stdout, s.cmd.Stderr = &s.output, &s.output
	in, err := s.cmd.StdinPipe()
	if err != nil {
		return err
	}
	if err := childproc.Start(s.cmd); err != nil {
		return fmt.Errorf("cannot start ssh for %s: %w", to.Host, err)
	}
	// Other users can read command lines. A failed write shows as the end of ssh.
	_, _ = in.Write([]byte(p.coordinator.Token() + "\n"))
	go func() {
		s.err = s.cmd.Wait()
		close(s.ended)
	}()
	p.running = append(p.running, s)
	return nil
}

func (s *session) over() bool {
	select {
	case <-s.ended:
		return true
	default:
		return false
	}
}

// failure says why an agent ended. Call it after the end.
func (s *session) failure() error {
	said := strings.TrimSpace(s.output.String())
	var exit *exec.ExitError
	switch {
	case errors.As(s.err, &exit) && exit.ExitCode() == 127:
		return fmt.Errorf("%s has no plimsoll on its PATH: install the same release there as here", s.Host)
	case errors.As(s.err, &exit) && exit.ExitCode() == 255:
		return fmt.Errorf("ssh cannot reach %s, or cannot log in without a question: %s. Try: ssh -o BatchMode=yes %s true",
			s.Host, last(said), s.Host)
	case s.err == nil:
		return fmt.Errorf("the agent on %s ended: %s", s.Host, last(said))
	}
	return fmt.Errorf("the agent on %s ended: %w: %s", s.Host, s.err, last(said))
}

func last(text string) string {
	lines := strings.Split(text, "\n")
	return strings.TrimSpace(lines[len(lines)-1])
}

func (p *Placer) End() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	err := p.coordinator.Dismiss()
	limit, cancel := context.WithTimeout(context.Background(), leaveAtMost)
	defer cancel()
	for _, s := range p.running {
		select {
		case <-s.ended:
			continue
		case <-limit.Done():
		}
		_ = s.cmd.Process.Kill() // an agent without a connection ends some time later
		<-s.ended
	}
	p.running = nil
	return err
}
