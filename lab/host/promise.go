package host

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/filelock"
	"github.com/plimsoll-bench/plimsoll/internal/wait"
	"github.com/plimsoll-bench/plimsoll/lab/journal"
)

// SharedHome is the directory below which labs of this machine reserve what only one of them may have, whatever their
// own directories are. Users who are not root share one with their own labs.
func SharedHome() string {
	if os.Geteuid() == 0 {
		return "/run/plimsoll"
	}
	return filepath.Join(os.TempDir(), "plimsoll-"+strconv.Itoa(os.Geteuid()))
}

// kindReservation is a file below Home whose lock reserves a port or a network for one lab. Journals name it "promise".
const kindReservation = "promise"

// reservation is a port or a network that no other lab can reserve. The kernel unlocks its file when this process ends,
// however it ends.
type reservation struct {
	path    string
	file    *os.File
	journal *journal.Journal
	id      int
}

// reserve makes the reservation of a name, or returns filelock.ErrBusy.
func (g *Maker) reserve(name string) (*reservation, error) {
	p := &reservation{path: filepath.Join(g.opts.Home, "promises", name), journal: g.opts.Journal}
	if err := os.MkdirAll(filepath.Dir(p.path), 0o755); err != nil {
		return nil, fmt.Errorf("cannot reserve %s: %w", name, err)
	}
	var err error
	owner := newToken() // tells the file from a later one of another lab
	if p.id, err = p.journal.Add(kindReservation, p.path, map[string]string{"owner": owner}); err != nil {
		return nil, err
	}
	if p.file, err = filelock.Try(p.path); err != nil {
		return nil, errors.Join(fmt.Errorf("cannot reserve %s: %w", name, err), p.journal.Gone(p.id))
	}
	if err := os.WriteFile(p.path, []byte(owner), 0o600); err != nil {
		return nil, errors.Join(fmt.Errorf("cannot reserve %s: %w", name, err), p.release())
	}
	return p, nil
}

func (p *reservation) release() error {
	err := os.Remove(p.path) // while it is locked, so that another process that waits for it sees a new file
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	if err = errors.Join(err, p.file.Close()); err != nil {
		return err
	}
	return p.journal.Gone(p.id)
}

// removeReservation removes the file of a reservation, unless another lab has it by now. A child that was being started
// when its lab was killed may hold the lock for a moment.
func removeReservation(ctx context.Context, r journal.Resource) error {
	ctx, cancel := context.WithTimeout(ctx, removeTime)
	defer cancel()
	for {
		if ours, err := isOurs(r); !ours || err != nil {
			return err
		}
		f, err := filelock.Try(r.Name)
		if err == nil {
			defer f.Close()
			if ours, err := isOurs(r); !ours || err != nil {
				return err
			}
			return os.Remove(r.Name)
		}
		if !errors.Is(err, filelock.ErrBusy) {
			return err
		}
		if wait.Sleep(ctx, 10*time.Millisecond) != nil {
			return fmt.Errorf("a process of the lab still has it locked: %w", context.Cause(ctx))
		}
	}
}

// isOurs says whether the file exists and has the owner in the journal, or no owner yet.
func isOurs(r journal.Resource) (bool, error) {
	owner, err := os.ReadFile(r.Name)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return len(owner) == 0 || string(owner) == r.Details["owner"], err
}

// The ports of plain hosts, below those that the kernel uses for outgoing connections.
const firstPort, lastPort = 20000, 31999

// port reserves a free port of loopback. It starts at a random one, because labs of other users do not see each other's
// reservations.
func (g *Maker) port() (int, *reservation, error) {
	from, to := ephemeralPorts()
	n := lastPort - firstPort + 1
	start := rand.IntN(n)
	for i := range n {
		port := firstPort + (start+i)%n
		if port >= from && port <= to || !free("127.0.0.1", port) {
			continue
		}
		p, err := g.reserve("port-" + strconv.Itoa(port))
		if errors.Is(err, filelock.ErrBusy) {
			continue
		}
		if err != nil {
			return 0, nil, err
		}
		if free("127.0.0.1", port) { // still, now that it is reserved
			return port, p, nil
		}
		if err := p.release(); err != nil {
			return 0, nil, err
		}
	}
	return 0, nil, fmt.Errorf("no port between %d and %d is free on 127.0.0.1. "+
		"Stop a program that listens there", firstPort, lastPort)
}

func free(address string, port int) bool {
	l, err := net.Listen("tcp", net.JoinHostPort(address, strconv.Itoa(port)))
	if err != nil {
		return false
	}
	return l.Close() == nil
}

// ephemeralPorts are the ports that the kernel uses for outgoing connections; none if they are not known.
func ephemeralPorts() (from, to int) {
	text, err := os.ReadFile("/proc/sys/net/ipv4/ip_local_port_range")
	if err != nil {
		return 0, 0
	}
	if n, err := fmt.Sscan(string(text), &from, &to); n != 2 || err != nil {
		return 0, 0
	}
	if from <= firstPort && to >= lastPort { // all of them: no port would be left
		return 0, 0
	}
	return from, to
}
