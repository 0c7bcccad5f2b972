package engine

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/plimsoll-bench/plimsoll/lab/process"
)

// Making a cluster of PostgreSQL and its extension takes seconds, copying one a fraction. So each installation has a
// template in HOME/engines, made at the first use. All members of a set are copies of it: they have the same system
// identifier and the same write-ahead log, so a standby needs no base backup.
const (
	templatePrefix = "documentdb-template-"
	templateFormat = "1" // of what makeTemplate makes
)

// template returns the directory of the installation's template, and makes it if there is none.
func (in installed) template(ctx context.Context) (string, error) {
	sum := sha256.Sum256([]byte(templateFormat + "\n" + in.version + "\n" + in.stamp))
	final := filepath.Join(in.home.engines(), templatePrefix+hex.EncodeToString(sum[:6]))
	if _, err := os.Stat(final); err == nil {
		return final, nil
	}
	// The lock of installations: two labs make it once, and nobody takes it for the rest of a killed installation.
	unlock, err := waitLock(ctx, in.home.lock(DocumentDB), nil)
	if err != nil {
		return "", fmt.Errorf("cannot make the template of a cluster: %w", err)
	}
	defer unlock()
	if _, err := os.Stat(final); err == nil {
		return final, nil
	}
	if err := removeStale(in.home, DocumentDB); err != nil {
		return "", err
	}
	dir := in.home.installing() + templatePrefix + randomHex(4)
	if err := in.makeTemplate(ctx, dir); err != nil {
		return "", errors.Join(fmt.Errorf("cannot make the template of a cluster: %w", err), process.RemoveTree(dir))
	}
	if err := os.Rename(filepath.Join(dir, postgresDir), final); err != nil {
		return "", errors.Join(err, process.RemoveTree(dir))
	}
	return final, errors.Join(process.RemoveTree(dir), in.removeOldTemplates(final))
}

// makeTemplate makes a cluster with the extension in dir. No server is started for it: PostgreSQL's single-user mode
// does it. Its superuser has no password, so nobody can connect to a copy before it was given one.
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
	set["fsync"] = "off" // the copies are made durable, each for itself
	args := []string{"--single", "-D", data}
	for name, value := range set {
		args = append(args, "-c", name+"="+value)
	}
	sp := in.program(dir, "postgres (template)", pgBin+"/postgres", append(args, "postgres")...)
	sp.Input = "create extension documentdb cascade\n"
	out, err := process.Run(ctx, sp, io.Discard)
	if err == nil && strings.Contains(string(out), "ERROR:") { // the single-user mode goes on after an error
		err = fmt.Errorf("the extension was not made%s", process.LastLines(out, 15))
	}
	return err
}

// removeOldTemplates removes those of installations that are gone. The caller holds the lock.
func (in installed) removeOldTemplates(keep string) error {
	old, err := filepath.Glob(filepath.Join(escapeGlob(in.home.engines()), templatePrefix+"*"))
	for _, dir := range old {
		if dir != keep {
			err = errors.Join(err, os.RemoveAll(dir))
		}
	}
	return err
}
