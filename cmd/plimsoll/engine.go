package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/plimsoll-bench/plimsoll/internal/safeopen"
	"github.com/plimsoll-bench/plimsoll/lab/engine"
	"github.com/plimsoll-bench/plimsoll/lab/process"
)

const (
	engineStartLimit = 2 * time.Minute  // until a server answers; seconds are usual
	engineStopLimit  = 30 * time.Second // until a server exits; it is killed after that
)

// homeDir is the directory of engines and labs.
func homeDir(env *environment) (string, error) {
	dir, err := engine.DefaultHome(env.getenv)
	return dir, withExit(exitUsage, err)
}

func newEngineCommand(env *environment) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "engine",
		Short: "Install and run database servers for labs",
		Long: `Install and run database servers for labs.

An engine is the server software. mongod is MongoDB or Percona Server. documentdb is an open server with
MongoDB's protocol: PostgreSQL with the DocumentDB extension, behind the FerretDB gateway. It has Patroni and etcd
for replica sets.

  plimsoll engine install mongod   download and install MongoDB
  plimsoll engine list             show the engines and their versions
  plimsoll engine run mongod       run one server in the foreground

Engines are in the directory PLIMSOLL_HOME (default ~/.local/share/plimsoll).`,
	}
	return group(cmd, newEngineListCommand(env), newEngineInstallCommand(env), newEngineRunCommand(env),
		newEngineCleanCommand(env))
}

func newEngineListCommand(env *environment) *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List the engines and their installed versions",
		Args:  noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			home, err := homeDir(env)
			if err != nil {
				return err
			}
			return listEngines(cmd.Context(), env, home)
		},
	}
}

func listEngines(ctx context.Context, env *environment, home string) error {
	w := tabwriter.NewWriter(env.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "engine\tversion\tpath")
	for _, e := range engine.All(home) {
		inst, err := e.Installed(ctx)
		switch {
		case errors.Is(err, engine.ErrNotInstalled):
			fmt.Fprintf(w, "%s\tnot installed\t-\n", e.Name())
		case err != nil:
			return err
		default:
			fmt.Fprintf(w, "%s\t%s\t%s\n", e.Name(), inst.Version, inst.Path)
		}
	}
	return w.Flush()
}

func newEngineInstallCommand(env *environment) *cobra.Command {
	var opts engine.InstallOptions
	cmd := &cobra.Command{
		Use:   "install ENGINE",
		Short: "Install an engine",
		Long: `Install an engine into the directory PLIMSOLL_HOME. A complete installation is not changed.

mongod: the newest patch release of a series (default 8.0) from MongoDB's download site, a mirror or a file.
Plimsoll verifies MongoDB's signature of the archive (NAME.tgz.sig), or the checksum given with --sha256,
before it unpacks the archive. Without --sha256 it downloads with https only.

documentdb: needs root, debootstrap, a Debian mirror, CA certificates and the Go tool. Missing programs are
reported before the installation starts. It takes five to ten minutes and 1 GB (2 GiB temporarily).`,
		Example: `  plimsoll engine install mongod
  plimsoll engine install documentdb
  plimsoll engine install mongod --version 7.0
  plimsoll engine install mongod --version 8.0.21 --mirror /srv/mirror/mongodb
  plimsoll engine install mongod --archive percona-server-mongodb.tar.gz --sha256 HEX`,
		Args:      exactlyOne("engine"),
		ValidArgs: []string{engine.Mongod, engine.DocumentDB},
		RunE: func(cmd *cobra.Command, args []string) error {
			e, err := findEngine(env, args[0])
			if err != nil {
				return err
			}
			ctx, stop := interruptible(cmd.Context(), env)
			defer stop()
			err = e.Install(ctx, opts, func(line string) { fmt.Fprintln(env.stderr, line) })
			if errors.Is(err, context.Canceled) {
				return withExit(exitInterrupted, fmt.Errorf("the installation of %s was interrupted; run the same command to start it again", args[0]))
			}
			return err
		},
	}
	f := cmd.Flags()
	f.StringVar(&opts.Version, "version", "", "mongod: `version`: a series (8.0: its newest patch release) or a release (8.0.21) (default 8.0)")
	f.StringVar(&opts.Feed, "feed", "", "mongod: `URL` or file of the release feed (default: MongoDB's full.json)")
	f.StringVar(&opts.Archive, "archive", "", "mongod: `URL` or file of the archive (.tgz)")
	f.StringVar(&opts.SHA256, "sha256", "", "mongod: `checksum` of the archive, instead of its signature")
	f.StringVar(&opts.Key, "key", "", "mongod: `file` with the OpenPGP key of the signature (default: MongoDB's key)")
	f.StringVar(&opts.Platform, "platform", "", "mongod: `platform` of the build, such as debian12 (default: this machine's)")
	f.StringVar(&opts.Mirror, "mirror", "", "mongod: `URL` or directory with the archives;\ndocumentdb: URL of a Debian mirror (default: this machine's)")
	f.StringVar(&opts.Suite, "suite", "", "documentdb: Debian `suite` (default: testing, then sid)")
	f.StringVar(&opts.Gateway, "gateway", "", "documentdb: FerretDB `executable` (default: built with the Go tool)")
	return cmd
}

func newEngineRunCommand(env *environment) *cobra.Command {
	var opts engine.StartOptions
	var access accessFlags
	var parameters []string
	cmd := &cobra.Command{
		Use:   "run ENGINE",
		Short: "Run one server in the foreground until Ctrl-C",
		Long: `Run one server on 127.0.0.1 in the foreground. When the server answers a write and a read, its address is
printed on standard output. Ctrl-C or SIGTERM stops it. If plimsoll is killed, the server is killed too.

mongod runs as a replica set of one member, with write concern majority, transactions, change streams and an
oplog. With --standalone it runs without them.

Without --auth, all users of this machine can connect. With --auth, the printed address has the password.
With --tls, it has the name of the file with the certificate authority (tlsCAFile). Keep the address secret.`,
		Example: `  plimsoll engine run mongod
  plimsoll engine run mongod --data ./data --cache-gb 1 --set ttlMonitorEnabled=false
  plimsoll engine run mongod --auth --tls
  plimsoll engine run documentdb --port 27017 --synchronous-commit off`,
		Args:      exactlyOne("engine"),
		ValidArgs: []string{engine.Mongod, engine.DocumentDB},
		RunE: func(cmd *cobra.Command, args []string) error {
			e, err := findEngine(env, args[0])
			if err != nil {
				return err
			}
			if opts.Parameters, err = settingsFromFlags(parameters); err != nil {
				return err
			}
			if err := access.read(&opts); err != nil {
				return err
			}
			return runEngine(cmd.Context(), env, e, opts)
		},
	}
	f := cmd.Flags()
	f.IntVar(&opts.Port, "port", 0, "port on 127.0.0.1 (default: a free one)")
	f.StringVar(&opts.DataDir, "data", "", "data `directory`, not removed at the end (default: a temporary one)")
	f.StringArrayVar(&parameters, "set", nil, "setting of PostgreSQL or parameter of mongod, `NAME=VALUE` (repeatable)")
	f.StringVar(&opts.SynchronousCommit, "synchronous-commit", "", "documentdb: `value` of synchronous_commit: on, off, local, remote_write or remote_apply (default on)")
	f.IntVar(&opts.Connections, "connections", 0, "documentdb: highest number of PostgreSQL sessions of the gateway (default 64)")
	f.BoolVar(&access.auth, "auth", false, "require clients to log in (SCRAM-SHA-256); the printed address has the password")
	f.StringVar(&access.user, "user", "", "`user` for --auth (default client)")
	f.StringVar(&access.passwordFile, "password-file", "", "`file` with the password for --auth (default: a new password for each start)")
	f.BoolVar(&opts.TLS, "tls", false, "accept TLS connections only, with a new certificate for each start")
	f.BoolVar(&opts.Standalone, "standalone", false, "mongod: run a standalone server instead of a replica set of one member")
	f.Float64Var(&opts.CacheGB, "cache-gb", 0, "mongod: size of the WiredTiger cache in GiB (default: chosen by mongod)")
	f.StringVar(&opts.Binary, "binary", "", "mongod: `path` of the program (default: the newest installed one, then PATH)")
	return cmd
}

type accessFlags struct {
	auth         bool
	user         string
	passwordFile string
}

// defaultUser is the user for --auth.
const defaultUser = "client"

// read validates the flags and reads the password from its file: command lines can be read by other users.
func (a accessFlags) read(opts *engine.StartOptions) error {
	if !a.auth {
		if a.user != "" || a.passwordFile != "" {
			return usageError("--user and --password-file need --auth")
		}
		return nil
	}
	if opts.User = a.user; opts.User == "" {
		opts.User = defaultUser
	}
	if a.passwordFile == "" {
		return nil
	}
	text, err := safeopen.ReadSecretInput(context.Background(), a.passwordFile)
	if err != nil {
		return usageError("cannot read the password: %w", err)
	}
	if opts.Password = strings.TrimRight(text, "\r\n"); opts.Password == "" {
		return usageError("the password file %s is empty", a.passwordFile)
	}
	return nil
}

func settingsFromFlags(pairs []string) (map[string]string, error) {
	set := map[string]string{}
	for _, p := range pairs {
		name, value, ok := strings.Cut(p, "=")
		if !ok || name == "" {
			return nil, usageError("--set %q is not NAME=VALUE", p)
		}
		set[name] = value
	}
	return set, nil
}

// runEngine runs a server until an interrupt or until it exits. An interrupt is not a failure.
func runEngine(ctx context.Context, env *environment, e engine.Engine, opts engine.StartOptions) error {
	ctx, stop := interruptible(ctx, env)
	defer stop()
	startCtx, cancel := context.WithTimeout(ctx, engineStartLimit)
	defer cancel()
	server, err := e.Start(startCtx, opts)
	if err != nil {
		return err
	}
	fmt.Fprintf(env.stderr, "starting %s; its address is printed when the server answers\n", e.Name())
	err = server.Wait(startCtx)
	if err == nil {
		fmt.Fprintf(env.stderr, "%s is running: %s%s, data in %s\n", e.Name(), server.Version(), engineForm(e, opts), server.DataDir())
		for _, p := range server.Status().Processes {
			if few := engine.FewFiles(p); few != "" && e.Name() == engine.Mongod {
				fmt.Fprintln(env.stderr, "warning: "+few)
			}
		}
		fmt.Fprintln(direct(env.stdout), server.URI())
		select {
		case <-ctx.Done():
			fmt.Fprintf(env.stderr, "stopping %s\n", e.Name())
		case <-server.Ended():
			err = serverExited(server)
		}
	}
	if ctx.Err() != nil {
		err = nil
	}
	stopCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), engineStopLimit)
	defer cancel()
	return errors.Join(err, server.Stop(stopCtx))
}

func engineForm(e engine.Engine, opts engine.StartOptions) string {
	switch {
	case e.Name() != engine.Mongod:
		return ""
	case opts.Standalone:
		return ", standalone: no write concern majority, transactions or change streams"
	}
	return ", a replica set of one member (--standalone: without a replica set)"
}

// serverExited reports which process of a server exited, with the end of its logs.
func serverExited(server engine.Server) error {
	var ends []string
	for _, p := range server.Status().Processes {
		if !p.Running {
			ends = append(ends, fmt.Sprintf("%s (process %d): %s", p.Role, p.PID, p.Exit))
		}
	}
	msg := "the server exited: " + strings.Join(ends, ", ")
	for _, log := range server.Logs() {
		msg += process.LogTail(log)
	}
	return errors.New(msg)
}

func newEngineCleanCommand(env *environment) *cobra.Command {
	return &cobra.Command{
		Use:   "clean",
		Short: "Remove what killed plimsoll processes left: servers, temporary data, incomplete installations",
		Args:  noArguments,
		RunE: func(*cobra.Command, []string) error {
			home, err := homeDir(env)
			if err != nil {
				return err
			}
			removed, err := engine.Cleanup(home)
			for _, r := range removed {
				fmt.Fprintln(env.stdout, cleanLine(r))
			}
			return err
		},
	}
}

func cleanLine(r engine.Removed) string {
	switch {
	case r.InUse:
		return r.ID + ": in use, not removed"
	case r.DataDir != "" && !r.Temporary:
		return fmt.Sprintf("%s: removed, %d processes killed; its data is still in %s", r.ID, len(r.Killed), r.DataDir)
	}
	return fmt.Sprintf("%s: removed, %d processes killed", r.ID, len(r.Killed))
}

func findEngine(env *environment, name string) (engine.Engine, error) {
	home, err := homeDir(env)
	if err != nil {
		return nil, err
	}
	e, err := engine.ByName(home, name)
	return e, withExit(exitUsage, err)
}

// interruptible returns a context that the first interrupt cancels, and calls after. Who is told of the end can rely on
// the end. Later interrupts go to the next handler; stopping takes bounded time.
func interruptible(ctx context.Context, env *environment, after ...func()) (context.Context, func()) {
	ctx, cancel := context.WithCancel(ctx)
	signals, stop := env.signals()
	var watcher sync.WaitGroup
	watcher.Go(func() {
		select {
		case <-signals:
			cancel()
			for _, f := range after {
				f()
			}
		case <-ctx.Done():
		}
	})
	return ctx, func() { stop(); cancel(); watcher.Wait() }
}
