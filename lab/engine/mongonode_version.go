package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/plimsoll-bench/plimsoll/lab/process"
	"github.com/plimsoll-bench/plimsoll/server"
)

// MongoVersion is a release of MongoDB, or of Percona Server for MongoDB, which has MongoDB's numbers.
type MongoVersion = server.Version

// ParseMongoVersion reads "8.0.12", "8.0" or "4.4.6-8".
func ParseMongoVersion(text string) (MongoVersion, error) { return server.ParseVersion(text) }

// oldestMongo is the oldest release that the driver speaks with; all settings are checked for it and later ones.
var oldestMongo = MongoVersion{Major: 4, Minor: 4}

// MongoPrograms are the executables of one release.
type MongoPrograms struct {
	Mongod  string
	Mongos  string // empty unless it was asked for
	Version MongoVersion
}

// FindMongo finds mongod, and mongos beside it where routers are wanted: binary if it is given, else the installed
// release that version names, else the newest installed one, else the one on PATH. home is where engines are installed.
func FindMongo(ctx context.Context, home, binary, version string, routers bool) (MongoPrograms, error) {
	e := &mongod{home: layout{home}}
	path, text, err := e.program(ctx, binary, version)
	if err != nil {
		return MongoPrograms{}, err
	}
	p := MongoPrograms{Mongod: path}
	if p.Version, err = ParseMongoVersion(text); err != nil {
		return p, fmt.Errorf("%s: %w", path, err)
	}
	if !p.Version.AtLeast(oldestMongo.Major, oldestMongo.Minor) {
		return p, fmt.Errorf("%s is release %s: labs need 4.4 or later (engine.version, engine.binary)", path, text)
	}
	if version != "" && !isRelease(text, version) {
		return p, fmt.Errorf("%s is release %s, and engine.version asks for %s: change it, or install that release with 'plimsoll engine install mongod --version %s'",
			path, text, version, version)
	}
	if routers {
		p.Mongos, err = findMongos(ctx, path, text)
	}
	return p, err
}

// program returns the executable that is meant, and what it says of its release.
func (e *mongod) program(ctx context.Context, binary, version string) (path, text string, err error) {
	if binary == "" && version != "" {
		best := e.newestOf(version)
		if best.Path != "" {
			return best.executable(), best.Version, nil
		}
	}
	return e.choose(ctx, binary)
}

// isRelease says whether a release is the one that is asked for, which may be by its first numbers: 8.0 is 8.0.12.
func isRelease(text, version string) bool {
	return text == version || strings.HasPrefix(text, version+".") || strings.HasPrefix(text, version+"-")
}

// findMongos looks beside mongod, then on PATH, and makes sure that both are the same release.
func findMongos(ctx context.Context, mongod, want string) (string, error) {
	path := filepath.Join(filepath.Dir(mongod), "mongos")
	if checkExecutable(path) != nil {
		var err error
		if path, err = exec.LookPath("mongos"); err != nil {
			return "", fmt.Errorf("there is no mongos beside %s nor on PATH: a sharded cluster needs routers; install the server's archive with 'plimsoll engine install mongod', or say topology.kind: replica-set", mongod)
		}
	}
	got, err := mongosVersion(ctx, path)
	if err != nil {
		return "", err
	}
	if got != want {
		return "", fmt.Errorf("%s is release %s and %s is %s: a lab needs both of one release", path, got, mongod, want)
	}
	return path, nil
}

// mongosVersion asks mongos for its version: "mongos version v8.0.12".
func mongosVersion(ctx context.Context, path string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	out, err := process.Run(ctx, process.Spec{Role: path + " --version", Path: path, Args: []string{"--version"}}, io.Discard)
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(string(out)) {
		if v, ok := strings.CutPrefix(strings.TrimSpace(line), "mongos version v"); ok {
			return v, nil
		}
	}
	return "", errors.New(path + " --version does not say a version, so it is no mongos" + process.LastLines(out, 5))
}
