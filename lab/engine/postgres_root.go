package engine

import (
	"context"
	"path/filepath"

	"github.com/plimsoll-bench/plimsoll/lab/process"
)

// installed is an installation of documentdb.
type installed struct {
	home     layout
	version  string
	stamp    string // identifies an installation among those of the same version
	root     string
	uid, gid uint32 // of the user postgres
}

// findInstalled returns the installation of documentdb in a home directory.
func findInstalled(ctx context.Context, home string) (installed, error) {
	e := &documentDB{home: layout{home}}
	if err := needRoot("running the engine documentdb"); err != nil {
		return installed{}, err
	}
	inst, err := e.Installed(ctx)
	if err != nil {
		return installed{}, err
	}
	in := installed{home: e.home, version: inst.Version, stamp: inst.Installed.String(),
		root: filepath.Join(inst.Path, "root")}
	in.uid, in.gid, err = rootUser(in.root, "postgres")
	return in, err
}

// program describes a program that runs in the root directory as its user postgres, with dir mounted at [dataMount].
func (in installed) program(dir, role, path string, args ...string) process.Spec {
	return process.Spec{
		Role: role, Path: path, Args: args,
		Env: []string{"PATH=" + pgBin + ":/usr/bin:/bin", "HOME=/var/lib/postgresql", "LC_ALL=C.UTF-8", "TZ=UTC"},
		Sandbox: &process.Sandbox{Root: in.root, UID: in.uid, GID: in.gid,
			Bind: []process.Bind{{From: dir, At: dataMount}}},
	}
}

// preloaded returns the settings without which PostgreSQL cannot read the extension's data and WAL. The runs of its
// background workers, every two seconds, are not logged, because that would disturb measurements.
func preloaded() map[string]string {
	return map[string]string{
		"shared_preload_libraries":               "pg_cron,pg_documentdb_core,pg_documentdb",
		"cron.database_name":                     "postgres",
		"cron.use_background_workers":            "on",
		"cron.log_run":                           "off",
		"cron.log_statement":                     "off",
		"documentdb.localhost_connection_string": "host=" + dataMount + "/" + socketDir,
		"unix_socket_directories":                dataMount + "/" + socketDir,
	}
}
