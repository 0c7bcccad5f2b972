package arrival

import (
	"io"
	"net"
	"os"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Stamp makes the kernel stamp the data that arrive for a socket.
func Stamp(fd int) error { return unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_TIMESTAMPNS, 1) }

// Receiver reads from sockets. It has the memory for the system call, so that a read allocates nothing.
type Receiver struct {
	header  unix.Msghdr
	vector  unix.Iovec
	control [64]byte
}

// most is the largest read by a raw system call, which the runtime does not notice. The garbage collector would wait
// for a larger one.
const most = 64 << 10

// Receive reads available data without waiting, and returns the wall time in nanoseconds since 1970 at which the last
// of them arrived, 0 if it is unknown. b must not be empty.
func (r *Receiver) Receive(fd int, b []byte) (n int, stamp int64, errno syscall.Errno) {
	r.vector.Base = &b[0]
	r.vector.SetLen(len(b))
	r.header.Iov, r.header.Control = &r.vector, &r.control[0]
	r.header.SetIovlen(1)
	socket, header := uintptr(fd), unsafe.Pointer(&r.header)
	for {
		r.header.SetControllen(len(r.control))
		var got uintptr
		if len(b) <= most {
			got, _, errno = syscall.RawSyscall(unix.SYS_RECVMSG, socket, uintptr(header), unix.MSG_DONTWAIT)
		} else {
			got, _, errno = syscall.Syscall(unix.SYS_RECVMSG, socket, uintptr(header), unix.MSG_DONTWAIT)
		}
		switch errno {
		case 0:
			r.vector.Base = nil
			return int(got), r.stamp(), 0
		case syscall.EINTR:
		default:
			r.vector.Base = nil
			return 0, 0, errno
		}
	}
}

// stamp is the time in the control message.
func (r *Receiver) stamp() int64 {
	head := (*unix.Cmsghdr)(unsafe.Pointer(&r.control[0]))
	at := unix.CmsgLen(0)
	if int(r.header.Controllen) < at+int(unsafe.Sizeof(unix.Timespec{})) || head.Level != unix.SOL_SOCKET ||
		head.Type != unix.SO_TIMESTAMPNS {
		return 0
	}
	return (*unix.Timespec)(unsafe.Pointer(&r.control[at])).Nano()
}

// Conn is a connection whose goroutine waits in Read. One goroutine at a time may read.
type Conn struct {
	*net.TCPConn
	raw      syscall.RawConn
	request  atomic.Uint32 // the latest message that was written
	arrived  time.Time
	receiver Receiver
	receive  func(fd uintptr) bool
	b        []byte // the current read
	n        int
	stamp    int64
	errno    syscall.Errno
}

func wrap(nc *net.TCPConn) *Conn {
	raw, err := nc.SyscallConn()
	if err != nil {
		return nil
	}
	failed := raw.Control(func(fd uintptr) { err = Stamp(int(fd)) })
	if err != nil || failed != nil {
		return nil
	}
	c := &Conn{TCPConn: nc, raw: raw}
	c.receive = func(fd uintptr) bool {
		c.n, c.stamp, c.errno = c.receiver.Receive(int(fd), c.b)
		return c.errno != syscall.EAGAIN
	}
	return c
}

// Arrived returns when the last byte of the last read arrived, with a reading of the monotonic clock; zero if that is
// unknown.
func (c *Conn) Arrived() time.Time { return c.arrived }

func (c *Conn) Read(b []byte) (int, error) {
	if len(b) == 0 {
		return 0, nil
	}
	c.b, c.arrived = b, time.Time{}
	err := c.raw.Read(c.receive)
	c.b = nil
	switch {
	case err != nil:
		return 0, err
	case c.errno != 0:
		return 0, &net.OpError{Op: "read", Net: "tcp", Source: c.LocalAddr(), Addr: c.RemoteAddr(),
			Err: os.NewSyscallError("recvmsg", c.errno)}
	case c.n == 0:
		return 0, io.EOF
	case c.stamp == 0:
		return c.n, nil
	}
	now := time.Now()
	delay := max(0, time.Duration(now.UnixNano()-c.stamp))
	c.arrived = now.Add(-delay)
	if r := c.request.Load(); r != 0 {
		remember(r, delay)
	}
	return c.n, nil
}

func (c *Conn) Write(b []byte) (int, error) {
	c.request.Store(requestOf(b))
	return c.TCPConn.Write(b)
}

// WriteTo hides the method of the TCP connection, which does not know the arrival.
func (c *Conn) WriteTo(w io.Writer) (int64, error) { return io.Copy(w, struct{ io.Reader }{c}) }
