package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/plimsoll-bench/plimsoll/lab/faultfs"
)

// roleFaults is the role of a faultfs process. It ends with its standard input.
const roleFaults = "faults"

// faultsProcess is a faultfs in a separate process, with its files in a scratch directory.
type faultsProcess struct {
	base   string
	cmd    *exec.Cmd
	end    io.Closer
	client *faultfs.Client
}

// start starts the process and waits until it answers.
func (p *faultsProcess) start(ctx context.Context) (err error) {
	if p.base, err = scratchIn(""); err != nil {
		return err
	}
	cmd, err := child(ctx, roleFaults, p.base)
	if err != nil {
		return err
	}
	if p.end, err = cmd.StdinPipe(); err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	p.cmd = cmd
	wait, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	p.client, err = faultfs.DialWait(wait, faultsIn(p.base).Socket)
	return err
}

// attach makes a virtual disk and a loop device above it.
func (p *faultsProcess) attach(ctx context.Context, name string, size int64, d faultfs.Device) (
	loop string, err error) {
	if err := p.client.Create(ctx, name, size, d, nil); err != nil {
		return "", err
	}
	return tool(ctx, "losetup", "--find", "--show", "--direct-io=on", filepath.Join(faultsIn(p.base).Mount, name))
}

// stop also works after a start that failed.
func (p *faultsProcess) stop() (failed error) {
	if p.cmd != nil {
		failed = p.end.Close()
		_ = p.cmd.Wait() // its exit code does not matter
	}
	if p.base != "" {
		failed = errors.Join(failed, os.RemoveAll(p.base))
	}
	return failed
}

// tool runs a program and returns what it prints.
func tool(ctx context.Context, name string, args ...string) (string, error) {
	out, err := exec.CommandContext(ctx, name, args...).CombinedOutput()
	text := strings.TrimSpace(string(out))
	if err != nil {
		return "", fmt.Errorf("%s %v: %w: %s", name, args, err, text)
	}
	return text, nil
}

func faultsIn(base string) faultfs.Options {
	return faultfs.Options{
		Data: filepath.Join(base, "data"), Mount: filepath.Join(base, "disks"), Socket: filepath.Join(base, "socket"),
	}
}

// playFaults serves virtual disks until standard input ends.
func playFaults(base string) error {
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin) // ends with the parent
		cancel()
	}()
	return faultfs.Serve(ctx, faultsIn(base))
}
