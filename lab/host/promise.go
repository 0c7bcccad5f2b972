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
	"syscall"
	"time"

	"github.com/plimsoll-bench/plimsoll/lab/journal"
)

// kindPromise is a file below Home whose lock promises something to one lab: a port, a network.
const kindPromise = "promise"

// errTaken says that another lab has what was asked for.
var errTaken = errors.New("promised to another lab")

// promise is something of the machine that no other lab gets while it is held. The kernel gives the lock back when
// this process ends, however it ends.
type promise struct {
	path    string
	file    *os.File
	journal *journal.Journal
	id      int
}

// promise takes the promise of the given name, or fails with errTaken.
func (g *Ground) promise(name string) (*promise, error) {
	p := &promise{path: g.promiseFile(name), journal: g.opts.Journal}
	if err := os.MkdirAll(filepath.Dir(p.path), 0o755); err != nil {
		return nil, fmt.Errorf("cannot promise %s: %w", name, err)
	}
	var err error
	owner := newToken() // tells the file from one that another lab makes later
	if p.id, err = p.journal.Add(kindPromise, p.path, map[string]string{"owner": owner}); err != nil {
		return nil, err
	}
	if p.file, err = lockFile(p.path); err != nil {
		return nil, errors.Join(fmt.Errorf("cannot promise %s: %w", name, err), p.journal.Gone(p.id))
	}
	if err := os.WriteFile(p.path, []byte(owner), 0o600); err != nil {
		return nil, errors.Join(fmt.Errorf("cannot promise %s: %w", name, err), p.release())
	}
	return p, nil
}

// release gives the promise back.
func (p *promise) release() error {
	err := os.Remove(p.path) // while it is locked: whoever waits for it sees that the file is another one
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	if err = errors.Join(err, p.file.Close()); err != nil {
		return err
	}
	return p.journal.Gone(p.id)
}

// lockFile makes and locks a file. Files are removed by those who hold the lock, so the one that was locked must still
// be the one that has the name.
func lockFile(path string) (*os.File, error) {
	for {
		f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
		if err != nil {
			return nil, err
		}
		if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
			f.Close()
			if errors.Is(err, syscall.EWOULDBLOCK) {
				return nil, errTaken
			}
			return nil, err
		}
		locked, err := f.Stat()
		if err == nil {
			var named os.FileInfo
			if named, err = os.Stat(path); err == nil && os.SameFile(locked, named) {
				return f, nil
			}
		}
		f.Close()
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
}

// removePromise removes the file of a promise unless it is another lab's by now. A child that was being started when
// its lab was killed may hold the lock for a moment.
func removePromise(ctx context.Context, r journal.Resource) error {
	ctx, cancel := context.WithTimeout(ctx, removeTime)
	defer cancel()
	for {
		if ours, err := holds(r); !ours || err != nil {
			return err
		}
		f, err := lockFile(r.Name)
		if err == nil {
			defer f.Close()
			if ours, err := holds(r); !ours || err != nil {
				return err
			}
			return os.Remove(r.Name)
		}
		if !errors.Is(err, errTaken) {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("a process of the lab still holds it: %w", context.Cause(ctx))
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// holds says whether a promise's file is there and is the one that was written down, or was not written yet.
func holds(r journal.Resource) (bool, error) {
	owner, err := os.ReadFile(r.Name)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return len(owner) == 0 || string(owner) == r.Details["owner"], err
}

// The ports that plain hosts promise, below those that the kernel gives to outgoing connections.
const firstPort, lastPort = 20000, 31999

// port promises a port of loopback on which nothing listens. The port is any of the range, so that labs with
// different homes, which do not see each other's promises, hardly ever choose the same.
func (g *Ground) port() (int, *promise, error) {
	from, to := ephemeralPorts()
	n := lastPort - firstPort + 1
	start := rand.IntN(n)
	for i := range n {
		port := firstPort + (start+i)%n
		if port >= from && port <= to || !free("127.0.0.1", port) {
			continue
		}
		p, err := g.promise("port-" + strconv.Itoa(port))
		if errors.Is(err, errTaken) {
			continue
		}
		if err != nil {
			return 0, nil, err
		}
		if free("127.0.0.1", port) { // not taken while nobody had promised it
			return port, p, nil
		}
		if err := p.release(); err != nil {
			return 0, nil, err
		}
	}
	return 0, nil, fmt.Errorf("no port between %d and %d is free on 127.0.0.1; end something that listens there", firstPort, lastPort)
}

// free says whether nothing listens on a port.
func free(address string, port int) bool {
	l, err := net.Listen("tcp", net.JoinHostPort(address, strconv.Itoa(port)))
	if err != nil {
		return false
	}
	return l.Close() == nil
}

// ephemeralPorts are those that the kernel gives to outgoing connections; none if that is not known.
func ephemeralPorts() (from, to int) {
	text, err := os.ReadFile("/proc/sys/net/ipv4/ip_local_port_range")
	if err != nil {
		return 0, 0
	}
	if n, err := fmt.Sscan(string(text), &from, &to); n != 2 || err != nil {
		return 0, 0
	}
	if from <= firstPort && to >= lastPort { // all of them: a promise is still better than none
		return 0, 0
	}
	return from, to
}
