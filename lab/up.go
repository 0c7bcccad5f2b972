package lab

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/procid"
	"github.com/plimsoll-bench/plimsoll/lab/process"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// Options are the choices of [Up] besides the specification.
type Options struct {
	// Home is where engines are installed and labs are kept.
	Home string
	// Executable is the plimsoll that is started as the supervisor, with the arguments Command and the directory of the
	// lab. Command is "lab-supervisor" if empty.
	Executable string
	Command    []string
	// Progress is told what happens until the lab is usable; may be nil.
	Progress func(record.LabEvent)
	// Keep leaves a lab that failed as it is, to look at.
	Keep bool
}

// silentLimit is how long a supervisor that runs may leave questions without an answer while it makes a lab: a busy
// machine takes its time. askAgain is the pause between two questions.
const (
	silentLimit = 2 * time.Minute
	askAgain    = 100 * time.Millisecond
)

// downLimit bounds the removal of a lab that failed or was interrupted.
const downLimit = 2 * time.Minute

// Up makes a lab of a complete specification and returns when it is usable. A lab that fails is removed again, and so is one whose ctx ends before.
// The lab goes on when this program ends.
func Up(ctx context.Context, asked spec.Lab, opts Options) (*Handle, error) {
	p, err := Plan(ctx, opts.Home, asked)
	if err != nil {
		return nil, err
	}
	asked = p.Spec
	h, err := begin(asked, opts)
	if err != nil {
		return nil, err
	}
	err = h.awaitUsable(ctx, opts.Progress)
	if err == nil {
		return h, nil
	}
	_ = h.Close()
	if opts.Keep && ctx.Err() == nil {
		return nil, fmt.Errorf("%w\nit is kept as it is in %s; plimsoll lab down %s removes it", err, h.dir, asked.Name)
	}
	downCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), downLimit)
	defer cancel()
	return nil, errors.Join(err, Down(downCtx, opts.Home, asked.Name, opts.Progress))
}

// begin makes the directory of a lab and starts its supervisor.
func begin(asked spec.Lab, opts Options) (*Handle, error) {
	if err := os.MkdirAll(labsDir(opts.Home), 0o700); err != nil {
		return nil, fmt.Errorf("cannot make the directory of the labs: %w", err)
	}
	unlock, err := lock(lockName(opts.Home, asked.Name))
	if errors.Is(err, errBusy) {
		return nil, refuse("another plimsoll is making or removing a lab %q right now; give this one another name, or wait", asked.Name)
	}
	if err != nil {
		return nil, err
	}
	defer unlock()
	dir := Dir(opts.Home, asked.Name)
	if err := os.Mkdir(dir, 0o700); errors.Is(err, fs.ErrExist) {
		return nil, taken(dir, asked.Name)
	} else if err != nil {
		return nil, fmt.Errorf("cannot make the directory of the lab: %w", err)
	}
	o := order{Spec: asked, Home: opts.Home, Executable: opts.Executable, Keep: opts.Keep, Began: time.Now().UTC(), Owner: procid.Self()}
	if err := writeJSON(dir, orderFile, o); err != nil {
		if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
			err = fmt.Errorf("%w: make room, or let PLIMSOLL_HOME name a directory on another disk", err)
		}
		return nil, errors.Join(fmt.Errorf("cannot write what the lab is to be: %w", err), os.RemoveAll(dir))
	}
	h := newHandle(dir)
	if err := h.startSupervisor(opts); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return h, nil
}

// taken says what there is already under a name.
func taken(dir, name string) error {
	var s procid.ID
	if readJSON(dir, supervisorFile, &s) == nil && s.Alive() {
		return refuse("there is a lab %q already; give this one another name, or remove that one first: plimsoll lab down %s", name, name)
	}
	return refuse("there is what is left of a lab %q, whose supervisor is gone; remove it first: plimsoll lab down %s", name, name)
}

// startSupervisor starts the supervisor in a session of its own, so that it survives the terminal, and returns when it
// holds the lab.
func (h *Handle) startSupervisor(opts Options) error {
	log, err := os.OpenFile(filepath.Join(h.dir, logFile), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	args := opts.Command
	if len(args) == 0 {
		args = []string{"lab-supervisor"}
	}
	cmd := exec.Command(opts.Executable, append(args[:len(args):len(args)], h.dir)...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = "/", log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("cannot start the supervisor of the lab: %w", err)
	}
	// It is there at least as a zombie, and writes the same when it has the lab. Whoever removes the lab before, because this process was killed, ends it.
	if err := writeJSON(h.dir, supervisorFile, procid.Of(cmd.Process.Pid)); err != nil {
		process.KillTree(cmd.Process.Pid)
		_ = cmd.Wait() // it was killed
		return fmt.Errorf("cannot write down the supervisor of the lab: %w", err)
	}
	ended := make(chan struct{})
	go func() { _ = cmd.Wait(); close(ended) }() // how it ended is in its log
	for limit := time.After(time.Minute); ; {
		if h.answers() {
			return nil
		}
		select {
		case <-ended:
			if exists(filepath.Join(h.dir, labFile)) { // it got as far as failing in order
				return nil
			}
			return fmt.Errorf("the supervisor of the lab ended at once%s", process.LogTail(log.Name()))
		case <-limit:
			process.KillTree(cmd.Process.Pid)
			return fmt.Errorf("the supervisor of the lab did not come up within a minute%s", process.LogTail(log.Name()))
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// answers says whether somebody listens on the socket, which is there a moment before.
func (h *Handle) answers() bool {
	if !exists(filepath.Join(h.dir, socketFile)) {
		return false
	}
	c, err := dialIn(context.Background(), h.dir)
	if err != nil {
		return false
	}
	_ = c.Close() // it only asked
	return true
}

// awaitUsable tells progress until the lab is up, or returns why it is not.
func (h *Handle) awaitUsable(ctx context.Context, progress func(record.LabEvent)) error {
	var seen int64
	heard := time.Now()
	for {
		events, err := h.Events(ctx, seen, longPoll)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err == nil {
			heard = time.Now()
		} else { // it is busy, or has ended; its files say what happened
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
			if time.Since(heard) > silentLimit {
				return fmt.Errorf("the supervisor of the lab %s runs but has not answered for %v: %w; plimsoll lab down %s removes it", h.name, silentLimit, err, h.name)
			}
			time.Sleep(askAgain)
			continue
		}
		l, err := h.Describe(ctx, false)
		switch {
		case err != nil: // the next round finds out
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

// lives says whether the process that was written down as the supervisor is there, whether or not it answers.
func (h *Handle) lives() bool {
	var s procid.ID
	return readJSON(h.dir, supervisorFile, &s) == nil && s.Alive()
}

// failedInFiles is why a lab failed, as its supervisor wrote it down; nil if it did not.
func (h *Handle) failedInFiles() error {
	var l record.Lab
	if readJSON(h.dir, labFile, &l) == nil && l.State == stateFailed {
		return failed(l)
	}
	return nil
}

// whyEnded finds in the files of a lab why its supervisor ended.
func (h *Handle) whyEnded() error {
	if why := h.failedInFiles(); why != nil {
		return why
	}
	if !exists(h.dir) {
		return fmt.Errorf("the lab %s was removed before it was usable", h.name)
	}
	return fmt.Errorf("the supervisor of the lab %s ended before it was usable%s", h.name, process.LogTail(filepath.Join(h.dir, logFile)))
}
