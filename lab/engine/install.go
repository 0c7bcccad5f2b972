package engine

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/plimsoll-bench/plimsoll/internal/filelock"
	"github.com/plimsoll-bench/plimsoll/internal/replace"
	"github.com/plimsoll-bench/plimsoll/lab/process"
)

// install runs an installation: one at a time, in a new directory that is renamed when it is complete. check returns
// the directory of a finished installation, "" if there is none, or why an installation is impossible. do fills the new
// directory and returns its final name.
func install(ctx context.Context, home layout, name string, progress func(string),
	do func(dir string, log *process.LockedWriter) (final string, err error), check func() (string, error)) error {
	if err := home.check(); err != nil {
		return err
	}
	if done, err := check(); err != nil || done != "" {
		reportDone(progress, name, done)
		return err
	}
	if err := os.MkdirAll(home.engines(), 0o755); err != nil {
		return err
	}
	unlock, err := filelock.Await(ctx, home.lock(name), func() {
		report(progress, "waiting for another installation of %s to end", name)
	})
	if err != nil {
		return err
	}
	defer unlock()
	if done, err := check(); err != nil || done != "" { // by the other installation
		reportDone(progress, name, done)
		return err
	}
	if err := removeStale(home, name); err != nil {
		return err
	}
	log, err := os.OpenFile(home.log(name), os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return err
	}
	defer closeLog(log)
	dir := home.installing() + name + "-" + rand.Text()
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	final, err := do(dir, &process.LockedWriter{W: log})
	// The release of an archive is known only now.
	if _, there := readInstallation(final); err == nil && there == nil {
		reportDone(progress, name, final)
		return process.RemoveTree(dir)
	}
	if err == nil {
		err = publish(dir, final)
	}
	if err != nil && ctx.Err() != nil {
		return errors.Join(fmt.Errorf("%w; the unfinished installation of %s was removed", context.Cause(ctx), name),
			process.RemoveTree(dir))
	}
	if err != nil {
		return errors.Join(fmt.Errorf("%s was not installed: %w%s", name, err, whereLog(log)), process.RemoveTree(dir))
	}
	report(progress, "installed in %s", final)
	return nil
}

// closeLog closes a log, and removes it if it is empty.
func closeLog(log *os.File) {
	empty := whereLog(log) == ""
	log.Close()
	if empty {
		_ = os.Remove(log.Name())
	}
}

// whereLog returns the path of a log for the end of an error, "" if the log is empty.
func whereLog(log *os.File) string {
	if fi, err := log.Stat(); err != nil || fi.Size() == 0 {
		return ""
	}
	return "\n(see the output in " + log.Name() + ")"
}

func reportDone(progress func(string), name, dir string) {
	if dir != "" {
		report(progress, "%s is already installed in %s", name, dir)
	}
}

// removeStale removes the files of interrupted installations. The caller holds the lock.
func removeStale(home layout, name string) error {
	stale, err := staleInstallations(home, name)
	for _, dir := range stale {
		err = errors.Join(err, process.RemoveTree(dir))
	}
	return err
}

// publish writes the final path into the description of a complete installation, and renames its directory. An
// installation with the same name is replaced and removed.
func publish(dir, final string) error {
	inst, err := readInstallation(dir)
	if err != nil {
		return err
	}
	inst.Path = final
	if err := replace.JSON(installationFile(dir), inst, true); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(final), 0o755); err != nil {
		return err
	}
	if _, err := os.Lstat(final); err == nil {
		// At every moment there is one complete installation, also for those who start servers now.
		if err := checkUnused(final); err != nil {
			return err
		}
		if err := exchange(dir, final); err != nil {
			return err
		}
		return errors.Join(replace.SyncDir(filepath.Dir(final)), process.RemoveTree(dir))
	}
	if err := os.Rename(dir, final); err != nil {
		return err
	}
	return replace.SyncDir(filepath.Dir(final))
}
