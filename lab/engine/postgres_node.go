package engine

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/plimsoll-bench/plimsoll/lab/host"
	labjournal "github.com/plimsoll-bench/plimsoll/lab/journal"
	"github.com/plimsoll-bench/plimsoll/lab/process"
)

// PostgresOptions describe one member of a set of PostgreSQL servers.
type PostgresOptions struct {
	Home string // directory of engines
	Name string // unique in the set
	Host host.Host
	Log  string // file
	// Journal lists what a killed server leaves in the kernel.
	Journal *labjournal.Journal
	// Password of the superuser, the same for all members.
	Password string
	// Allow are the IP addresses that may connect.
	Allow []string
	// Members is the number of members of its set.
	Members int
	// Sessions is the maximum number.
	Sessions int
	// Cache is PostgreSQL's shared_buffers in bytes. 0: a quarter of the host's memory limit, or PostgreSQL's default if
	// there is no limit.
	Cache int64
	// Parameters are further settings.
	Parameters map[string]string
	// Patroni manages the member; nil for a single member, which is always the primary.
	Patroni *PatroniOptions
}

// Postgres is a PostgreSQL with the DocumentDB extension, and its Patroni if it is a member of a set.
type Postgres struct {
	placed
	o PostgresOptions

	dir     string // with postgres/, socket/, pg_hba.conf, lost/, and postgresql.conf or patroni.json
	rest    int    // port of Patroni's REST API
	held    bool   // killed by [Postgres.KillServer], while its Patroni runs
	segment int    // in the journal, 0 for none

	socket *pgClient // through its Unix socket: independent of the network
	wire   *pgClient // through the network, as clients connect
}

var _ Node = (*Postgres)(nil)

// NewPostgres makes a member that does not run yet. It creates no file before [Postgres.Create].
func NewPostgres(ctx context.Context, o PostgresOptions) (*Postgres, error) {
	inst, err := findInstalled(ctx, o.Home)
	if err != nil {
		return nil, err
	}
	p := &Postgres{placed: placed{name: o.Name, kind: "postgres", log: o.Log, inst: inst}, o: o}
	if err := p.assignHost(o.Host); err != nil {
		return nil, err
	}
	if err := p.assignREST(o.Host); err != nil {
		return nil, err
	}
	p.socket = &pgClient{password: o.Password, name: "plimsoll", dial: func(ctx context.Context) (net.Conn, error) {
		_, port := p.endpoint()
		return dialSocket(ctx, filepath.Join(p.DataDir(), socketDir), port)
	}}
	p.wire = &pgClient{password: o.Password, name: "plimsoll-probe", dial: func(ctx context.Context) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "tcp", p.Address())
	}}
	return p, nil
}

// Managed reports whether Patroni manages the member.
func (p *Postgres) Managed() bool { return p.o.Patroni != nil }

func (p *Postgres) DataDir() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.dir
}

func (p *Postgres) postgresDir() string { return filepath.Join(p.DataDir(), postgresDir) }

// PrepareTemplate makes the template for members if the installation has none yet. That takes a few seconds once.
func PrepareTemplate(ctx context.Context, home string) error {
	in, err := findInstalled(ctx, home)
	if err != nil {
		return err
	}
	_, err = in.template(ctx)
	return err
}

// Create sets the data directory of the member and copies the template into it, unless it already has data.
func (p *Postgres) Create(ctx context.Context, dir string) error {
	p.mu.Lock()
	p.dir = dir
	p.mu.Unlock()
	if err := prepareData(dir, p.inst.uid, p.inst.gid); err != nil {
		return fmt.Errorf("%s: %w", p.name, err)
	}
	if _, err := os.Stat(p.postgresDir()); err == nil {
		return nil
	}
	template, err := p.inst.template(ctx)
	if err != nil {
		return err
	}
	if err := copyTree(ctx, template, p.postgresDir(), int(p.inst.uid), int(p.inst.gid)); err != nil {
		return fmt.Errorf("%s: cannot copy the template of the database: %w", p.name, err)
	}
	return nil
}

// DeleteData deletes the database of a member that does not run. At its next start, Patroni copies that of the primary.
func (p *Postgres) DeleteData() error { return os.RemoveAll(p.postgresDir()) }

// assignREST reserves a port for Patroni's REST API.
func (p *Postgres) assignREST(h host.Host) error {
	if p.o.Patroni == nil {
		return nil
	}
	port, err := h.Port()
	if err != nil {
		return fmt.Errorf("%s: %w", p.name, err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rest = port
	return nil
}

// Move sets the host of the next start.
func (p *Postgres) Move(to host.Host) error {
	moves := to != p.Host()
	if err := p.release(); err != nil { // its Patroni stays behind otherwise
		return err
	}
	if err := p.placed.Move(to); err != nil || !moves {
		return err
	}
	return p.assignREST(to)
}

// Start starts PostgreSQL, or the Patroni that starts it, with settings for its current host.
func (p *Postgres) Start(ctx context.Context) error {
	p.starting.Lock()
	defer p.starting.Unlock()
	if p.DataDir() == "" {
		return fmt.Errorf("%s has no volume yet", p.name)
	}
	if p.Status().Running {
		return fmt.Errorf("%s already runs", p.name)
	}
	if err := p.release(); err != nil {
		return fmt.Errorf("%s: %w", p.name, err)
	}
	if err := p.noteSegment(); err != nil {
		return err
	}
	if err := prepareData(p.DataDir(), p.inst.uid, p.inst.gid); err != nil { // the volume may have been replaced
		return fmt.Errorf("%s: %w", p.name, err)
	}
	if err := p.writeFiles(); err != nil {
		return fmt.Errorf("%s: %w", p.name, err)
	}
	// A killed server leaves the file. Only this node uses the directory, and its process has ended.
	removeSharedMemory(p.DataDir())
	if err := os.Remove(filepath.Join(p.postgresDir(), "postmaster.pid")); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	p.closeSessions()
	if p.o.Patroni != nil {
		return p.launch(ctx, p.patroniProgram())
	}
	return p.launch(ctx, p.inst.program(p.DataDir(), p.name, pgBin+"/postgres", "-D", dataMount+"/"+postgresDir,
		"--config-file="+dataMount+"/"+settingsFile))
}

func (p *Postgres) closeSessions() {
	p.socket.close()
	p.wire.close()
}

// Wait waits until it answers at its address, as primary or as standby.
func (p *Postgres) Wait(ctx context.Context) error {
	return p.untilAnswers(ctx, func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
		defer cancel()
		_, err := p.wire.query(ctx, "select 1")
		return err
	})
}

// Status is that of PostgreSQL with its Patroni. A member whose PostgreSQL was killed does not run.
func (p *Postgres) Status() Status {
	s := p.placed.Status()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.held && s.Running {
		s.Running = false
		s.Processes[0].Running, s.Processes[0].Exit = false, "signal: killed"
	}
	return s
}

// Pids returns the processes of PostgreSQL, without its Patroni.
func (p *Postgres) Pids() []int {
	if pid := p.postmaster(); pid != 0 {
		return process.Family(pid)
	}
	return nil
}

// Stop ends it with a "fast" shutdown: PostgreSQL ends sessions and writes a checkpoint, and a primary waits until its
// standbys have received all WAL. Patroni gives the role of a primary away.
func (p *Postgres) Stop(ctx context.Context) error {
	sig := syscall.SIGINT
	if p.o.Patroni != nil {
		sig = syscall.SIGTERM
	}
	err := p.end(ctx, sig)
	return errors.Join(err, p.afterEnd())
}

// Kill kills PostgreSQL and its Patroni.
func (p *Postgres) Kill() error {
	err := p.placed.Kill()
	p.mu.Lock()
	p.held = false
	p.mu.Unlock()
	return errors.Join(err, p.afterEnd())
}

// afterEnd removes the shared memory of the ended server.
func (p *Postgres) afterEnd() error {
	p.closeSessions()
	removeSharedMemory(p.DataDir())
	p.mu.Lock()
	id := p.segment
	p.segment = 0
	p.mu.Unlock()
	if id == 0 || p.o.Journal == nil {
		return nil
	}
	return p.o.Journal.Gone(id)
}

// segmentKind is the kind of PostgreSQL's shared memory in a lab's journal.
const segmentKind = "postgres-memory"

// noteSegment adds PostgreSQL's segment of System V shared memory to the journal: it stays if PostgreSQL is killed.
func (p *Postgres) noteSegment() error {
	if p.o.Journal == nil {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.segment != 0 {
		return nil
	}
	id, err := p.o.Journal.Add(segmentKind, p.name, map[string]string{"data": p.dir})
	p.segment = id
	return err
}

// Removers remove the shared memory of nodes.
func Removers() map[string]labjournal.Remover {
	return map[string]labjournal.Remover{segmentKind: func(_ context.Context, r labjournal.Resource) error {
		removeSharedMemory(r.Details["data"])
		return nil
	}}
}

func (p *Postgres) Settings(ctx context.Context) (map[string]string, error) {
	rows, err := p.socket.query(ctx, settingsQuery)
	if err != nil {
		return nil, fmt.Errorf("%s: cannot read PostgreSQL's settings: %w", p.name, err)
	}
	set := map[string]string{}
	for _, r := range rows {
		set[r[0]] = r[1]
	}
	return set, nil
}
