package volume

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/plimsoll-bench/plimsoll/lab/faultfs"
	"github.com/plimsoll-bench/plimsoll/lab/journal"
	"github.com/plimsoll-bench/plimsoll/lab/process"
)

// server is the program that serves the disks of one disk group, where they have to be slow, lie or lose power.
type server struct {
	client  *faultfs.Client
	mount   string
	process *process.Process
	log     *os.File
	entries []parent // in the journal, in the order in which they were made
}

// startTime is how long the program may take until it answers.
const startTime = 60 * time.Second

// serverOf starts the server of a disk group when it is needed first.
func (m *Maker) serverOf(ctx context.Context, host string) (*server, error) {
	m.mu.Lock()
	g := m.groups[host]
	m.mu.Unlock()
	if g.server != nil {
		return g.server, nil
	}
	s := &server{}
	if err := m.startServer(ctx, s, host); err != nil {
		return nil, errors.Join(fmt.Errorf("cannot serve the disks of %s: %w", host, err), s.close(context.WithoutCancel(ctx), m.o.Journal))
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
	args := append(append([]string{}, m.o.Faultfs[1:]...), "--dir", filepath.Join(dir, "data"), "--mount", s.mount, "--socket", socket)
	if s.process, err = process.Start(process.Spec{Role: "faultfs", Path: m.o.Faultfs[0], Args: args, Log: s.log}); err != nil {
		return err
	}
	err = m.o.Journal.Note(id, map[string]string{"pid": strconv.Itoa(s.process.PID), "born": strconv.FormatUint(s.process.Born, 10)})
	if err != nil {
		return err
	}
	return s.dial(ctx, socket)
}

// dial waits until the server answers or has ended.
func (s *server) dial(ctx context.Context, socket string) error {
	ctx, cancel := context.WithTimeout(ctx, startTime)
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

// close ends the server; its disks are gone by then.
func (s *server) close(ctx context.Context, j *journal.Journal) error {
	if s.process != nil {
		ending, cancel := context.WithTimeout(ctx, settled)
		_ = s.process.End(ending, syscall.SIGTERM) // one that had to be killed has ended too
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

func isFaultfs(m mounted) error {
	if m.kind != faultfs.FSType {
		return fmt.Errorf("%s is mounted at %s, and this lab did not do that: unmount it by hand", m.kind, m.point)
	}
	return nil
}

// closeGroups ends the servers of all disk groups.
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

// deviceOf is how fast the disks of the policy are.
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

// power makes a disk answer or not.
func (s *server) power(ctx context.Context, d *disk, on bool) error {
	if on {
		return s.client.Clear(ctx, filepath.Base(d.file), faultfs.Dead)
	}
	return s.client.Set(ctx, filepath.Base(d.file), faultfs.Fault{Kind: faultfs.Dead})
}

func (s *server) remove(ctx context.Context, d *disk) error {
	return s.client.Remove(ctx, filepath.Base(d.file))
}

// FaultDisk returns the control over a disk that stands on the fault filesystem, and its name there.
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
		return nil, "", fmt.Errorf("disk %s of volume %s is plain: storage faults: true makes disks that can do this", disk, volume)
	}
	return d.server.client, filepath.Base(d.file), nil
}

// removeServer ends a server that was left behind.
func removeServer(_ context.Context, r journal.Resource) error {
	pid, _ := strconv.Atoi(r.Details["pid"])
	born, _ := strconv.ParseUint(r.Details["born"], 10, 64)
	if pid == 0 || born == 0 || !process.Alive(pid, born) {
		return nil // it was not started, or ended with its parent
	}
	process.KillTree(pid)
	return process.Gone(map[int]uint64{pid: born}, settled)
}

func removeFaultfs(ctx context.Context, r journal.Resource) error {
	return unmount(ctx, r.Name, isFaultfs)
}
