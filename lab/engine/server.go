package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/plimsoll-bench/plimsoll/lab/process"
)

// base has the common parts of the servers of all engines: processes, journal, lock.
type base struct {
	book    *book
	version string
	uri     string // for clients, with credentials; set by ready

	mu     sync.Mutex
	procs  []*process.Process
	ended  <-chan struct{}
	unlock func() // of the data directory; nil afterwards
}

// openServer makes the journal of a server and locks its data directory.
func openServer(home layout, engine, dataDir string) (*book, func(), error) {
	if err := home.check(); err != nil {
		return nil, nil, err
	}
	if dataDir != "" {
		abs, err := filepath.Abs(dataDir)
		if err != nil {
			return nil, nil, err
		}
		dataDir = abs
	}
	b, err := openBook(home, engine, dataDir)
	if err != nil {
		return nil, nil, err
	}
	if err := os.MkdirAll(b.j.DataDir, 0o700); err != nil {
		return nil, nil, errors.Join(fmt.Errorf("cannot make the data directory: %w", err), b.remove())
	}
	unlock, err := lockDir(b.j.DataDir)
	if err != nil {
		return nil, nil, errors.Join(err, b.remove())
	}
	return b, unlock, nil
}

// lockDir locks a data directory without a file in it.
func lockDir(dir string) (func(), error) {
	unlock, err := lockOpen(dir, os.O_RDONLY)
	if errors.Is(err, errLocked) {
		return nil, fmt.Errorf("the data directory %s is in use by another server: stop that server or use another directory", dir)
	}
	return unlock, err
}

func (b *base) ID() string      { return b.book.j.ID }
func (b *base) Engine() string  { return b.book.j.Engine }
func (b *base) DataDir() string { return b.book.j.DataDir }
func (b *base) Version() string { return b.version }
func (b *base) URI() string     { return b.uri }

// launch starts a process of the server. Its output is appended to a log file.
func (b *base) launch(ctx context.Context, s process.Spec, logFile string) (*process.Process, error) {
	log, err := os.OpenFile(logFile, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	defer log.Close() // the child has its own
	s.Log = log
	p, err := b.book.start(ctx, s)
	if err != nil {
		return nil, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.procs = append(b.procs, p)
	return p, nil
}

// ready is called after the start of all processes. uri is for clients; address is uri without credentials, for the
// journal.
func (b *base) ready(uri, address string) error {
	b.uri = uri
	b.mu.Lock()
	b.ended = process.AnyEnded(b.procs)
	b.mu.Unlock()
	return b.book.setURI(address)
}

func (b *base) Ended() <-chan struct{} { return b.ended }

// waitUsable waits until a write and a read succeed. An error ends with the last lines of log.
func (b *base) waitUsable(ctx context.Context, log string) error {
	if err := waitUsable(ctx, b.URI(), b.ended); err != nil {
		return fmt.Errorf("server %s at %s: %w%s", b.ID(), b.book.address(), err, process.LogTail(log))
	}
	return nil
}

func (b *base) Status() Status {
	s := Status{Running: true}
	for _, p := range b.processes() {
		ps := p.Status()
		s.Processes = append(s.Processes, ps)
		s.Running = s.Running && ps.Running
	}
	return s
}

func (b *base) Pids() []int {
	var pids []int
	for _, p := range b.processes() {
		if p.Running() {
			pids = append(append(pids, p.PID), process.Descendants(p.PID)...)
		}
	}
	return pids
}

func (b *base) Kill() error {
	procs := b.processes()
	for _, p := range procs { // kill all before waiting, so that none runs long without the others
		if p.Running() {
			process.KillTree(p.PID)
		}
	}
	for _, p := range procs {
		<-p.Done
	}
	b.release()
	return nil
}

// process returns the process with a role, or nil.
func (b *base) process(role string) *process.Process {
	for _, p := range b.processes() {
		if p.Role == role {
			return p
		}
	}
	return nil
}

func (b *base) processes() []*process.Process {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.procs
}

// release unlocks the data directory after all processes have ended.
func (b *base) release() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ended != nil {
		<-b.ended // so that Ended is closed after Kill or Stop
	}
	if b.unlock != nil {
		b.unlock()
		b.unlock = nil
	}
}

// finish removes everything of an ended server except its data.
func (b *base) finish() error {
	if b.book.j.Engine == DocumentDB {
		removeSharedMemory(b.DataDir())
	}
	b.release()
	return b.book.remove()
}

// abandon kills and removes a server that did not start.
func (b *base) abandon() error { return errors.Join(b.Kill(), b.finish()) }
