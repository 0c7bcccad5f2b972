package engine

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/plimsoll-bench/plimsoll/lab/process"
	"github.com/plimsoll-bench/plimsoll/server"
)

// MongoVersion is a release of MongoDB, or of Percona Server for MongoDB, which has MongoDB's numbers.
type MongoVersion = server.Version

// ParseMongoVersion reads "8.0.12", "8.0" or "4.4.6-8".
func ParseMongoVersion(text string) (MongoVersion, error) { return server.ParseVersion(text) }

// oldestMongo is the oldest release that the driver supports.
var oldestMongo = MongoVersion{Major: 4, Minor: 4}

// MongoPrograms are the executables of one release.
type MongoPrograms struct {
	Mongod  string
	Mongos  string       // empty unless it was asked for
	Version MongoVersion // zero: unknown
}

// FindMongo finds mongod: binary, the installed release of version, the newest installed one, or the one on PATH, in
// this order. With routers it also finds mongos. home is the directory of engines. The version of a program that
// Plimsoll did not install is unknown if ctx permits no programs.
func FindMongo(ctx context.Context, home, binary, version string, routers bool) (MongoPrograms, error) {
	e := &mongod{home: layout{home}}
	path, text, err := e.program(ctx, binary, version)
	if err != nil {
		return MongoPrograms{}, err
	}
	p := MongoPrograms{Mongod: path}
	if text == "" {
		if routers {
			p.Mongos, err = mongosOf(path)
		}
		return p, err
	}
	if p.Version, err = ParseMongoVersion(text); err != nil {
		return p, fmt.Errorf("%s: %w", path, err)
	}
	if !p.Version.AtLeast(oldestMongo.Major, oldestMongo.Minor) {
		return p, fmt.Errorf("%s is release %s: labs need 4.4 or later (engine.version, engine.binary)", path, text)
	}
	if version != "" && !isRelease(text, version) {
		return p, fmt.Errorf("%s is release %s, and engine.version requires %s: change it, or install that release with "+
			"'plimsoll engine install mongod --version %[3]s'", path, text, version)
	}
	if routers {
		p.Mongos, err = findMongos(ctx, path, text)
	}
	return p, err
}

// program returns the executable to use and its release.
func (e *mongod) program(ctx context.Context, binary, version string) (path, text string, err error) {
	inst := e.newestOf(version)
	switch {
	case binary != "":
		inst, err = MongodAt(ctx, binary)
	case inst.Path == "":
		inst, err = e.Installed(ctx)
	}
	return inst.executable(), inst.Version, err
}

// isRelease reports whether a release has a version or begins with it: 8.0.12 is 8.0.
func isRelease(text, version string) bool {
	return text == version || strings.HasPrefix(text, version+".") || strings.HasPrefix(text, version+"-")
}

// mongosOf finds mongos in the directory of mongod or on PATH.
func mongosOf(mongod string) (string, error) {
	path := filepath.Join(filepath.Dir(mongod), "mongos")
	if checkExecutable(path) != nil {
		var err error
		if path, err = exec.LookPath("mongos"); err != nil {
			return "", fmt.Errorf("cannot find mongos in the directory of %s or on PATH, and a sharded cluster needs it: "+
				"install it with 'plimsoll engine install mongod', or use topology.kind: replica-set", mongod)
		}
	}
	return path, nil
}

// findMongos is [mongosOf], and checks that both are the same release.
func findMongos(ctx context.Context, mongod, want string) (string, error) {
	path, err := mongosOf(mongod)
	if err != nil {
		return "", err
	}
	got, err := programVersion(ctx, process.Spec{Path: path}, "mongos", "mongos version v")
	if err != nil {
		return "", err
	}
	if got != "" && got != want {
		return "", fmt.Errorf("%s is release %s and %s is %s: a lab needs the same release of both", path, got, mongod, want)
	}
	return path, nil
}
