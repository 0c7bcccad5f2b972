package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/plimsoll-bench/plimsoll/internal/safeopen"
	"github.com/plimsoll-bench/plimsoll/lab"
	"github.com/plimsoll-bench/plimsoll/lab/engine"
	"github.com/plimsoll-bench/plimsoll/lab/topology"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
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
		newEngineRemoveCommand(env), newEngineCleanCommand(env))
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
	w, missing := tabwriter.NewWriter(env.stdout, 0, 0, 2, ' ', 0), ""
	fmt.Fprintln(w, "engine\tversion\tpath")
	for _, e := range engine.All(home) {
		inst, err := e.Installed(ctx)
		switch {
		case errors.Is(err, engine.ErrNotInstalled):
			fmt.Fprintf(w, "%s\tnot installed\t-\n", e.Name())
			missing = e.Name()
		case err != nil:
			return err
		default:
			fmt.Fprintf(w, "%s\t%s\t%s\n", e.Name(), inst.Version, inst.Path)
		}
	}
	if err := w.Flush(); err != nil || missing == "" {
		return err
	}
	nextStep(env.stdout, "plimsoll engine install "+missing, "")
	return nil
}

func newEngineInstallCommand(env *environment) *cobra.Command {
	var opts engine.InstallOptions
	cmd := &cobra.Command{
		Use:   "install ENGINE",
		Short: "Install an engine",
		Long: `Install an engine into the directory PLIMSOLL_HOME. A complete installation is not changed.

mongod: any user; about 100 MB. The newest patch release of a series (default 8.0) from MongoDB's download site,
a mirror or a file. Plimsoll verifies MongoDB's signature of the archive (NAME.tgz.sig), or the checksum given with
--sha256, before it unpacks the archive. Without --sha256 it downloads with https only.
To use a mongod that you have instead, put it on PATH, or name it with --binary FILE of 'plimsoll lab up'.

documentdb: needs root, debootstrap, a Debian mirror, CA certificates and the Go tool. Missing programs are
reported before the installation starts. It takes five to ten minutes and 1 GB (2 GiB temporarily).`,
		Example: `  plimsoll engine install mongod
  plimsoll engine install documentdb
  plimsoll engine install mongod --version 7.0
  plimsoll engine install mongod --version 8.0.21 --mirror /srv/mirror/mongodb
  plimsoll engine install mongod --archive percona-server-mongodb.tar.gz --sha256 HEX`,
		Args:      oneWord("engine", engine.Mongod, engine.DocumentDB),
		ValidArgs: []string{engine.Mongod, engine.DocumentDB},
		RunE: func(cmd *cobra.Command, args []string) error {
			e, err := findEngine(env, args[0])
			if err != nil {
				return err
			}
			ctx, stop := interruptible(cmd.Context(), env)
			defer stop()
			progress := newProgressLines(env)
			err = e.Install(progress.listening(ctx), opts, progress.Note)
			progress.end()
			if errors.Is(err, context.Canceled) {
				return withExit(exitInterrupted, fmt.Errorf("the installation of %s was interrupted; run the same command to start it again", args[0]))
			}
			if err != nil {
				return err
			}
			nextStep(env.stdout, "plimsoll lab up --engine "+args[0]+" --members 3 --name three", "start a replica set on this machine")
			return nil
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
	var o engineRun
	cmd := &cobra.Command{
		Use:   "run ENGINE",
		Short: "Run one server in the foreground until Ctrl-C",
		Long: `Run one server on 127.0.0.1 in the foreground. When the server answers a write and a read, its address is
printed on standard output. Ctrl-C or SIGTERM stops it. If plimsoll is killed, the server is killed too.

The server is a lab of one member, named engine-ID: 'plimsoll lab list' shows it.

mongod runs as a replica set of one member, with write concern majority, transactions, change streams and an
oplog. With --standalone it runs without them.

Without --auth, all users of this machine can connect. With --auth, the printed address has the password.
With --tls, it has the name of the file with the certificate authority (tlsCAFile). Keep the address secret.`,
		Example: `  plimsoll engine run mongod
  plimsoll engine run mongod --data ./data --cache-gb 1 --set ttlMonitorEnabled=false
  plimsoll engine run mongod --auth --tls
  plimsoll engine run documentdb --port 27017 --synchronous-commit off`,
		Args:      oneWord("engine", engine.Mongod, engine.DocumentDB),
		ValidArgs: []string{engine.Mongod, engine.DocumentDB},
		RunE: func(cmd *cobra.Command, args []string) error {
			if _, err := findEngine(env, args[0]); err != nil {
				return err
			}
			if err := o.complete(cmd.Context(), args[0]); err != nil {
				return err
			}
			return o.run(cmd.Context(), env)
		},
	}
	f := cmd.Flags()
	f.IntVar(&o.own.Clients.Port, "port", 0, "port on 127.0.0.1 (default: a free one)")
	f.StringVar(&o.own.Data, "data", "", "data `directory`, not removed at the end (default: a temporary one)")
	f.StringArrayVar(&o.parameters, "set", nil, "setting of PostgreSQL or parameter of mongod, `NAME=VALUE` (repeatable)")
	f.StringVar(&o.commit, "synchronous-commit", "", "documentdb: `value` of synchronous_commit at the printed address: on or off (default on)")
	f.IntVar(&o.connections, "connections", 0, "documentdb: highest number of PostgreSQL sessions of the gateway (default 64)")
	f.BoolVar(&o.lab.Engine.Authentication, "auth", false, "require clients to log in (SCRAM-SHA-256); the printed address has the password")
	f.StringVar(&o.own.Clients.User, "user", "", "`user` for --auth (default client)")
	f.StringVar(&o.passwordFile, "password-file", "", "`file` with the password for --auth (default: a new password for each start)")
	f.BoolVar(&o.lab.Engine.TLS, "tls", false, "accept TLS connections only, with a new certificate for each start")
	f.BoolVar(&o.standalone, "standalone", false, "mongod: run a standalone server instead of a replica set of one member")
	f.Float64Var(&o.cacheGB, "cache-gb", 0, "size of the cache of the server in GiB (default: chosen by the server)")
	f.StringVar(&o.lab.Engine.Binary, "binary", "", "mongod: `path` of the program (default: the newest installed one, then PATH)")
	return cmd
}

// engineRun is a server in the foreground: a lab of one member.
type engineRun struct {
	lab          spec.Lab
	own          lab.Own
	parameters   []string
	commit       string
	passwordFile string
	standalone   bool
	connections  int
	cacheGB      float64
}

const (
	defaultUser = "client" // for --auth
	// smallOplog is the oplog of temporary data in MB, mongod's least default. The usual default is 5 % of the free disk.
	smallOplog = "990"
)

// complete validates the flags and makes the lab of them.
func (o *engineRun) complete(ctx context.Context, name string) (err error) {
	l := &o.lab
	l.Name, l.Engine.Name, l.Hosts.Mode = lab.Foreground+strings.ToLower(rand.Text()[:8]), name, spec.LabPlain
	l.Topology.Kind, l.Topology.Members = spec.LabReplicaSet, 1
	l.Engine.Cache, l.Engine.Connections = spec.Size(o.cacheGB*(1<<30)), spec.Count(o.connections)
	if l.Engine.Parameters, err = settingsFromFlags(o.parameters); err != nil {
		return err
	}
	switch {
	case name == engine.Mongod && (o.commit != "" || o.connections != 0):
		return usageError("--synchronous-commit and --connections are options of documentdb; with mongod use the write concern of the clients")
	case name == engine.DocumentDB && (o.standalone || l.Engine.Binary != ""):
		return usageError("--standalone and --binary are options of mongod")
	case o.commit == "off":
		o.own.Clients.Durability = "balanced"
	case o.commit != "" && o.commit != "on":
		return usageError("--synchronous-commit: %q is neither on nor off", o.commit)
	}
	if o.standalone || name == engine.DocumentDB {
		l.Topology.Kind = spec.LabStandalone
	} else if o.own.Data == "" {
		l.Engine.Args = []string{"--oplogSize", smallOplog}
	}
	for _, path := range []*string{&l.Engine.Binary, &o.own.Data} { // servers work in another directory
		if *path != "" {
			if *path, err = filepath.Abs(*path); err != nil {
				return err
			}
		}
	}
	if err := o.readPassword(); err != nil {
		return err
	}
	return withExit(exitUsage, l.Complete())
}

// readPassword reads the password from its file: command lines can be read by other users.
func (o *engineRun) readPassword() error {
	who := &o.own.Clients
	if !o.lab.Engine.Authentication {
		if who.User != "" || o.passwordFile != "" {
			return usageError("--user and --password-file need --auth")
		}
		return nil
	}
	who.User = cmp.Or(who.User, defaultUser)
	if o.passwordFile == "" {
		return nil
	}
	text, err := safeopen.ReadSecretInput(context.Background(), o.passwordFile)
	if err != nil {
		return usageError("cannot read the password: %w", err)
	}
	if who.Password = strings.TrimRight(text, "\r\n"); who.Password == "" {
		return usageError("the password file %s is empty", o.passwordFile)
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

// run runs the server until an interrupt or until it exits. An interrupt is not a failure.
func (o *engineRun) run(ctx context.Context, env *environment) error {
	home, err := homeDir(env)
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("cannot start the server: the path of plimsoll is unknown: %w", err)
	}
	ctx, stop := interruptible(ctx, env)
	defer stop()
	fmt.Fprintf(env.stderr, "starting %s; its address is printed when the server answers\n", o.lab.Engine.Name)
	err = lab.Run(ctx, o.lab, lab.Options{Home: home, Executable: self, Progress: func(e record.LabEvent) {
		if strings.HasPrefix(e.Text, "warning: ") {
			fmt.Fprintln(env.stderr, e.Text)
		}
	}}, o.own, func(c topology.Cluster) {
		n := c.Nodes()[0]
		fmt.Fprintf(env.stderr, "%s is running: %s%s, data in %s\n", o.lab.Engine.Name, n.Version(), o.form(), n.DataDir())
		fmt.Fprintln(direct(env.stdout), c.URIs()[o.own.Clients.Durability])
	})
	return labError(err)
}

func (o *engineRun) form() string {
	switch {
	case o.lab.Engine.Name != engine.Mongod:
		return ""
	case o.standalone:
		return ", standalone: no write concern majority, transactions or change streams"
	}
	return ", a replica set of one member (--standalone: without a replica set)"
}

func newEngineRemoveCommand(env *environment) *cobra.Command {
	var version string
	cmd := &cobra.Command{
		Use:   "remove ENGINE",
		Short: "Remove an installed engine",
		Long: `Remove an installed engine: its programs, not the data of labs. Without --version, all releases of mongod are
removed. An engine whose servers run is not removed. A mongod on PATH was not installed by plimsoll, and stays.`,
		Example: `  plimsoll engine remove mongod --version 7.0
  plimsoll engine remove documentdb`,
		Args:      oneWord("engine", engine.Mongod, engine.DocumentDB),
		ValidArgs: []string{engine.Mongod, engine.DocumentDB},
		RunE: func(_ *cobra.Command, args []string) error {
			home, err := homeDir(env)
			if err != nil {
				return err
			}
			removed, err := engine.Remove(home, args[0], version)
			for _, dir := range removed {
				fmt.Fprintln(env.stdout, dir+": removed")
			}
			if errors.Is(err, engine.ErrNotInstalled) {
				return withExit(exitUsage, err)
			}
			return err
		},
	}
	cmd.Flags().StringVar(&version, "version", "", "mongod: `version` to remove: a release (8.0.21) or a series (8.0)")
	return cmd
}

func newEngineCleanCommand(env *environment) *cobra.Command {
	return &cobra.Command{
		Use:   "clean",
		Short: "Remove what killed plimsoll processes left: servers, temporary data, incomplete installations",
		Args:  noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			home, err := homeDir(env)
			if err != nil {
				return err
			}
			removed, err := engine.Cleanup(home)
			for _, name := range removed {
				fmt.Fprintln(env.stdout, name+": removed")
			}
			return errors.Join(err, cleanServers(cmd.Context(), env, home))
		},
	}
}

// cleanServers removes the labs of servers whose plimsoll was killed.
func cleanServers(ctx context.Context, env *environment, home string) error {
	names, err := lab.Names(home)
	for _, name := range names {
		if !strings.HasPrefix(name, lab.Foreground) {
			continue
		}
		if h, openErr := lab.Open(ctx, home, name); !errors.Is(openErr, lab.ErrGone) {
			if openErr == nil {
				h.Close()
			}
			fmt.Fprintln(env.stdout, name+": in use, not removed")
			continue
		}
		if downErr := lab.Down(ctx, home, name, nil); downErr != nil {
			err = errors.Join(err, downErr)
			continue
		}
		fmt.Fprintln(env.stdout, name+": removed")
	}
	return err
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
