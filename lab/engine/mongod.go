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

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/plimsoll-bench/plimsoll/lab/process"
)

// mongod is MongoDB's own server, or one that takes the same arguments, such as Percona's. It runs as
// the user who started Plimsoll.
type mongod struct {
	home layout
}

var _ Engine = (*mongod)(nil)

func (e *mongod) Name() string { return Mongod }

// Installed finds the newest release in the home directory, then a mongod on PATH.
func (e *mongod) Installed(ctx context.Context) (Installation, error) {
	dirs, err := filepath.Glob(escapeGlob(e.home.engine(Mongod)) + "/*/installation.json")
	if err != nil {
		return Installation{}, err
	}
	var newest Installation
	for _, file := range dirs {
		inst, err := readInstallation(filepath.Dir(file))
		if err == nil && (newest.Path == "" || newerVersion(inst.Version, newest.Version)) {
			newest = inst
		}
	}
	if newest.Path != "" {
		return newest, nil
	}
	path, err := exec.LookPath("mongod")
	if err != nil {
		return Installation{}, fmt.Errorf("engine mongod is %w in %s nor on PATH: install it with 'plimsoll engine install mongod --version 8.0.12', or name an executable (engine.binary in a specification, --binary of plimsoll lab up)",
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

// mongodVersion asks an executable for its version: "db version v8.0.12".
func mongodVersion(ctx context.Context, path string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	out, err := process.Run(ctx, process.Spec{Role: path + " --version", Path: path, Args: []string{"--version"}}, io.Discard)
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

// Start starts a standalone mongod.
func (e *mongod) Start(ctx context.Context, opts StartOptions) (Server, error) {
	if opts.SynchronousCommit != "" || opts.Connections != 0 {
		return nil, errors.New("synchronous commit and connections are documentdb's; mongod's durability is the write concern of its clients")
	}
	if opts.User != "" || opts.Password != "" || opts.TLS {
		return nil, errors.New("user, password and TLS are documentdb's; a mongod with access control has to be started without Plimsoll")
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
	sp := process.Spec{Role: "mongod", Path: path, Args: mongodArgs(opts, s.DataDir(), s.log())}
	_, err = s.launch(sp, s.output())
	if err == nil {
		at := "mongodb://127.0.0.1:" + strconv.Itoa(opts.Port) + "/"
		err = s.ready(at, at)
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
	if opts.CacheGB > 0 {
		args = append(args, "--wiredTigerCacheSizeGB", strconv.FormatFloat(opts.CacheGB, 'f', -1, 64))
	}
	var params []string
	for name, value := range opts.Parameters {
		params = append(params, name+"="+value)
	}
	slices.Sort(params)
	for _, p := range params {
		args = append(args, "--setParameter", p)
	}
	return append(args, opts.Args...)
}

// mongodServer is one mongod.
type mongodServer struct {
	base
}

func (s *mongodServer) log() string    { return filepath.Join(s.book.dir, "mongod.log") }
func (s *mongodServer) output() string { return filepath.Join(s.book.dir, "mongod.out") }

// Logs are mongod's log and what it prints, which is where wrong arguments are complained about.
func (s *mongodServer) Logs() []string { return []string{s.log(), s.output()} }

// Wait waits until a write and a read succeed.
func (s *mongodServer) Wait(ctx context.Context) error {
	log := s.log()
	if fi, err := os.Stat(log); err != nil || fi.Size() == 0 {
		log = s.output() // it may also appear only later; then its message is the better one
	}
	err := s.waitUsable(ctx, log)
	if err != nil && log != s.log() {
		return fmt.Errorf("%w%s", err, process.LogTail(s.log()))
	}
	return err
}

// Stop ends mongod with SIGTERM, at which it writes a checkpoint.
func (s *mongodServer) Stop(ctx context.Context) error {
	return errors.Join(s.process("mongod").End(ctx, syscall.SIGTERM), s.finish())
}

// Settings reads the command line mongod runs with, its storage engine and its default concerns.
func (s *mongodServer) Settings(ctx context.Context) (map[string]string, error) {
	client, err := connect(s.URI())
	if err != nil {
		return nil, err
	}
	defer client.Disconnect(context.WithoutCancel(ctx))
	set := map[string]string{}
	var failed error
	for _, command := range []string{"getCmdLineOpts", "serverStatus", "getDefaultRWConcern"} {
		var doc bson.M
		if err := client.Database("admin").RunCommand(ctx, bson.D{{Key: command, Value: 1}}).Decode(&doc); err != nil {
			failed = errors.Join(failed, fmt.Errorf("%s: %w", command, err)) // not every release has every command
			continue
		}
		for _, key := range []string{"parsed", "storageEngine", "defaultWriteConcern", "defaultReadConcern"} {
			if v, ok := doc[key]; ok {
				flatten(set, key, v)
			}
		}
	}
	if len(set) == 0 && failed != nil {
		return nil, fmt.Errorf("cannot read mongod's settings: %w", failed)
	}
	return set, nil
}

// flatten writes the values of a document under dotted names.
func flatten(set map[string]string, name string, v any) {
	d, ok := v.(bson.D)
	if !ok {
		set[strings.TrimPrefix(name, "parsed.")] = fmt.Sprint(v)
		return
	}
	for _, e := range d {
		flatten(set, name+"."+e.Key, e.Value)
	}
}
