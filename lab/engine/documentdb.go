package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
)

// documentDB is PostgreSQL with the DocumentDB extension behind the FerretDB gateway. PostgreSQL and
// the gateway live in a Debian root of their own (HOME/engines/documentdb/root), because the
// extension's packages need a newer C library than most machines have. They run in it as its user
// postgres, with the server's data directory shown at one fixed place.
type documentDB struct {
	home layout
}

var _ Engine = (*documentDB)(nil)

// Places in the root.
const (
	pgBin       = "/usr/lib/postgresql/18/bin"
	gatewayFile = "/plimsoll/bin/ferretdb" // the gateway, put there by the installation
	dataMount   = "/plimsoll/data"         // where a server sees its data directory
)

// Places in the data directory of a server.
const (
	postgresDir = "postgres" // PostgreSQL's own data directory
	gatewayDir  = "gateway"  // the gateway's state
	socketDir   = "socket"   // PostgreSQL's Unix socket; only its user can get there
	engineFile  = "engine.json"
)

func (e *documentDB) Name() string { return DocumentDB }

// Installed finds the installation in the home directory.
func (e *documentDB) Installed(context.Context) (Installation, error) {
	dir := e.home.engine(DocumentDB)
	inst, err := readInstallation(dir)
	if errors.Is(err, os.ErrNotExist) {
		return inst, fmt.Errorf("engine documentdb is %w in %s: install it with 'plimsoll engine install documentdb' (as root)", ErrNotInstalled, dir)
	}
	return inst, err
}

// needRoot refuses what only root can do; what says it in the words of an error message.
func needRoot(what string) error {
	if runtime.GOOS != "linux" {
		return fmt.Errorf("%s works on Linux only (use the engine mongod here)", what)
	}
	if os.Geteuid() != 0 {
		return fmt.Errorf("%s %w: a root directory and mounts of its own are made; call plimsoll as root, or take the engine mongod, which runs as any user", what, ErrNeedsRoot)
	}
	return nil
}

// dataFile is what a data directory says about itself. It holds the password of PostgreSQL's only
// user, so only root can read it.
type dataFile struct {
	Engine   string `json:"engine"`
	Password string `json:"password"`
}

// postgresUser is PostgreSQL's superuser, and the only user there is.
const postgresUser = "plimsoll"

// rootUser looks a user up in the root's /etc/passwd.
func rootUser(root, name string) (uid, gid uint32, err error) {
	data, err := os.ReadFile(filepath.Join(root, "etc/passwd"))
	if err != nil {
		return 0, 0, err
	}
	for line := range strings.Lines(string(data)) {
		f := strings.Split(strings.TrimSpace(line), ":")
		if len(f) < 4 || f[0] != name {
			continue
		}
		u, errU := strconv.ParseUint(f[2], 10, 32)
		g, errG := strconv.ParseUint(f[3], 10, 32)
		return uint32(u), uint32(g), errors.Join(errU, errG)
	}
	return 0, 0, fmt.Errorf("there is no user %s in %s/etc/passwd: the installation is damaged", name, root)
}

// prepareData makes the data directory of a server or takes one that an earlier server made, and
// reads or makes its password.
func prepareData(dir string, uid, gid uint32) (dataFile, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return dataFile{}, fmt.Errorf("cannot make the data directory: %w", err)
	}
	df, err := readDataFile(dir)
	if err != nil {
		return df, err
	}
	for _, d := range []string{".", gatewayDir, socketDir} {
		d = filepath.Join(dir, d)
		if err := os.MkdirAll(d, 0o700); err != nil {
			return df, err
		}
		if err := os.Chown(d, int(uid), int(gid)); err != nil {
			return df, fmt.Errorf("cannot give the data directory to the server's user: %w", err)
		}
	}
	return df, os.Chmod(dir, 0o700)
}

// readDataFile reads the file that marks a data directory, or writes it into an empty one.
func readDataFile(dir string) (dataFile, error) {
	name := filepath.Join(dir, engineFile)
	df := dataFile{Engine: DocumentDB, Password: randomHex(16)}
	err := readJSON(name, &df)
	switch {
	case err == nil && df.Engine != DocumentDB:
		return df, fmt.Errorf("%s holds data of the engine %s, not of documentdb", dir, df.Engine)
	case err == nil || !errors.Is(err, os.ErrNotExist):
		return df, err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return df, err
	}
	for _, e := range entries {
		if e.Name() != "lost+found" { // a file system of its own is welcome
			return df, fmt.Errorf("%s is not empty and not a data directory of documentdb (there is %s in it): choose an empty or new one", dir, e.Name())
		}
	}
	return df, writeJSON(name, &df)
}
