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

	"github.com/plimsoll-bench/plimsoll/internal/replace"
)

// documentDB is PostgreSQL with the DocumentDB extension behind the FerretDB gateway. They run in a separate Debian
// root directory (HOME/engines/documentdb/root) as its user postgres, because the extension's packages need a newer C
// library than most machines have. The server's data directory is mounted at a fixed path in it. The root directory
// has Patroni and etcd too.
type documentDB struct {
	home layout
}

var _ Engine = (*documentDB)(nil)

// Paths in the root directory.
const (
	pgBin       = "/usr/lib/postgresql/18/bin"
	gatewayFile = "/plimsoll/bin/ferretdb"
	dataMount   = "/plimsoll/data" // mount point of the data directory
)

// Paths in the data directory of a server.
const (
	postgresDir = "postgres" // PostgreSQL's data directory
	socketDir   = "socket"   // of PostgreSQL's Unix socket; only its user can enter it
	engineFile  = "engine.json"
)

func (e *documentDB) Name() string { return DocumentDB }

func (e *documentDB) Installed(context.Context) (Installation, error) {
	dir := e.home.engine(DocumentDB)
	inst, err := readInstallation(dir)
	if errors.Is(err, os.ErrNotExist) {
		return inst, fmt.Errorf("engine documentdb is %w in %s: install it with 'plimsoll engine install documentdb' (as root), or use "+
			"MongoDB: 'plimsoll engine install mongod' (any user)", ErrNotInstalled, dir)
	}
	return inst, err
}

// needRoot returns an error on systems other than Linux and for users other than root. what begins the error.
func needRoot(what string) error {
	if runtime.GOOS != "linux" {
		return fmt.Errorf("%s works only on Linux; use the engine mongod on this system", what)
	}
	if os.Geteuid() != 0 {
		return fmt.Errorf("%s %w for its root directory and mounts; run plimsoll as root, "+
			"or use the engine mongod, which runs as any user", what, ErrNeedsRoot)
	}
	return nil
}

// dataFile marks a data directory.
type dataFile struct {
	Engine string `json:"engine"`
}

// postgresUser is PostgreSQL's superuser.
const postgresUser = "plimsoll"

// rootUser looks a user up in /etc/passwd of a root directory.
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
	return 0, 0, fmt.Errorf("the installation is damaged: there is no user %s in %s/etc/passwd; remove %s and install it again",
		name, root, filepath.Dir(root))
}

// prepareData makes the data directory of a server if needed.
func prepareData(dir string, uid, gid uint32) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("cannot make the data directory: %w", err)
	}
	if err := markData(dir); err != nil {
		return err
	}
	for _, d := range []string{".", socketDir} {
		d = filepath.Join(dir, d)
		if err := os.MkdirAll(d, 0o700); err != nil {
			return err
		}
		if err := os.Chown(d, int(uid), int(gid)); err != nil {
			return fmt.Errorf("cannot change the owner of the data directory: %w", err)
		}
	}
	return os.Chmod(dir, 0o700)
}

// markData reads the file that marks a data directory, or writes it into an empty directory.
func markData(dir string) error {
	name := filepath.Join(dir, engineFile)
	df := dataFile{Engine: DocumentDB}
	err := readJSON(name, &df)
	switch {
	case err == nil && df.Engine != DocumentDB:
		return fmt.Errorf("%s holds data of the engine %s, not of documentdb", dir, df.Engine)
	case err == nil || !errors.Is(err, os.ErrNotExist):
		return err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if replace.Temporary(name, e.Name()) { // of a start that was killed here; the caller has locked the directory
			if err := os.Remove(filepath.Join(dir, e.Name())); err != nil {
				return err
			}
		} else if e.Name() != "lost+found" { // of a new filesystem
			return fmt.Errorf("%s is neither empty nor a data directory of documentdb (it has %s): use an empty or new directory",
				dir, e.Name())
		}
	}
	return replace.JSON(name, &df, true)
}
