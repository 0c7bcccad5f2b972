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

	"github.com/plimsoll-bench/plimsoll/internal/permit"
	"github.com/plimsoll-bench/plimsoll/lab/process"
	"github.com/plimsoll-bench/plimsoll/server"
)

// mongod is MongoDB's server, or a server with the same arguments, such as Percona's. It runs as the user of Plimsoll.
type mongod struct {
	home layout
	from fetcher
}

var _ Engine = (*mongod)(nil)

func (e *mongod) Name() string { return Mongod }

// Installed returns the newest release in the home directory, or the mongod on PATH.
func (e *mongod) Installed(ctx context.Context) (Installation, error) {
	newest := e.newestOf("")
	if newest.Path != "" {
		return newest, nil
	}
	path, err := exec.LookPath("mongod")
	if err != nil {
		return Installation{}, fmt.Errorf("engine mongod is %w in %s or on PATH: install it with 'plimsoll engine install mongod', "+
			"or name an executable (engine.binary in a specification, --binary of plimsoll lab up)",
			ErrNotInstalled, e.home.engine(Mongod))
	}
	version, err := mongodVersion(ctx, path)
	return Installation{Engine: Mongod, Version: version, Path: path, Source: "PATH"}, err
}

func (i Installation) executable() string {
	if i.Source == "PATH" {
		return i.Path
	}
	return filepath.Join(i.Path, "bin", "mongod")
}

// newerVersion reports whether release a is newer than b.
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

// MongodAt returns the mongod at a path. Its version is empty if ctx permits no programs.
func MongodAt(ctx context.Context, path string) (Installation, error) {
	if err := checkExecutable(path); err != nil {
		return Installation{}, fmt.Errorf("engine.binary: %w", err)
	}
	version, err := mongodVersion(ctx, path)
	return Installation{Engine: Mongod, Version: version, Path: path, Source: "engine.binary"}, err
}

// mongodVersion runs "mongod --version", which prints "db version v8.0.12".
func mongodVersion(ctx context.Context, path string) (string, error) {
	return programVersion(ctx, process.Spec{Path: path}, "mongod", "db version v")
}

// downloadedVersion is [mongodVersion] of a downloaded executable: it runs without root, and without this program's
// environment, which may have secrets.
func downloadedVersion(ctx context.Context, path string) (string, error) {
	return programVersion(ctx, process.Spec{Path: path, Env: []string{"PATH=/usr/bin:/bin"}, Nobody: true}, "mongod", "db version v")
}

const versionTimeout = 30 * time.Second

// programVersion runs a program with --version and returns the text behind prefix. The version is unknown, an empty
// text, if ctx permits no programs: a plan does not run what a file names.
func programVersion(ctx context.Context, s process.Spec, program, prefix string) (string, error) {
	if !permit.Has(ctx, permit.Execute) {
		return "", nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, versionTimeout, fmt.Errorf("no answer within %v", versionTimeout))
	defer cancel()
	s.Role, s.Args = s.Path+" --version", []string{"--version"}
	out, err := process.Run(ctx, s, io.Discard)
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(string(out)) {
		if v, ok := strings.CutPrefix(strings.TrimSpace(line), prefix); ok {
			return v, nil
		}
	}
	return "", fmt.Errorf("%s is not a %s, because --version prints no version of it%s", s.Path, program, process.LastLines(out, 5))
}

// Start starts one mongod: a replica set of one member, or a standalone.
func (e *mongod) Start(ctx context.Context, opts StartOptions) (Server, error) {
	if opts.SynchronousCommit != "" || opts.Connections != 0 {
		return nil, errors.New("synchronous commit and connections are options of documentdb; with mongod use the write concern of the clients")
	}
	if err := checkAccess(&opts); err != nil {
		return nil, err
	}
	if opts.CacheGB < 0 {
		return nil, fmt.Errorf("invalid cache of %v GiB: use a positive size", opts.CacheGB)
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
	release, _ := ParseMongoVersion(version) // an unknown version is treated as an old one
	own, err := s.prepare(opts)
	if err == nil {
		_, err = s.launch(ctx, process.Spec{Role: "mongod", Path: path,
			Args:      append(mongodArgs(opts, s.DataDir(), s.log()), own...),
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

// mongodArgs returns the arguments. mongod stays in the foreground, because a forked mongod would outlive Plimsoll.
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

// Logs returns mongod's log, and its output, which has the errors about arguments.
func (s *mongodServer) Logs() []string { return []string{s.log(), s.output()} }

// Wait waits until a majority write and a read succeed.
func (s *mongodServer) Wait(ctx context.Context) error {
	log := s.log()
	if fi, err := os.Stat(log); err != nil || fi.Size() == 0 {
		log = s.output() // the log may still appear later
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

func withOption(uri, option string) string {
	if strings.Contains(uri, "?") {
		return uri + "&" + option
	}
	return uri + "?" + option
}

// Stop ends mongod with SIGTERM, so that it writes a checkpoint.
func (s *mongodServer) Stop(ctx context.Context) error {
	return errors.Join(s.process("mongod").End(ctx, syscall.SIGTERM), s.finish())
}

func (s *mongodServer) Settings(ctx context.Context) (map[string]string, error) {
	client, err := connect(s.URI())
	if err != nil {
		return nil, err
	}
	defer disconnect(client)
	return readSettings(ctx, "mongod", server.Driver(client))
}
