package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/plimsoll-bench/plimsoll/lab/faultfs"
)

// roleFaults is the role of a faultfs process. It ends with its standard input.
const roleFaults = "faults"

// fixedDevice is a disk whose latencies are much longer than the work of the machine for a request, so other load of
// the machine does not change them.
var fixedDevice = faultfs.Device{
	ReadLatency: 2 * time.Millisecond, WriteLatency: 2 * time.Millisecond, FlushLatency: 3 * time.Millisecond,
	Parallel: 64, Protected: true,
}

// fixedMount is a filesystem on a virtual disk with fixed latencies.
type fixedMount struct {
	faultsProcess
	dir, loop string
}

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

// fewestPairs is the fewest pairs that give an interval of 95 % around a median.
const fewestPairs = 6

// fixedDisk makes the comparisons on a disk with fixed latencies. Durable writes are compared with one thread only:
// during a flush the kernel joins all further flushes to the next one. Several writers then get into one of several
// rhythms, which depends on when they began: four of them make 4 writes in 5 to 8 ms here, with fio and the probe
// alike.
func fixedDisk(ctx context.Context, w io.Writer, c config) (err error) {
	if runtime.GOOS != "linux" || os.Getuid() != 0 {
		fmt.Fprintln(w, "  a disk with fixed latencies: not measured, because it needs Linux and root")
		return nil
	}
	m := &fixedMount{}
	defer func() { err = errors.Join(err, m.remove()) }()
	if err := m.make(ctx); err != nil {
		return fmt.Errorf("make a disk with fixed latencies: %w", err)
	}
	d := fixedDevice
	return diskCompare(ctx, w, diskPlace{
		dir: m.dir, pairs: max(fewestPairs, 2*c.rounds), readers: []int{1, 4}, writers: []int{1},
		name: fmt.Sprintf("ext4 on a virtual disk (read %s, write %s, flush %s)",
			d.ReadLatency, d.WriteLatency, d.FlushLatency),
	})
}

func (m *fixedMount) make(ctx context.Context) (err error) {
	if err := m.start(ctx); err != nil {
		return err
	}
	if m.loop, err = m.attach(ctx, "fixed", 1<<30, fixedDevice); err != nil {
		return err
	}
	if _, err := tool(ctx, "mkfs.ext4", "-q", "-E", "lazy_itable_init=0,lazy_journal_init=0", m.loop); err != nil {
		return err
	}
	dir := filepath.Join(m.base, "mnt")
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	if _, err = tool(ctx, "mount", m.loop, dir); err == nil {
		m.dir = dir
	}
	return err
}

// remove also works after a make that failed or was interrupted.
func (m *fixedMount) remove() (failed error) {
	ctx := context.Background()
	if m.dir != "" {
		_, err := tool(ctx, "umount", m.dir)
		failed = errors.Join(failed, err)
	}
	if m.loop != "" {
		_, err := tool(ctx, "losetup", "--detach", m.loop)
		failed = errors.Join(failed, err)
	}
	return errors.Join(failed, m.stop())
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
