package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/plimsoll-bench/plimsoll/lab/process"
)

// install is the frame of every installation: one at a time, into a directory of its own that is
// renamed when it is complete. check returns where a finished installation is, or "" if there is none,
// or why it cannot be done. do fills the directory and returns its final name.
func install(ctx context.Context, home layout, name string, progress func(string),
	do func(dir string, log *process.LockedWriter) (final string, err error), check func() (string, error)) error {
	if err := home.check(); err != nil {
		return err
	}
	if done, err := check(); err != nil || done != "" {
		tellDone(progress, name, done)
		return err
	}
	unlock, err := waitLock(ctx, home.lock(name), func() { tell(progress, "waiting for another installation of %s to end", name) })
	if err != nil {
		return err
	}
	defer unlock()
	if done, err := check(); err != nil || done != "" { // the other one may have done it
		tellDone(progress, name, done)
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
	dir := home.installing() + name + "-" + randomHex(4)
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	final, err := do(dir, &process.LockedWriter{W: log})
	if _, there := readInstallation(final); err == nil && there == nil { // what an archive holds is known only now
		tellDone(progress, name, final)
		return process.RemoveTree(dir)
	}
	if err == nil {
		err = publish(dir, final)
	}
	if err != nil && ctx.Err() != nil {
		return errors.Join(fmt.Errorf("%w; what was made of %s is removed", context.Cause(ctx), name), process.RemoveTree(dir))
	}
	if err != nil {
		return errors.Join(fmt.Errorf("%s was not installed: %w%s", name, err, whereLog(log)), process.RemoveTree(dir))
	}
	tell(progress, "installed in %s", final)
	return nil
}

// closeLog closes a log, and removes it if nothing was written.
func closeLog(log *os.File) {
	empty := whereLog(log) == ""
	log.Close()
	if empty {
		_ = os.Remove(log.Name())
	}
}

// whereLog points to a log that has something in it.
func whereLog(log *os.File) string {
	if fi, err := log.Stat(); err != nil || fi.Size() == 0 {
		return ""
	}
	return "\n(all output is in " + log.Name() + ")"
}

func tellDone(progress func(string), name, dir string) {
	if dir != "" {
		tell(progress, "%s is installed already in %s", name, dir)
	}
}

// removeStale removes what interrupted installations left. The caller holds the lock.
func removeStale(home layout, name string) error {
	stale, err := staleInstallations(home, name)
	for _, dir := range stale {
		err = errors.Join(err, process.RemoveTree(dir))
	}
	return err
}

// publish gives a complete installation its name, and its own path in its description.
func publish(dir, final string) error {
	inst, err := readInstallation(dir)
	if err != nil {
		return err
	}
	inst.Path = final
	if err := writeJSON(installationFile(dir), inst); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(final), 0o755); err != nil {
		return err
	}
	if err := os.Rename(dir, final); err != nil {
		return err
	}
	return syncDir(filepath.Dir(final))
}
