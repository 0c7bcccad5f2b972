package wire

import (
	"fmt"
	"net"
	"syscall"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/arrival"
	"github.com/plimsoll-bench/plimsoll/internal/loop"
	"github.com/plimsoll-bench/plimsoll/store"
)

// socket is the connection below the messages and TLS. First it blocks its goroutine during dialing, the TLS handshake
// and authentication, which may take long. Then it may move to an event loop.
type socket struct{ net.Conn }

// arrived returns when the last byte of the last read arrived, zero if that is unknown.
func (s *socket) arrived() time.Time {
	switch c := s.Conn.(type) {
	case *loop.Conn:
		return c.Arrived()
	case *arrival.Conn:
		return c.Arrived()
	}
	return time.Time{}
}

// tryRead reads available data without waiting. It returns 0 if there are none, or if that is not known.
func (s *socket) tryRead(b []byte) (n int, err error) {
	switch c := s.Conn.(type) {
	case *loop.Conn:
		return c.TryRead(b)
	case syscall.Conn:
		raw, err := c.SyscallConn()
		if err != nil {
			return 0, err
		}
		failed := raw.Read(func(fd uintptr) bool {
			n, err = syscall.Read(int(fd), b)
			return true
		})
		if err == syscall.EAGAIN || err == syscall.EINTR {
			n, err = 0, nil
		}
		if err == nil {
			err = failed
		}
		return max(n, 0), err
	}
	return 0, nil
}

// moveTo makes the link wait on the loop of a task.
func (l *link) moveTo(t *loop.Task) error {
	c, err := t.Adopt(l.under.Conn)
	if err != nil {
		return fmt.Errorf("the connection to %s cannot be used on an event loop: %w", l.addr, err)
	}
	l.under.Conn = c
	l.armed = time.Time{} // the new connection has no deadline
	return nil
}

// drain discards the replies to messages without a reply. l.held is the rest of an incomplete one. The next write
// reports an end of the connection.
func (l *link) drain() fault {
	for {
		n, err := l.under.tryRead(l.space(0, l.held, l.held+firstBuffer))
		if err != nil || n == 0 {
			return fault{}
		}
		for l.held += n; l.held >= headerLen; {
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
