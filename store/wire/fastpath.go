package wire

import (
	"io"
	"net"
	"syscall"

	"github.com/plimsoll-bench/plimsoll/store"
)

// fastPath sends a request and reads its answer on a plain TCP connection without the read that would
// find nothing yet: after a write the runtime's connection first tries to read, which costs a system
// call and nearly always fails, and only then waits. Here the request is written from within the
// wait-for-reading loop of [syscall.RawConn], so the first read happens when there is something to
// read. The deadline of the connection holds all the same.
type fastPath struct {
	raw     syscall.RawConn
	step    func(fd uintptr) bool
	drain   func(fd uintptr) bool
	msg     []byte // still to be written, nil afterwards
	buf     []byte
	began   bool
	written int
	read    int
	err     error
}

// newFastPath returns nil where the connection has no file descriptor of its own.
func newFastPath(nc net.Conn) *fastPath {
	c, ok := nc.(*net.TCPConn)
	if !ok {
		return nil
	}
	raw, err := c.SyscallConn()
	if err != nil {
		return nil
	}
	f := &fastPath{raw: raw}
	f.step, f.drain = f.once, f.look // made once: a method value allocates
	return f
}

// once writes the message at the first call and asks to be called again when there is something to
// read. A message that does not fit into the socket's buffer is left to the ordinary path.
func (f *fastPath) once(fd uintptr) bool {
	if !f.began {
		f.began = true
		f.written, f.err = ignoringInterrupts(syscall.Write, int(fd), f.msg)
		return f.err != nil || f.written < len(f.msg)
	}
	f.read, f.err = ignoringInterrupts(syscall.Read, int(fd), f.buf)
	return f.err != syscall.EAGAIN
}

// look reads what is there and does not wait.
func (f *fastPath) look(fd uintptr) bool {
	f.read, f.err = ignoringInterrupts(syscall.Read, int(fd), f.buf)
	return true
}

// drain throws away the answers to messages that asked for none. What it leaves of the last one is held.
// An end of the connection is left for the next write to find.
func (l *link) drain() fault {
	f := l.fast
	for {
		*f = fastPath{raw: f.raw, step: f.step, drain: f.drain, buf: l.space(0, l.held, l.held+firstBuffer)}
		if err := f.raw.Read(f.drain); err != nil || f.err != nil || f.read == 0 {
			return fault{}
		}
		for l.held += f.read; l.held >= headerLen; {
			h, err := parseHeader(l.replies[0], maxMessageLimit)
			if err != nil || !l.stale(h) {
				return fault{err: errUnasked, why: store.Protocol}
			}
			if h.length > l.held {
				break
			}
			l.held = copy(l.replies[0], l.replies[0][h.length:l.held])
		}
	}
}

func ignoringInterrupts(call func(int, []byte) (int, error), fd int, b []byte) (int, error) {
	for {
		n, err := call(fd, b)
		if err != syscall.EINTR {
			return max(n, 0), err
		}
	}
}

// fastTrip writes msg and reads the first part of the answer into reply buffer slot, behind the held bytes
// that are there already.
func (l *link) fastTrip(msg []byte, slot, held int) (int, fault) {
	f := l.fast
	*f = fastPath{raw: f.raw, step: f.step, drain: f.drain, msg: msg, buf: l.space(slot, held, held+firstBuffer)}
	err := f.raw.Read(f.step)
	if f.written < len(msg) {
		if f.err == syscall.EAGAIN || f.err == nil && err == nil {
			return 0, l.write(msg[f.written:])
		}
		if err == nil {
			err = f.err
		}
		return 0, l.fault(err, f.written > 0)
	}
	if err == nil && f.err == nil && f.read == 0 {
		return 0, l.fault(io.EOF, true)
	}
	if err == nil {
		err = f.err
	}
	if err != nil {
		return 0, l.fault(err, true)
	}
	return f.read, fault{}
}
