package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/plimsoll-bench/plimsoll/lab/process"
	"github.com/plimsoll-bench/plimsoll/server"
)

// mongod is MongoDB's own server, or one that takes the same arguments, such as Percona's. It runs as
// the user who started Plimsoll.
type mongod struct {
	home layout
	from fetcher
}

var _ Engine = (*mongod)(nil)

func (e *mongod) Name() string { return Mongod }

// Installed finds the newest release in the home directory, then a mongod on PATH.
func (e *mongod) Installed(ctx context.Context) (Installation, error) {
	newest := e.newestOf("")
	if newest.Path != "" {
		return newest, nil
	}
	path, err := exec.LookPath("mongod")
	if err != nil {
		return Installation{}, fmt.Errorf("engine mongod is %w in %s nor on PATH: install it with 'plimsoll engine install mongod', or name an executable (engine.binary in a specification, --binary of plimsoll lab up)",
			ErrNotInstalled, e.home.engine(Mongod))
	}
	version, err := mongodVersion(ctx, path)
	return Installation{Engine: Mongod, Version: version, Path: path, Source: "PATH"}, err
}

// executable is the program of an installation.
func (i Installation) executable() string {
	if i.Source == "PATH" {
		return i.Path
	}
	return filepath.Join(i.Path, "bin", "mongod")
}

// newerVersion says whether release a is newer than b, comparing number by number.
func newerVersion(a, b string) bool {
	as, bs := strings.Split(a, "."), strings.Split(b, ".")
	return slices.CompareFunc(as, bs, func(x, y string) int {
		nx, errX := strconv.Atoi(x)
		ny, errY := strconv.Atoi(y)
		if errX == nil && errY == nil {
			return nx - ny
		}
		return strings.Compare(x, y)
	}) > 0
}

// MongodAt is the mongod that a path names.
func MongodAt(ctx context.Context, path string) (Installation, error) {
	if _, err := os.Stat(path); err != nil {
		return Installation{}, fmt.Errorf("engine.binary: %w", err)
	}
	version, err := mongodVersion(ctx, path)
	return Installation{Engine: Mongod, Version: version, Path: path, Source: "engine.binary"}, err
}

// mongodVersion asks an executable for its version: "db version v8.0.12".
func mongodVersion(ctx context.Context, path string) (string, error) {
	return versionSaid(ctx, process.Spec{Path: path})
}

// downloadedVersion is [mongodVersion] of an executable that was downloaded: it gets neither the rights of root nor this
// program's environment, which may hold secrets.
func downloadedVersion(ctx context.Context, path string) (string, error) {
	return versionSaid(ctx, process.Spec{Path: path, Env: []string{"PATH=/usr/bin:/bin"}, Nobody: true})
}

// versionAtMost is how long an executable may take to say its version.
const versionAtMost = 30 * time.Second

func versionSaid(ctx context.Context, s process.Spec) (string, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, versionAtMost, fmt.Errorf("it did not say its version within %v", versionAtMost))
	defer cancel()
	path := s.Path
	s.Role, s.Args = path+" --version", []string{"--version"}
	out, err := process.Run(ctx, s, io.Discard)
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(string(out)) {
		if v, ok := strings.CutPrefix(strings.TrimSpace(line), "db version v"); ok {
			return v, nil
		}
	}
	return "", fmt.Errorf("%s --version does not say a version, so it is no mongod%s", path, process.LastLines(out, 5))
}

// Start starts one mongod: a replica set of one member, or a standalone.
func (e *mongod) Start(ctx context.Context, opts StartOptions) (Server, error) {
	if opts.SynchronousCommit != "" || opts.Connections != 0 {
		return nil, errors.New("synchronous commit and connections are documentdb's; mongod's durability is the write concern of its clients")
	}
	if err := checkAccess(&opts); err != nil {
		return nil, err
	}
	if opts.CacheGB < 0 {
		return nil, fmt.Errorf("a cache of %v GiB is not possible", opts.CacheGB)
	}
	path, version, err := e.choose(ctx, opts.Binary)
	if err != nil {
		return nil, err
	}
	if opts.Port, err = choosePort(opts.Port); err != nil {
		return nil, err
	}
	b, unlock, err := openServer(e.home, Mongod, opts.DataDir)
	if err != nil {
		return nil, err
	}
	s := &mongodServer{base: base{book: b, unlock: unlock, version: version}}
	release, _ := ParseMongoVersion(version) // one that is not understood is taken for an old one
	own, err := s.prepare(opts)
	if err == nil {
		_, err = s.launch(process.Spec{Role: "mongod", Path: path, Args: append(mongodArgs(opts, s.DataDir(), s.log()), own...),
			OpenFiles: MongoOpenFiles, Also: mongoEnvironment(release)}, s.output())
	}
	if err == nil {
		err = s.ready(s.access.uri(), "mongodb://"+s.access.address+"/")
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("mongod did not start: %w", err), s.abandon())
	}
	return s, nil
}

// choose returns the executable to start and its version.
func (e *mongod) choose(ctx context.Context, binary string) (path, version string, err error) {
	if binary != "" {
		if path, err = filepath.Abs(binary); err != nil {
			return "", "", err
		}
		if err := checkExecutable(path); err != nil {
			return "", "", err
		}
		version, err = mongodVersion(ctx, path)
		return path, version, err
	}
	inst, err := e.Installed(ctx)
	return inst.executable(), inst.Version, err
}

// mongodArgs builds the arguments. mongod stays in the foreground: forked off, it would outlive Plimsoll.
func mongodArgs(opts StartOptions, dataDir, log string) []string {
	args := []string{"--dbpath", dataDir, "--port", strconv.Itoa(opts.Port), "--bind_ip", "127.0.0.1",
		"--logpath", log, "--logappend"}
	if !opts.Standalone && opts.DataDir == "" {
		args = append(args, "--oplogSize", strconv.Itoa(smallOplog))
	}
	if opts.CacheGB > 0 {
		args = append(args, "--wiredTigerCacheSizeGB", strconv.FormatFloat(opts.CacheGB, 'f', -1, 64))
	}
	return append(append(args, parameterArgs(opts.Parameters)...), opts.Args...)
}

// mongodServer is one mongod.
type mongodServer struct {
	base
	access access
}

func (s *mongodServer) log() string    { return filepath.Join(s.book.dir, "mongod.log") }
func (s *mongodServer) output() string { return filepath.Join(s.book.dir, "mongod.out") }

// Logs are mongod's log and what it prints, which is where wrong arguments are complained about.
func (s *mongodServer) Logs() []string { return []string{s.log(), s.output()} }

// Wait waits until a write that a majority has, and a read, succeed.
func (s *mongodServer) Wait(ctx context.Context) error {
	log := s.log()
	if fi, err := os.Stat(log); err != nil || fi.Size() == 0 {
		log = s.output() // it may also appear only later; then its message is the better one
	}
	err := waitListening(ctx, s.URI(), s.ended)
	if err == nil {
		err = s.form(ctx)
	}
	if err == nil {
		err = waitUsable(ctx, withOption(s.URI(), "w=majority"), s.ended)
	}
	if err != nil {
		err = fmt.Errorf("server %s at %s: %w%s", s.ID(), s.book.address(), err, process.LogTail(log))
	}
	if err != nil && log != s.log() {
		return fmt.Errorf("%w%s", err, process.LogTail(s.log()))
	}
	return err
}

// withOption adds an option to an address.
func withOption(uri, option string) string {
	if strings.Contains(uri, "?") {
		return uri + "&" + option
	}
	return uri + "?" + option
}

// Stop ends mongod with SIGTERM, at which it writes a checkpoint.
func (s *mongodServer) Stop(ctx context.Context) error {
	return errors.Join(s.process("mongod").End(ctx, syscall.SIGTERM), s.finish())
}

// Settings reads how mongod was started, its parameters, its storage engine and its default concerns.
func (s *mongodServer) Settings(ctx context.Context) (map[string]string, error) {
	client, err := connect(s.URI())
	if err != nil {
		return nil, err
	}
	defer client.Disconnect(context.WithoutCancel(ctx))
	return readSettings(ctx, "mongod", server.Driver(client))
}
