package loop

import (
	"errors"
	"io"
	"net"
	"os"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/plimsoll-bench/plimsoll/internal/arrival"
)

// edge reports changes only, so that a wait needs no system call.
const edge = 0x80000000 // EPOLLET, whose constant in package unix is negative on some systems

// Conn is a connection whose task waits on the loop for data to read or for space to write. Only that task may use it.
type Conn struct {
	task          *Task
	fd            int
	local, remote net.Addr
	readable      bool // there may be data
	writable      bool
	hung          bool // the peer has closed it or it has failed: reads no longer wait
	readUntil     int64
	writeUntil    int64
	receiver      arrival.Receiver
	arrived       int64 // when the last byte of the last read arrived, in nanoseconds since base; [Never] if unknown
}

var _ net.Conn = (*Conn)(nil)

// Adopt moves a connection to the loop. No other goroutine may use nc afterwards. If Adopt fails, it does not change
// nc.
func (t *Task) Adopt(nc net.Conn) (*Conn, error) {
	fd, err := duplicate(nc)
	if err != nil {
		return nil, err
	}
	l := t.loop.Load()
	if err := l.watch(fd); err != nil {
		_ = unix.Close(fd)
		return nil, err
	}
	c := &Conn{task: t, fd: fd, local: nc.LocalAddr(), remote: nc.RemoteAddr(), writable: true, readUntil: Never,
		writeUntil: Never, arrived: Never}
	l.keep(c)
	_ = arrival.Stamp(fd) // if it fails, the arrival is unknown
	_ = nc.Close()        // closes the descriptor of the runtime's poller; the connection stays open
	return c, nil
}

// watch lets epoll report the events of a file descriptor. Any goroutine may call it.
func (l *Loop) watch(fd int) error {
	e := unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLOUT | unix.EPOLLRDHUP | edge, Fd: int32(fd)}
	return os.NewSyscallError("epoll_ctl", unix.EpollCtl(l.epoll, unix.EPOLL_CTL_ADD, fd, &e))
}

func (l *Loop) unwatch(fd int) {
	// A child that is being started may have a copy of the descriptor for a moment.
	_ = unix.EpollCtl(l.epoll, unix.EPOLL_CTL_DEL, fd, nil)
}

func (l *Loop) keep(c *Conn) {
	for c.fd >= len(l.conns) {
		l.conns = append(l.conns, make([]*Conn, c.fd+1)...)
	}
	l.conns[c.fd] = c
}

// duplicate makes a second file descriptor, which the runtime's poller does not watch.
func duplicate(nc net.Conn) (int, error) {
	sc, ok := nc.(syscall.Conn)
	if !ok {
		return -1, errors.New("it has no file descriptor for an event loop")
	}
	raw, err := sc.SyscallConn()
	if err != nil {
		return -1, err
	}
	fd := -1
	var dupErr error
	if err := raw.Control(func(old uintptr) { fd, dupErr = unix.FcntlInt(old, unix.F_DUPFD_CLOEXEC, 0) }); err != nil {
		return -1, err
	}
	return fd, os.NewSyscallError("dup", dupErr)
}

// note applies the events of epoll.
func (c *Conn) note(events uint32) {
	if events&(unix.EPOLLRDHUP|unix.EPOLLHUP|unix.EPOLLERR) != 0 {
		c.hung, c.readable, c.writable = true, true, true
	}
	c.readable = c.readable || events&unix.EPOLLIN != 0
	c.writable = c.writable || events&unix.EPOLLOUT != 0
}

// most is the largest transfer by a raw system call, which the runtime does not notice. The garbage collector would
// wait for a larger one.
const most = 64 << 10

// send is one send, which returns at once. It has a shorter path in the kernel than write.
func send(fd int, b []byte) (int, syscall.Errno) {
	const flags = unix.MSG_DONTWAIT | unix.MSG_NOSIGNAL
	for {
		var n uintptr
		var errno syscall.Errno
		at, size := uintptr(unsafe.Pointer(&b[0])), uintptr(len(b))
		if len(b) <= most {
			n, _, errno = syscall.RawSyscall6(unix.SYS_SENDTO, uintptr(fd), at, size, flags, 0, 0)
		} else {
			n, _, errno = syscall.Syscall6(unix.SYS_SENDTO, uintptr(fd), at, size, flags, 0, 0)
		}
		switch errno {
		case 0:
			return int(n), 0
		case syscall.EINTR:
		default:
			return 0, errno
		}
	}
}

// TryRead reads the available data. It returns 0 and no error if there are none.
func (c *Conn) TryRead(b []byte) (int, error) {
	if len(b) == 0 {
		return 0, nil
	}
	if c.fd < 0 {
		return 0, net.ErrClosed
	}
	n, stamp, errno := c.receiver.Receive(c.fd, b)
	c.arrived = c.task.loop.Load().since(stamp)
	switch {
	case errno == syscall.EAGAIN:
		c.readable = false
		return 0, nil
	case errno != 0:
		return 0, c.failure("read", errno)
	case n == 0:
		return 0, io.EOF
	case n < len(b): // all available data; later data are a new edge
		c.readable = c.hung
	}
	return n, nil
}

// Arrived returns when the last byte of the last read arrived; zero if that is unknown.
func (c *Conn) Arrived() time.Time {
	if c.arrived == Never {
		return time.Time{}
	}
	return c.task.loop.Load().base.Add(time.Duration(c.arrived))
}

// Read reads at least one byte, and waits for it until the deadline.
func (c *Conn) Read(b []byte) (int, error) {
	if len(b) == 0 {
		return 0, nil
	}
	for {
		if !c.readable && !c.wait(reading, c.readUntil) {
			return 0, os.ErrDeadlineExceeded
		}
		if n, err := c.TryRead(b); n > 0 || err != nil {
			return n, err
		}
	}
}

// Write writes all of b, and waits for space until the deadline.
func (c *Conn) Write(b []byte) (int, error) {
	done := 0
	for done < len(b) {
		if c.fd < 0 {
			return done, net.ErrClosed
		}
		if !c.writable && !c.wait(writing, c.writeUntil) {
			return done, os.ErrDeadlineExceeded
		}
		n, errno := send(c.fd, b[done:])
		if done += n; errno == syscall.EAGAIN {
			c.writable = false
		} else if errno != 0 {
			return done, c.failure("write", errno)
		}
	}
	return done, nil
}

// wait waits until the connection is ready, and returns false at the deadline.
func (c *Conn) wait(s state, until int64) bool {
	t := c.task
	t.conn = c
	return t.wait(s, until)
}

// failure is the error of a failed call in the form of package net.
func (c *Conn) failure(op string, errno syscall.Errno) error {
	return &net.OpError{Op: op, Net: c.remote.Network(), Source: c.local, Addr: c.remote,
		Err: os.NewSyscallError(op, errno)}
}

func (c *Conn) Close() error {
	if c.fd < 0 {
		return net.ErrClosed
	}
	l := c.task.loop.Load()
	l.conns[c.fd] = nil
	l.unwatch(c.fd)
	err := unix.Close(c.fd)
	c.fd, c.readable, c.writable = -1, true, true // ends waits
	return os.NewSyscallError("close", err)
}

func (c *Conn) LocalAddr() net.Addr  { return c.local }
func (c *Conn) RemoteAddr() net.Addr { return c.remote }

// SetDeadline sets the end of waits of reads and writes. A zero time is [Never].
func (c *Conn) SetDeadline(at time.Time) error {
	c.readUntil = nanos(c.task.loop.Load().base, at)
	c.writeUntil = c.readUntil
	return nil
}

func (c *Conn) SetReadDeadline(at time.Time) error {
	c.readUntil = nanos(c.task.loop.Load().base, at)
	return nil
}

func (c *Conn) SetWriteDeadline(at time.Time) error {
	c.writeUntil = nanos(c.task.loop.Load().base, at)
	return nil
}
