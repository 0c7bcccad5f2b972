package engine

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/plimsoll-bench/plimsoll/internal/filelock"
	"github.com/plimsoll-bench/plimsoll/lab/process"
)

// A new database with the extension takes seconds, a copy a fraction. So each installation has a template in
// HOME/engines, made at the first use. All members of a set are copies of it: they have the same system identifier and
// the same WAL, so a standby needs no base backup.
const (
	templatePrefix = "documentdb-template-"
	templateFormat = "3" // of makeTemplate
)

// template returns the directory of the installation's template, and makes it if needed.
func (in installed) template(ctx context.Context) (string, error) {
	sum := sha256.Sum256([]byte(templateFormat + "\n" + in.version + "\n" + in.stamp))
	final := filepath.Join(in.home.engines(), templatePrefix+hex.EncodeToString(sum[:6]))
	if _, err := os.Stat(final); err == nil {
		return final, nil
	}
	// The lock of installations: two labs make the template once, and Cleanup does not remove it meanwhile.
	unlock, err := filelock.Await(ctx, in.home.lock(DocumentDB), nil)
	if err != nil {
		return "", fmt.Errorf("cannot make the template of the database: %w", err)
	}
	defer unlock()
	if _, err := os.Stat(final); err == nil {
		return final, nil
	}
	if err := removeStale(in.home, DocumentDB); err != nil {
		return "", err
	}
	dir := in.home.installing() + templatePrefix + rand.Text()
	if err := in.makeTemplate(ctx, dir); err != nil {
		return "", errors.Join(fmt.Errorf("cannot make the template of the database: %w", err), process.RemoveTree(dir))
	}
	if err := os.Rename(filepath.Join(dir, postgresDir), final); err != nil {
		return "", errors.Join(err, process.RemoveTree(dir))
	}
	return final, errors.Join(process.RemoveTree(dir), in.removeOldTemplates(final))
}

// makeTemplate makes a database with the extension in dir with PostgreSQL's single-user mode, without a server. Its
// superuser has no password, so nobody can connect to a copy before its password is set. The database template0, which
// has 300 of 1,015 files, is dropped: PostgreSQL copies it for databases with another encoding, and the gateway uses
// one database only. Patroni and pg_rewind repair a killed PostgreSQL in single-user mode, in template1.
func (in installed) makeTemplate(ctx context.Context, dir string) error {
	if err := os.MkdirAll(filepath.Join(dir, socketDir), 0o700); err != nil {
		return err
	}
	for _, d := range []string{dir, filepath.Join(dir, socketDir)} {
		if err := os.Chown(d, int(in.uid), int(in.gid)); err != nil {
			return err
		}
	}
	data := dataMount + "/" + postgresDir
	if _, err := process.Run(ctx, in.program(dir, "initdb", pgBin+"/initdb", "-D", data, "-U", postgresUser,
		"--auth=trust", "-E", "UTF8", "--locale=C.UTF-8", "--data-checksums", "--no-sync"), io.Discard); err != nil {
		return err
	}
	set := preloaded()
	set["fsync"] = "off" // copyTree makes each copy durable
	args := []string{"--single", "-D", data}
	for name, value := range set {
		args = append(args, "-c", name+"="+value)
	}
	sp := in.program(dir, "postgres (template)", pgBin+"/postgres", append(args, "postgres")...)
	sp.Input = "create extension documentdb cascade\n" +
		"update pg_database set datistemplate = false where datname = 'template0'\n" +
		"drop database template0\n"
	out, err := process.Run(ctx, sp, io.Discard)
	if err == nil && strings.Contains(string(out), "ERROR:") { // the single-user mode continues after an error
		err = fmt.Errorf("cannot create the extension or drop template0%s", process.LastLines(out, 15))
	}
	return err
}

// removeOldTemplates removes the templates of other installations. The caller holds the lock.
func (in installed) removeOldTemplates(keep string) error {
	old, err := filepath.Glob(filepath.Join(escapeGlob(in.home.engines()), templatePrefix+"*"))
	for _, dir := range old {
		if dir != keep {
			err = errors.Join(err, os.RemoveAll(dir))
		}
	}
	return err
}
