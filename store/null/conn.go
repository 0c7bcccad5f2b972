package null

import (
	"encoding/binary"
	"io"
	"net"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/arrival"
)

// conn serves the requests of one connection in order, like a real server.
type conn struct {
	s     *server
	nc    net.Conn
	id    int
	since time.Time // when it was opened
	timer sleeper

	in         []byte // in[start:end] was read and not used yet
	start, end int
	out        []byte
	req        request
}

// readBuffer is large enough for a point operation with YCSB's record; larger messages grow it.
const readBuffer = 16 << 10

func (c *conn) run() {
	defer c.s.forget(c)
	defer c.timer.close()
	defer c.nc.Close()
	c.in = make([]byte, readBuffer)
	for {
		msg, err := c.next()
		if err != nil {
			return
		}
		if c.s.opts.Capture != nil {
			c.s.opts.Capture(c.id, msg)
		}
		if !c.req.parse(msg) || !c.handle() {
			return
		}
	}
}

// next returns the next message, valid until the next call.
func (c *conn) next() ([]byte, error) {
	if err := c.fill(headerSize); err != nil {
		return nil, err
	}
	size := int(int32(binary.LittleEndian.Uint32(c.in[c.start:])))
	if size < headerSize || size > maxMessage {
		return nil, io.ErrUnexpectedEOF
	}
	if err := c.fill(size); err != nil {
		return nil, err
	}
	msg := c.in[c.start : c.start+size]
	c.start += size
	return msg, nil
}

// fill reads until the buffer has at least n unused bytes.
func (c *conn) fill(n int) error {
	if c.end-c.start >= n {
		return nil
	}
	if c.start > 0 {
		copy(c.in, c.in[c.start:c.end])
		c.start, c.end = 0, c.end-c.start
	}
	if n > len(c.in) {
		c.in = append(c.in, make([]byte, n-len(c.in))...)
	}
	for c.end < n {
		got, err := c.nc.Read(c.in[c.end:])
		c.end += got
		if err != nil && c.end < n {
			return err
		}
	}
	return nil
}

// handle answers the parsed request and reports whether the connection stays open.
func (c *conn) handle() bool {
	if c.lost() {
		return c.hang()
	}
	if c.req.cmd.operation() {
		return c.operation()
	}
	if len(c.s.opts.Stalls) > 0 && c.s.began.Load() != nil {
		c.wait(c.s.stalled(time.Now()))
	}
	return c.reply(nil)
}

// lost reports whether nothing arrives any more on the connection.
func (c *conn) lost() bool {
	began := c.s.began.Load()
	if began == nil {
		return false
	}
	for _, w := range c.s.opts.Holes {
		if time.Since(*began) >= w.From && c.since.Sub(*began) < w.To {
			return true
		}
	}
	return false
}

// hang answers nothing until the client closes the connection.
func (c *conn) hang() bool {
	_, _ = io.Copy(io.Discard, c.nc) // ends with the connection
	return false
}

// wait returns at the given time, or soon after the responder was closed.
func (c *conn) wait(at time.Time) {
	for time.Until(at) > closeCheck && !c.s.closing.Load() {
		c.timer.until(time.Now().Add(closeCheck))
	}
	if !c.s.closing.Load() {
		c.timer.until(at)
	}
}

// closeCheck is the longest that a wait continues after the responder was closed.
const closeCheck = 100 * time.Millisecond

// stalled returns the end of the stall that includes at, or at.
func (s *server) stalled(at time.Time) time.Time {
	began := s.begin()
	since := at.Sub(began)
	for _, w := range s.opts.Stalls {
		since = w.postpone(since)
	}
	return began.Add(since)
}

// operation answers one operation after its service time.
func (c *conn) operation() bool {
	s := c.s
	n := s.requests.Add(1) - 1
	var arrived time.Time
	if s.opts.timed() {
		arrived = c.arrival()
		c.wait(s.due(n, arrived))
		if len(s.opts.Stalls) > 0 {
			c.wait(s.stalled(time.Now())) // a stall may have begun if it woke up late
		}
	} else if len(s.opts.Outages) > 0 {
		s.begin()
	}
	if c.lost() { // the hole may have begun during the wait
		return c.hang()
	}
	var failure *Failure
	if s.opts.Fail != nil {
		failure = s.opts.Fail(n, c.req.commandName())
	}
	if failure == nil {
		failure = s.role.Load().refuse(&c.req)
	}
	if s.opts.Observe != nil {
		s.opts.Observe(n, arrived, time.Now())
	}
	return c.reply(failure)
}

// arrival returns when the latest data arrived, which is now if that is unknown.
func (c *conn) arrival() time.Time {
	if known, ok := c.nc.(*arrival.Conn); ok {
		if at := known.Arrived(); !at.IsZero() {
			return at
		}
	}
	return time.Now()
}

// reply sends the canned reply, or fails as failure says. It reports whether the connection stays open.
func (c *conn) reply(failure *Failure) bool {
	if failure != nil {
		return c.fail(failure)
	}
	if c.req.silent {
		return true
	}
	c.out = c.s.answer(c.out[:0], &c.req)
	_, err := c.nc.Write(c.out)
	return err == nil
}

func (c *conn) fail(f *Failure) bool {
	switch f.Form {
	case DropConnection:
		reset(c.nc)
		return false
	case NoAnswer:
		return c.hang()
	}
	if c.req.silent {
		return true
	}
	c.out = openReply(c.out[:0], &c.req)
	c.out = closeReply(append(c.out, f.document()...), 0)
	_, err := c.nc.Write(c.out)
	return err == nil
}

// refuse returns the failure of a request to a member that is not the primary, nil if the member serves it.
func (r *roleState) refuse(req *request) *Failure {
	if r.primary() || (req.secondaryOk && !req.cmd.write()) {
		return nil
	}
	if req.cmd.write() {
		return &Failure{Code: 10107, Name: "NotWritablePrimary", Message: "not primary",
			Labels: []string{"RetryableWriteError"}}
	}
	return &Failure{Code: 13435, Name: "NotPrimaryNoSecondaryOk", Message: "not primary and secondaryOk=false"}
}
