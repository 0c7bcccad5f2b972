package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/procid"
	"github.com/plimsoll-bench/plimsoll/lab/process"
)

const journalSchema = 1

// journal is HOME/run/ID/state.json, written before the server exists.
type journal struct {
	Schema    int       `json:"schema"`
	ID        string    `json:"id"`
	Engine    string    `json:"engine"`
	Created   time.Time `json:"created"`
	Owner     entry     `json:"owner"` // the Plimsoll that started the server
	DataDir   string    `json:"dataDir"`
	Temporary bool      `json:"temporary"` // the data are removed with the server
	URI       string    `json:"uri,omitempty"`
	Processes []entry   `json:"processes,omitempty"`
}

// entry is one process. It is written with pid 0 before the process is started, and again with its identity.
type entry struct {
	Role      string `json:"role"`
	PID       int    `json:"pid"`
	Start     uint64 `json:"start"` // clock ticks since boot
	Boot      string `json:"boot,omitempty"`
	Namespace string `json:"pid_namespace,omitempty"`
}

// id returns the identity of the process.
func (e entry) id() procid.ID {
	return procid.ID{PID: e.PID, Boot: e.Boot, Namespace: e.Namespace, Ticks: e.Start}
}

// set writes the identity of a started process into its entry.
func (e *entry) set(id procid.ID) {
	e.PID, e.Start, e.Boot, e.Namespace = id.PID, id.Ticks, id.Boot, id.Namespace
}

// book keeps the journal of one server on disk.
type book struct {
	mu   sync.Mutex
	dir  string // HOME/run/ID
	file string
	j    journal
}

// openBook makes the directory of a new server and its journal. If dataDir is empty, the data are temporary and inside
// that directory.
func openBook(home layout, engine, dataDir string) (*book, error) {
	id := engine + "-" + randomHex(4)
	b := &book{dir: home.run(id), file: home.state(id)}
	if err := os.MkdirAll(b.dir, 0o700); err != nil {
		return nil, fmt.Errorf("cannot make the directory of the server (see PLIMSOLL_HOME): %w", err)
	}
	b.j = journal{Schema: journalSchema, ID: id, Engine: engine, Created: time.Now().UTC(),
		Owner: entry{Role: "plimsoll"}, DataDir: dataDir}
	b.j.Owner.set(procid.Self())
	if dataDir == "" {
		b.j.DataDir, b.j.Temporary = filepath.Join(b.dir, "data"), true
	}
	if err := writeJSON(b.file, &b.j); err != nil {
		return nil, errors.Join(fmt.Errorf("cannot write the journal of the server: %w", err), os.RemoveAll(b.dir))
	}
	return b, nil
}

// start writes an entry for a process, starts it, and writes its identity.
func (b *book) start(ctx context.Context, s process.Spec) (*process.Process, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.j.Processes = append(b.j.Processes, entry{Role: s.Role})
	if err := writeJSON(b.file, &b.j); err != nil {
		return nil, fmt.Errorf("cannot write the journal, so %s is not started: %w", s.Role, err)
	}
	p, err := process.Start(ctx, s)
	if err != nil {
		return nil, err
	}
	id := procid.Self() // a child is in the boot and PID namespace of this process
	id.PID, id.Ticks = p.PID, p.Born
	b.j.Processes[len(b.j.Processes)-1].set(id)
	if err := writeJSON(b.file, &b.j); err != nil {
		p.Kill()
		return nil, fmt.Errorf("cannot write the journal, so %s was killed: %w", s.Role, err)
	}
	return p, nil
}

// setURI writes the address for clients, without credentials.
func (b *book) setURI(uri string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.j.URI = uri
	return writeJSON(b.file, &b.j)
}

// address returns the address for clients, without credentials.
func (b *book) address() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.j.URI
}

// remove removes the server's directory with its journal, logs and temporary data.
func (b *book) remove() error { return process.RemoveTree(b.dir) }
