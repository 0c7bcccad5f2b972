package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/plimsoll-bench/plimsoll/lab/process"
)

// synchronousCommits are the durability levels of PostgreSQL, the default first.
var synchronousCommits = []string{"on", "off", "local", "remote_write", "remote_apply"}

// defaultConnections limits the PostgreSQL sessions of a gateway: enough for a few dozen workers without a queue, and
// few enough for PostgreSQL's process per session.
const defaultConnections = 64

// Start starts PostgreSQL and the gateway. In a new data directory it makes PostgreSQL's cluster and the extension
// first.
func (e *documentDB) Start(ctx context.Context, opts StartOptions) (Server, error) {
	if err := needRoot("running the engine documentdb"); err != nil {
		return nil, err
	}
	inst, err := e.Installed(ctx)
	if err != nil {
		return nil, err
	}
	if err := checkDocumentDBOptions(&opts); err != nil {
		return nil, err
	}
	if opts.Port != 0 { // otherwise boot chooses it
		if opts.Port, err = choosePort(opts.Port); err != nil {
			return nil, err
		}
	}
	b, unlock, err := openServer(e.home, DocumentDB, opts.DataDir)
	if err != nil {
		return nil, err
	}
	s := &documentDBServer{base: base{book: b, unlock: unlock, version: inst.Version},
		root: filepath.Join(inst.Path, "root"), opts: opts}
	if err := s.boot(ctx); err != nil {
		err = fmt.Errorf("documentdb did not start: %w%s", err, process.LogTail(s.postgresLog()))
		return nil, errors.Join(err, s.base.abandon())
	}
	return s, nil
}

// checkDocumentDBOptions checks the options and fills in defaults.
func checkDocumentDBOptions(o *StartOptions) error {
	if o.SynchronousCommit == "" {
		o.SynchronousCommit = synchronousCommits[0]
	}
	if !slices.Contains(synchronousCommits, o.SynchronousCommit) {
		return fmt.Errorf("unknown synchronous commit %q: use one of %s", o.SynchronousCommit, strings.Join(synchronousCommits, ", "))
	}
	if o.Connections == 0 {
		o.Connections = defaultConnections
	}
	if o.Connections < 1 || o.Connections > 10_000 {
		return fmt.Errorf("connections: %d is not between 1 and 10000", o.Connections)
	}
	if o.CacheGB != 0 || o.Binary != "" || len(o.Args) != 0 {
		return errors.New("cache size, executable and further arguments are options of mongod, not of documentdb; " +
			"set its cache with the parameter shared_buffers")
	}
	for name := range o.Parameters {
		if err := checkSettingName(name); err != nil {
			return err
		}
	}
	return checkAccess(o)
}

// documentDBServer is a PostgreSQL and one gateway.
type documentDBServer struct {
	base
	root     string
	opts     StartOptions
	data     dataFile
	uid, gid uint32
	pgPort   int
}

func (s *documentDBServer) postgresLog() string { return filepath.Join(s.book.dir, "postgres.log") }
func (s *documentDBServer) gatewayLog() string  { return filepath.Join(s.book.dir, "gateway.log") }

func (s *documentDBServer) Logs() []string { return []string{s.postgresLog(), s.gatewayLog()} }

func (s *documentDBServer) Wait(ctx context.Context) error {
	return s.waitUsable(ctx, s.gatewayLog())
}

// boot starts PostgreSQL, then the gateway.
func (s *documentDBServer) boot(ctx context.Context) (err error) {
	if s.uid, s.gid, err = rootUser(s.root, "postgres"); err != nil {
		return err
	}
	if s.data, err = prepareData(s.DataDir(), s.uid, s.gid); err != nil {
		return err
	}
	if err := s.initCluster(ctx); err != nil {
		return err
	}
	// A port is chosen just before its server starts: others may take it meanwhile.
	if s.pgPort, err = FreePort(); err != nil {
		return err
	}
	if err := s.startPostgres(ctx); err != nil {
		return err
	}
	if _, err := s.psql(ctx, "create extension if not exists documentdb cascade"); err != nil {
		return err
	}
	if err := s.createUser(ctx); err != nil {
		return err
	}
	if err := s.makeCertificate(); err != nil {
		return err
	}
	if s.opts.Port == 0 {
		if s.opts.Port, err = FreePort(); err != nil {
			return err
		}
	}
	if err := s.startGateway(ctx); err != nil {
		return err
	}
	return s.ready(s.clientURI(), "mongodb://"+s.hostPort()+"/")
}

// inRoot describes a program that runs in the root directory as its user postgres.
func (s *documentDBServer) inRoot(role, path string, args ...string) process.Spec {
	in := installed{root: s.root, uid: s.uid, gid: s.gid}
	return in.program(s.DataDir(), role, path, args...)
}

// initCluster makes PostgreSQL's data directory if there is none. It renames the directory at the end, so an incomplete
// one is never used.
func (s *documentDBServer) initCluster(ctx context.Context) error {
	final := filepath.Join(s.DataDir(), postgresDir)
	pw := filepath.Join(s.DataDir(), ".password")
	if _, err := os.Stat(final); err == nil {
		if err := os.Remove(pw); err != nil && !errors.Is(err, os.ErrNotExist) { // it is there after a kill
			return err
		}
		return nil
	}
	fresh := final + ".new"
	if err := os.RemoveAll(fresh); err != nil {
		return err
	}
	if err := os.WriteFile(pw, []byte(s.data.Password+"\n"), 0o600); err != nil {
		return err
	}
	defer os.Remove(pw)
	if err := os.Chown(pw, int(s.uid), int(s.gid)); err != nil {
		return err
	}
	// Connections over TCP need a password. The extension's background workers connect without one through the Unix
	// socket, whose directory only PostgreSQL's user can enter.
	_, err := process.Run(ctx, s.inRoot("initdb", pgBin+"/initdb", "-D", dataMount+"/"+postgresDir+".new",
		"-U", postgresUser, "--pwfile", dataMount+"/.password", "--auth-host=scram-sha-256", "--auth-local=trust",
		"-E", "UTF8", "--locale=C.UTF-8"), io.Discard)
	if err != nil {
		return err
	}
	if err := os.Rename(fresh, final); err != nil {
		return err
	}
	return syncDir(s.DataDir())
}

// postgresSettings returns the settings of a server as arguments of postgres. The settings of durability (fsync,
// full_page_writes, wal_sync_method) keep PostgreSQL's defaults.
func (s *documentDBServer) postgresSettings() []string {
	set := preloaded()
	set["listen_addresses"] = "127.0.0.1"
	set["port"] = strconv.Itoa(s.pgPort)
	// The gateway's sessions, and room for the extension's workers and a person with psql.
	set["max_connections"] = strconv.Itoa(s.opts.Connections + 36)
	maps.Copy(set, s.opts.Parameters)
	var args []string
	for name, value := range set {
		args = append(args, "-c", name+"="+value)
	}
	return args
}

// startPostgres starts PostgreSQL and waits until it accepts connections.
func (s *documentDBServer) startPostgres(ctx context.Context) error {
	sp := s.inRoot("postgres", pgBin+"/postgres", append([]string{"-D", dataMount + "/" + postgresDir},
		s.postgresSettings()...)...)
	pidFile := filepath.Join(s.DataDir(), postgresDir, "postmaster.pid")
	// A killed server leaves the file with "ready" in it. The lock on the directory and PostgreSQL's shared memory detect
	// another server that still runs on these data.
	removeSharedMemory(s.DataDir())
	if err := os.Remove(pidFile); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	p, err := s.launch(ctx, sp, s.postgresLog())
	if err != nil {
		return err
	}
	return retry(ctx, p.Done, func(context.Context) error {
		if !postmasterReady(pidFile) {
			return errors.New("PostgreSQL does not accept connections yet")
		}
		return nil
	})
}

// postmasterReady reads PostgreSQL's status, the eighth line of postmaster.pid.
func postmasterReady(pidFile string) bool {
	lines := postmasterLines(pidFile)
	return len(lines) >= 8 && (strings.TrimSpace(lines[7]) == "ready" || strings.TrimSpace(lines[7]) == "standby")
}

func postmasterLines(pidFile string) []string {
	data, err := os.ReadFile(pidFile)
	if err != nil {
		return nil
	}
	return strings.Split(string(data), "\n")
}

// psql runs one statement as the superuser and returns its rows with fields separated by '|'.
func (s *documentDBServer) psql(ctx context.Context, statement string) (string, error) {
	out, err := process.Run(ctx, s.psqlProgram("-c", "set client_min_messages to warning", "-c", statement), io.Discard)
	return string(out), err
}

// psqlProgram describes psql as the superuser.
func (s *documentDBServer) psqlProgram(args ...string) process.Spec {
	return s.inRoot("psql", pgBin+"/psql", append([]string{"-X", "-A", "-t", "-q", "-v", "ON_ERROR_STOP=1",
		"-h", dataMount + "/" + socketDir, "-p", strconv.Itoa(s.pgPort), "-U", postgresUser, "-d", "postgres"}, args...)...)
}

func (s *documentDBServer) startGateway(ctx context.Context) error {
	postgres := gatewayURL("127.0.0.1:"+strconv.Itoa(s.pgPort), s.data.Password, s.opts.SynchronousCommit,
		s.opts.Connections, 10)
	sp := s.inRoot("gateway", gatewayFile, append(s.accessArgs(), "--telemetry=disable",
		"--state-dir="+dataMount+"/"+gatewayDir, "--debug-addr=-", "--log-level=WARN")...)
	if s.opts.TLS {
		sp.Sandbox.Bind = append(sp.Sandbox.Bind, process.Bind{From: s.tlsDir(), At: tlsMount})
	}
	sp.Env = append(sp.Env, gatewayEnv(postgres)...)
	_, err := s.launch(ctx, sp, s.gatewayLog())
	return err
}

// Stop ends the gateway, then PostgreSQL with a "fast" shutdown, which ends sessions and writes a checkpoint.
func (s *documentDBServer) Stop(ctx context.Context) error {
	var err error
	for _, role := range []string{"gateway", "postgres"} {
		p := s.process(role)
		if p == nil || !p.Running() {
			continue
		}
		sig := syscall.SIGINT
		limit := ctx
		if role == "gateway" { // it waits for its clients, and has no data to lose
			sig = syscall.SIGTERM
			var cancel context.CancelFunc
			limit, cancel = context.WithTimeout(ctx, 3*time.Second)
			defer cancel()
		}
		endErr := p.End(limit, sig)
		if role != "gateway" || ctx.Err() != nil {
			err = errors.Join(err, endErr)
		}
	}
	return errors.Join(err, s.finish())
}

func (s *documentDBServer) Settings(ctx context.Context) (map[string]string, error) {
	out, err := s.psql(ctx, settingsQuery)
	if err != nil {
		return nil, fmt.Errorf("cannot read PostgreSQL's settings: %w", err)
	}
	set := map[string]string{}
	for line := range strings.Lines(out) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), "|"); ok {
			set[name] = value
		}
	}
	set["synchronous_commit"] = s.opts.SynchronousCommit // of the gateway's sessions
	set["pool_max_conns"] = strconv.Itoa(s.opts.Connections)
	return set, nil
}
