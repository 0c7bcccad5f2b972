package engine

import (
	"context"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/permit"
	"github.com/plimsoll-bench/plimsoll/lab/process"
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

// namedBinary is the source of a mongod that the specification names.
const namedBinary = "engine.binary"

func (i Installation) executable() string {
	if i.Source == "PATH" || i.Source == namedBinary {
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
	path, err := filepath.Abs(path)
	if err == nil {
		err = checkExecutable(path)
	}
	if err != nil {
		return Installation{}, fmt.Errorf("engine.binary: %w", err)
	}
	version, err := mongodVersion(ctx, path)
	return Installation{Engine: Mongod, Version: version, Path: path, Source: namedBinary}, err
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
