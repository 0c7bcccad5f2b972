package faultfs

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"time"
)

// listen makes the control socket, which only its owner can use. The socket gets its name when it accepts connections,
// so that a client that finds it can use it.
func listen(ctx context.Context, path string) (*net.UnixListener, error) {
	if info, err := os.Lstat(path); err == nil && info.Mode().Type() != os.ModeSocket {
		return nil, fmt.Errorf("%s exists and is not a socket", path)
	}
	dialCtx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	if _, err := Dial(dialCtx, path); err == nil {
		return nil, fmt.Errorf("another faultfs answers at %s already", path)
	}
	early := path + "~"
	if info, err := os.Lstat(early); err == nil { // of a faultfs that was killed before the rename
		if info.Mode().Type() != os.ModeSocket {
			return nil, fmt.Errorf("%s exists and is not a socket. Remove it, or use another --socket", early)
		}
		if err := os.Remove(early); err != nil {
			return nil, err
		}
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: early, Net: "unix"})
	if err != nil {
		return nil, fmt.Errorf("cannot create the control socket: %w", err)
	}
	l.SetUnlinkOnClose(false)
	if err := errors.Join(os.Chmod(early, 0o600), os.Rename(early, path)); err != nil {
		return nil, errors.Join(fmt.Errorf("cannot create the control socket: %w", err), l.Close())
	}
	return l, nil
}

// control answers commands until the listener is closed.
func (t *tree) control(l *net.UnixListener) {
	for {
		conn, err := l.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil { // no descriptor is free
			time.Sleep(10 * time.Millisecond)
			continue
		}
		go func() {
			defer conn.Close()
			t.serveConn(conn)
		}()
	}
}

// serveConn answers the lines of one connection.
func (t *tree) serveConn(conn io.ReadWriter) {
	in := bufio.NewReader(conn)
	for {
		var q request
		if err := readLine(in, &q); err != nil {
			if !connectionLost(err) {
				_ = writeLine(conn, reply{Error: "faultfs does not understand the request: " + err.Error()})
			}
			return
		}
		r, err := t.answer(q)
		if err != nil {
			r = reply{Error: err.Error()}
		}
		if writeLine(conn, r) != nil {
			return
		}
	}
}

func (t *tree) answer(q request) (reply, error) {
	switch q.Do {
	case "hello":
		return reply{Version: protocolVersion}, nil
	case "create":
		c := config{Cache: q.Cache}
		if q.Device != nil {
			c.Device = *q.Device
		}
		return reply{}, t.create(q.Disk, q.Size, c)
	case "remove":
		return reply{}, t.remove(q.Disk)
	case "set":
		return reply{}, t.set(q.Disk, q.Fault)
	case "clear":
		return reply{}, t.clear(q.Disk, q.Kinds)
	case "cut":
		if q.Cut == nil {
			q.Cut = &PowerCut{}
		}
		return reply{}, t.cut(q.Disk, *q.Cut)
	case "restore":
		return reply{}, t.clear(q.Disk, []string{Dead})
	case "stats":
		if q.Disk == "" {
			return reply{}, errors.New("stats needs the name of a disk")
		}
		return t.stats(q.Disk)
	case "list":
		return t.stats("")
	}
	return reply{}, fmt.Errorf("there is no command %q", q.Do)
}

// maxFaults bounds the faults of a disk, because every request checks each of them.
const maxFaults = 100

func (t *tree) set(name string, f *Fault) error {
	if f == nil {
		return errors.New("set needs a fault")
	}
	if err := f.Check(); err != nil {
		return err
	}
	if name == "" {
		return errors.New("set needs the name of a disk")
	}
	ds, err := t.disks(name)
	if err != nil {
		return err
	}
	if len(ds[0].faults.now.Load().list) >= maxFaults {
		return fmt.Errorf("disk %s has %d faults already. Clear some of them", name, maxFaults)
	}
	ds[0].faults.set(*f)
	return nil
}

func (t *tree) clear(name string, kinds []string) error {
	for _, k := range kinds {
		if err := checkKind(k); err != nil {
			return err
		}
	}
	ds, err := t.disks(name)
	for _, d := range ds {
		d.faults.clearKinds(kinds)
	}
	return err
}

func (t *tree) stats(name string) (reply, error) {
	ds, err := t.disks(name)
	r := reply{Stats: []Stats{}}
	for _, d := range ds {
		r.Stats = append(r.Stats, d.stats())
	}
	return r, err
}
