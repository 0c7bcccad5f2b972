package lab

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/childproc"
	"github.com/plimsoll-bench/plimsoll/internal/filelock"
	"github.com/plimsoll-bench/plimsoll/internal/procid"
	"github.com/plimsoll-bench/plimsoll/lab/process"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// Options are the choices of [Up] besides the specification.
type Options struct {
	// Home is where engines are installed and labs are kept.
	Home string
	// Executable is started as the supervisor, with the arguments Command and the directory of the lab. Command is
	// "lab-supervisor" if empty.
	Executable string
	Command    []string
	// Progress gets the events until the lab is usable; may be nil.
	Progress func(record.LabEvent)
	// Keep keeps a lab that failed, for analysis.
	Keep bool
}

// silentLimit is how long a supervisor may leave requests without an answer while it makes a lab on a busy machine, and
// retryRequest the pause between two requests.
const (
	silentLimit  = 2 * time.Minute
	retryRequest = 100 * time.Millisecond
)

// downLimit bounds the removal of a lab that failed or was interrupted.
const downLimit = 2 * time.Minute

// Up creates a lab from a complete specification and returns when it is usable. If the lab fails, or ctx ends before,
// Up removes it. The lab outlives this process.
func Up(ctx context.Context, asked spec.Lab, opts Options) (*Handle, error) {
	p, err := Plan(ctx, opts.Home, asked)
	if err != nil {
		return nil, err
	}
	asked = p.Spec
	h, err := create(asked, opts, func(h *Handle) error { return h.startSupervisor(ctx, opts) })
	if err != nil {
		return nil, err
	}
	err = h.awaitUsable(ctx, opts.Progress)
	if err == nil {
		return h, nil
	}
	_ = h.Close()
	if opts.Keep && ctx.Err() == nil {
		return nil, fmt.Errorf("%w\nThe lab is kept in %s. Remove it: plimsoll lab down %s", err, h.dir, asked.Name)
	}
	downCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), downLimit)
	defer cancel()
	return nil, errors.Join(err, Down(downCtx, opts.Home, asked.Name, opts.Progress))
}

// create makes the directory of a lab and starts its supervisor.
func create(asked spec.Lab, opts Options, start func(*Handle) error) (*Handle, error) {
	if err := os.MkdirAll(labsDir(opts.Home), 0o700); err != nil {
		return nil, fmt.Errorf("cannot create the directory of the labs: %w", err)
	}
	spread(labsDir(opts.Home))
	unlock, err := filelock.Hold(lockName(opts.Home, asked.Name))
	if errors.Is(err, filelock.ErrBusy) {
		return nil, refuse("another plimsoll process is creating or removing a lab %q. "+
			"Choose another name, or wait", asked.Name)
	}
	if err != nil {
		return nil, err
	}
	defer unlock()
	dir := Dir(opts.Home, asked.Name)
	if err := os.Mkdir(dir, 0o700); errors.Is(err, fs.ErrExist) {
		return nil, nameInUse(dir, asked.Name)
	} else if err != nil {
		return nil, fmt.Errorf("cannot create the directory of the lab: %w", err)
	}
	o := order{Spec: asked, Home: opts.Home, Executable: opts.Executable, Keep: opts.Keep, Began: time.Now().UTC(),
		Owner: procid.Self()}
	if err := writeJSON(dir, orderFile, o); err != nil {
		if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
			err = fmt.Errorf("%w. Free some space, or set PLIMSOLL_HOME to a directory on another disk", err)
		}
		return nil, errors.Join(fmt.Errorf("cannot write the specification of the lab: %w", err), os.RemoveAll(dir))
	}
	h := newHandle(dir)
	if err := start(h); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return h, nil
}

// nameInUse refuses a lab whose name another lab has.
func nameInUse(dir, name string) error {
	var s procid.ID
	if readJSON(dir, supervisorFile, &s) == nil && s.Alive() {
		return refuse("there is a lab %q already. Choose another name, or remove that lab: plimsoll lab down %s",
			name, name)
	}
	return refuse("a lab %q was not removed completely when its supervisor ended. Remove the rest of it: "+
		"plimsoll lab down %s", name, name)
}

// startSupervisor starts the supervisor in a session of its own, so that it outlives the terminal, and returns when the
// supervisor has locked the lab.
func (h *Handle) startSupervisor(ctx context.Context, opts Options) error {
	log, err := os.OpenFile(filepath.Join(h.dir, logFile), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	args := opts.Command
	if len(args) == 0 {
		args = []string{"lab-supervisor"}
	}
	cmd := childproc.Command(ctx, opts.Executable, append(args[:len(args):len(args)], h.dir)...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = "/", log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("cannot start the supervisor of the lab: %w", err)
	}
	// The process exists at least as a zombie. The supervisor writes the same when it has locked the lab. If this process
	// is killed before that, Down ends the supervisor by this file.
	if err := writeJSON(h.dir, supervisorFile, procid.Of(cmd.Process.Pid)); err != nil {
		process.KillTree(cmd.Process.Pid)
		_ = cmd.Wait() // it was killed
		return fmt.Errorf("cannot write %s: %w", supervisorFile, err)
	}
	ended := make(chan struct{})
	go func() { _ = cmd.Wait(); close(ended) }() // its log says why
	for limit := time.After(time.Minute); ; {
		if h.answers() {
			return nil
		}
		select {
		case <-ended:
			if exists(filepath.Join(h.dir, labFile)) { // it failed in order
				return nil
			}
			return fmt.Errorf("the supervisor of the lab ended at once%s", process.LogTail(log.Name()))
		case <-limit:
			process.KillTree(cmd.Process.Pid)
			return fmt.Errorf("the supervisor of the lab did not answer within a minute%s", process.LogTail(log.Name()))
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// answers says whether the supervisor listens. The socket's file is there a moment before that.
func (h *Handle) answers() bool {
	if !exists(filepath.Join(h.dir, socketFile)) {
		return false
	}
	c, err := dialIn(context.Background(), h.dir)
	if err != nil {
		return false
	}
	_ = c.Close()
	return true
}

// awaitUsable passes events to progress until the lab is up. The error says why it is not.
func (h *Handle) awaitUsable(ctx context.Context, progress func(record.LabEvent)) error {
	var seen int64
	answered := time.Now()
	for {
		events, err := h.Events(ctx, seen, longPoll)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err == nil {
			answered = time.Now()
		} else { // the supervisor is busy or has ended
			events = eventsAfter(filepath.Join(h.dir, eventsFile), seen)
		}
		for _, e := range events {
			seen = e.Seq
			if progress != nil {
				progress(e)
			}
		}
		if err != nil {
			if !h.lives() {
				return h.whyEnded()
			}
			if why := h.failedInFiles(); why != nil {
				return why
			}
			if time.Since(answered) > silentLimit {
				return fmt.Errorf("the supervisor of the lab %s runs but has not answered for %v: %w. "+
					"Remove the lab: plimsoll lab down %s", h.name, silentLimit, err, h.name)
			}
			time.Sleep(retryRequest)
			continue
		}
		l, err := h.Describe(ctx, false)
		switch {
		case err != nil: // the next request finds out
		case l.State == stateUp:
			return nil
		case l.State == stateFailed:
			return failed(l)
		case l.State != stateStarting:
			return fmt.Errorf("the lab %s was removed before it was usable", h.name)
		}
	}
}

func failed(l record.Lab) error {
	return fmt.Errorf("the lab %s did not become usable: %s", l.Name, l.Problem)
}

// lives says whether the process of the supervisor exists, even if it does not answer.
func (h *Handle) lives() bool {
	var s procid.ID
	return readJSON(h.dir, supervisorFile, &s) == nil && s.Alive()
}

// failedInFiles is the error that the supervisor wrote into the lab's file; nil if there is none.
func (h *Handle) failedInFiles() error {
	var l record.Lab
	if readJSON(h.dir, labFile, &l) == nil && l.State == stateFailed {
		return failed(l)
	}
	return nil
}

func (h *Handle) whyEnded() error {
	if why := h.failedInFiles(); why != nil {
		return why
	}
	if !exists(h.dir) {
		return fmt.Errorf("the lab %s was removed before it was usable", h.name)
	}
	return fmt.Errorf("the supervisor of the lab %s ended before the lab was usable%s", h.name,
		process.LogTail(filepath.Join(h.dir, logFile)))
}
