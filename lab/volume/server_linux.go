package volume

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/mountinfo"
	"github.com/plimsoll-bench/plimsoll/lab/faultfs"
	"github.com/plimsoll-bench/plimsoll/lab/journal"
	"github.com/plimsoll-bench/plimsoll/lab/process"
)

// server is the process of the fault filesystem that serves the disks of one disk group.
type server struct {
	client  *faultfs.Client
	mount   string
	process *process.Process
	log     *os.File
	entries []parent // of the journal, in the order of creation
}

// startLimit is how long the fault filesystem may take to answer after its start.
const startLimit = 60 * time.Second

// serverOf returns the server of a disk group, and starts it if there is none.
func (m *Maker) serverOf(ctx context.Context, host string) (*server, error) {
	m.mu.Lock()
	g := m.groups[host]
	m.mu.Unlock()
	if g.server != nil {
		return g.server, nil
	}
	s := &server{}
	if err := m.startServer(ctx, s, host); err != nil {
		return nil, errors.Join(fmt.Errorf("cannot serve the disks of %s: %w", host, err),
			s.close(context.WithoutCancel(ctx), m.o.Journal))
	}
	m.mu.Lock()
	g.server = s
	m.mu.Unlock()
	return s, nil
}

func (m *Maker) startServer(ctx context.Context, s *server, host string) error {
	dir := filepath.Join(m.base, "disks", "group-"+host)
	s.mount = filepath.Join(dir, "mount")
	socket := filepath.Join(dir, "socket")
	id, err := m.makeDir(kindDirectory, dir, 0o700)
	if id != 0 {
		s.entries = append(s.entries, parent{dir, id})
	}
	if err != nil {
		return err
	}
	if err := errors.Join(os.Mkdir(s.mount, 0o700), os.Mkdir(filepath.Join(dir, "data"), 0o700)); err != nil {
		return err
	}
	if id, err = m.o.Journal.Add(kindFaultfs, s.mount, nil); err != nil {
		return err
	}
	s.entries = append(s.entries, parent{s.mount, id})
	if s.log, err = os.OpenFile(filepath.Join(dir, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600); err != nil {
		return err
	}
	if id, err = m.o.Journal.Add(kindServer, "faultfs of "+host, nil); err != nil {
		return err
	}
	s.entries = append(s.entries, parent{"", id})
	args := slices.Concat(m.o.Faultfs[1:],
		[]string{"--dir", filepath.Join(dir, "data"), "--mount", s.mount, "--socket", socket})
	s.process, err = process.Start(ctx, process.Spec{Role: "faultfs", Path: m.o.Faultfs[0], Args: args, Log: s.log})
	if err != nil {
		return err
	}
	details := map[string]string{"pid": strconv.Itoa(s.process.PID), "born": strconv.FormatUint(s.process.Born, 10)}
	if err := m.o.Journal.Note(id, details); err != nil {
		return err
	}
	return s.dial(ctx, socket)
}

// dial waits until the server answers or has ended.
func (s *server) dial(ctx context.Context, socket string) error {
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	go func() {
		select {
		case <-s.process.Done:
			cancel()
		case <-ctx.Done():
		}
	}()
	var err error
	if s.client, err = faultfs.DialWait(ctx, socket); err != nil {
		return fmt.Errorf("%w%s", err, process.LogTail(s.log.Name()))
	}
	return nil
}

// close ends the server, whose disks are removed already.
func (s *server) close(ctx context.Context, j *journal.Journal) error {
	if s.process != nil {
		ending, cancel := context.WithTimeout(ctx, releaseLimit)
		_ = s.process.End(ending, syscall.SIGTERM) // an error means that it was killed
		cancel()
	}
	if s.log != nil {
		s.log.Close()
	}
	for len(s.entries) > 0 {
		e := s.entries[len(s.entries)-1]
		var err error
		switch e.path {
		case "": // the process
		case s.mount:
			err = unmount(ctx, s.mount, isFaultfs)
		default:
			err = process.RemoveTree(e.path)
		}
		if err == nil {
			err = j.Gone(e.id)
		}
		if err != nil {
			return err
		}
		s.entries = s.entries[:len(s.entries)-1]
	}
	return nil
}

func isFaultfs(m mountinfo.Mount) error {
	if m.Type != faultfs.FSType {
		return fmt.Errorf("%s is mounted at %s, but not by this lab. Unmount it by hand", m.Type, m.Point)
	}
	return nil
}

func (m *Maker) closeGroups(ctx context.Context) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	var all error
	for _, g := range m.groups {
		if g.server == nil {
			continue
		}
		if err := g.server.close(ctx, m.o.Journal); err != nil {
			all = errors.Join(all, err)
			continue
		}
		g.server = nil
	}
	return all
}

// serveFile makes a disk on the server of its disk group.
func (m *Maker) serveFile(ctx context.Context, d *disk, name string) error {
	device, cache, err := m.deviceOf()
	if err != nil {
		return err
	}
	s, err := m.serverOf(ctx, d.host)
	if err != nil {
		return err
	}
	if err := s.client.Create(ctx, name, m.scheme.nominalSize(), device, cache); err != nil {
		return err
	}
	d.server, d.file = s, filepath.Join(s.mount, name)
	fi, err := os.Lstat(d.file)
	if err != nil {
		return err
	}
	d.backing = backing{path: d.file, id: fileID(fi)}
	return nil
}

// deviceOf returns the speed of the policy's disks.
func (m *Maker) deviceOf() (d faultfs.Device, c *faultfs.Cache, err error) {
	p := m.o.Policy
	if p.Device != "" {
		if d, err = faultfs.Class(p.Device); err != nil {
			return d, nil, err
		}
	}
	if p.Cache != nil {
		c = &faultfs.Cache{Size: int64(p.Cache.Size)}
		c.Device, err = faultfs.Class(p.Cache.Device)
	}
	return d, c, err
}

// power makes a disk answer or fail.
func (s *server) power(ctx context.Context, d *disk, on bool) error {
	if on {
		return s.client.Clear(ctx, filepath.Base(d.file), faultfs.Dead)
	}
	return s.client.Set(ctx, filepath.Base(d.file), faultfs.Fault{Kind: faultfs.Dead})
}

func (s *server) remove(ctx context.Context, d *disk) error {
	return s.client.Remove(ctx, filepath.Base(d.file))
}

// FaultDisk returns a client of the fault filesystem that serves a disk, and the disk's name there.
func (m *Maker) FaultDisk(volume, disk string) (c *faultfs.Client, name string, err error) {
	m.mu.Lock()
	v, _ := m.made[volume].(*blocks)
	m.mu.Unlock()
	if v == nil {
		return nil, "", fmt.Errorf("there is no volume %s with disks", volume)
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	d, err := v.find(disk)
	if err != nil {
		return nil, "", err
	}
	if d.server == nil {
		return nil, "", fmt.Errorf("disk %s of volume %s is a plain disk. Use storage: faults: true", disk, volume)
	}
	return d.server.client, filepath.Base(d.file), nil
}

// removeServer ends a server whose lab was killed.
func removeServer(_ context.Context, r journal.Resource) error {
	pid, _ := strconv.Atoi(r.Details["pid"])
	born, _ := strconv.ParseUint(r.Details["born"], 10, 64)
	if pid == 0 || born == 0 || !process.Alive(pid, born) {
		return nil // it was not started, or has ended with its parent
	}
	process.KillTree(pid)
	return process.Gone(map[int]uint64{pid: born}, releaseLimit)
}

func removeFaultfs(ctx context.Context, r journal.Resource) error {
	return unmount(ctx, r.Name, isFaultfs)
}
