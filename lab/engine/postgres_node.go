package engine

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"time"

	"github.com/plimsoll-bench/plimsoll/lab/host"
	labjournal "github.com/plimsoll-bench/plimsoll/lab/journal"
)

// PostgresOptions describe one member of a set of PostgreSQL servers.
type PostgresOptions struct {
	Home string // where engines are installed
	Name string // unique in the set; standbys are known to the primary by it
	Host host.Host
	Log  string // its log file
	// Journal takes what a killed server leaves in the kernel.
	Journal *labjournal.Journal
	// Password is that of the superuser, the same for all members.
	Password string
	// Allow are the IP addresses that may connect.
	Allow []string
	// Members are the names of all members, this one included; Quorum is how many standbys acknowledge a commit
	// that waits for standbys at all.
	Members []string
	Quorum  int
	// Sessions is how many there may be.
	Sessions int
	// Cache is PostgreSQL's shared_buffers in bytes; 0 for a quarter of the host's memory if that is limited, and
	// PostgreSQL's own choice otherwise.
	Cache int64
	// Receive is after what silence a standby gives its connection to the primary up.
	Receive time.Duration
	// Parameters are further settings.
	Parameters map[string]string
}

// Postgres is a PostgreSQL with the DocumentDB extension: the primary of a set or a standby, as its directory says.
// Settings and rules of access are kept beside PostgreSQL's own directory, because pg_rewind replaces what is in it.
type Postgres struct {
	placed
	o PostgresOptions

	dir      string // with postgres/, socket/, postgresql.conf, pg_hba.conf, lost/
	readOnly bool
	upstream string // conninfo of the primary it follows, empty for none
	sync     string // synchronous_standby_names
	segment  int    // of the journal, 0 before the first start

	socket *pgClient // through its Unix socket: works whatever became of the network
	wire   *pgClient // through the network, as its clients see it
}

var _ Node = (*Postgres)(nil)

// NewPostgres describes a member. Nothing is made before [Postgres.Create].
func NewPostgres(ctx context.Context, o PostgresOptions) (*Postgres, error) {
	inst, err := findInstalled(ctx, o.Home)
	if err != nil {
		return nil, err
	}
	p := &Postgres{placed: placed{name: o.Name, kind: "postgres", log: o.Log, inst: inst}, o: o}
	if err := p.settle(o.Host); err != nil {
		return nil, err
	}
	p.SetSync(o.Quorum, o.Members)
	p.socket = &pgClient{password: o.Password, name: "plimsoll", dial: func(ctx context.Context) (net.Conn, error) {
		_, port := p.endpoint()
		return dialSocket(ctx, filepath.Join(p.DataDir(), socketDir), port)
	}}
	p.wire = &pgClient{password: o.Password, name: "plimsoll-probe", dial: func(ctx context.Context) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "tcp", p.Address())
	}}
	return p, nil
}

// DataDir is the member's volume.
func (p *Postgres) DataDir() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.dir
}

func (p *Postgres) postgresDir() string { return filepath.Join(p.DataDir(), postgresDir) }

// PrepareTemplate makes the template that members are copied from, if the installation has none yet. It takes a few
// seconds once.
func PrepareTemplate(ctx context.Context, home string) error {
	in, err := findInstalled(ctx, home)
	if err != nil {
		return err
	}
	_, err = in.template(ctx)
	return err
}

// Create gives the member the directory of its volume and copies the template into it. Data that are there already
// are kept.
func (p *Postgres) Create(ctx context.Context, dir string) error {
	p.mu.Lock()
	p.dir = dir
	p.mu.Unlock()
	if _, err := prepareData(dir, p.inst.uid, p.inst.gid); err != nil {
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
		return fmt.Errorf("%s: cannot copy the template of a cluster: %w", p.name, err)
	}
	return nil
}

// Start starts PostgreSQL with settings that fit the host it stands on now.
func (p *Postgres) Start(ctx context.Context) error {
	if p.DataDir() == "" {
		return fmt.Errorf("%s has no volume yet", p.name)
	}
	if p.Status().Running {
		return fmt.Errorf("%s runs already", p.name)
	}
	if _, err := os.Stat(p.rewinding()); err == nil {
		return fmt.Errorf("%s: its data were being rewound when that was interrupted; it has to join a primary before it can start", p.name)
	}
	if err := p.noteSegment(); err != nil {
		return err
	}
	if err := p.writeFiles(); err != nil {
		return fmt.Errorf("%s: %w", p.name, err)
	}
	if err := p.dropUnbegun(ctx); err != nil {
		return fmt.Errorf("%s: %w", p.name, err)
	}
	// A killed server leaves the file. Its directory belongs to this node alone, and its process has ended.
	removeSharedMemory(p.DataDir())
	if err := os.Remove(filepath.Join(p.postgresDir(), "postmaster.pid")); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	p.forget()
	return p.launch(ctx, p.inst.program(p.DataDir(), p.name, pgBin+"/postgres", "-D", dataMount+"/"+postgresDir,
		"--config-file="+dataMount+"/"+settingsFile))
}

// forget drops sessions with a process that has ended.
func (p *Postgres) forget() {
	p.socket.close()
	p.wire.close()
}

// Wait waits until it answers on its address, as primary or as standby.
func (p *Postgres) Wait(ctx context.Context) error {
	for {
		try, cancel := context.WithTimeout(ctx, 5*time.Second)
		_, last := p.wire.query(try, "select 1")
		cancel()
		if last == nil {
			return nil
		}
		if err := pause(ctx, p.Ended(), last); err != nil {
			return p.answerError(err)
		}
	}
}

// WaitSocket waits until it answers on its Unix socket, where nobody needs a password.
func (p *Postgres) WaitSocket(ctx context.Context) error {
	for {
		try, cancel := context.WithTimeout(ctx, 5*time.Second)
		_, last := p.socket.query(try, "select 1")
		cancel()
		if last == nil {
			return nil
		}
		if err := pause(ctx, p.Ended(), last); err != nil {
			return p.answerError(err)
		}
	}
}

// Stop ends it with a "fast" shutdown: sessions are ended, a checkpoint is written, and a primary waits until its
// standbys have received everything.
func (p *Postgres) Stop(ctx context.Context) error {
	err := p.end(ctx, syscall.SIGINT)
	return errors.Join(err, p.afterEnd())
}

// Kill ends it at once with all its children.
func (p *Postgres) Kill() error {
	return errors.Join(p.placed.Kill(), p.afterEnd())
}

// afterEnd removes what the ended server left in the kernel.
func (p *Postgres) afterEnd() error {
	p.forget()
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

// noteSegment writes down that PostgreSQL will make a segment of System V shared memory, which stays when it is killed.
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

// Removers remove what nodes leave behind beside their directories and processes.
func Removers() map[string]labjournal.Remover {
	return map[string]labjournal.Remover{segmentKind: func(_ context.Context, r labjournal.Resource) error {
		removeSharedMemory(r.Details["data"])
		return nil
	}}
}

// Settings reads what PostgreSQL runs with.
func (p *Postgres) Settings(ctx context.Context) (map[string]string, error) {
	rows, err := p.socket.query(ctx, settingsQuery)
	if err != nil {
		return nil, fmt.Errorf("%s: cannot read PostgreSQL's settings: %w", p.name, err)
	}
	return pairs(rows), nil
}

func pairs(rows [][]string) map[string]string {
	set := map[string]string{}
	for _, r := range rows {
		if len(r) == 2 {
			set[r[0]] = r[1]
		}
	}
	return set
}

// SetSync says which standbys a commit waits for that waits for standbys at all: any k of all others. Names are those
// of all members. It takes effect at the next start or [Postgres.Reload].
func (p *Postgres) SetSync(k int, names []string) {
	others := slices.DeleteFunc(slices.Clone(names), func(n string) bool { return n == p.name })
	p.mu.Lock()
	defer p.mu.Unlock()
	p.sync = ""
	if k > 0 && len(others) > 0 {
		p.sync = "ANY " + strconv.Itoa(k) + " ("
		for i, n := range others {
			if i > 0 {
				p.sync += ", "
			}
			p.sync += `"` + n + `"`
		}
		p.sync += ")"
	}
}
