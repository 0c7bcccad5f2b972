package wire

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
	"time"

	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"

	"github.com/plimsoll-bench/plimsoll/internal/rawbson"
	"github.com/plimsoll-bench/plimsoll/store"
	"github.com/plimsoll-bench/plimsoll/workload"
)

const (
	firstBuffer = 2 << 10 // a reply with a record of 1 KB fits, and ten thousand connections need little memory
	// growStep bounds the growth of a reply buffer beyond the received bytes, so that a false length costs no memory.
	growStep = 1 << 20
)

// link is one connection to one server. One goroutine at a time uses it. It is closed after any fault, because the next
// reply on it could belong to an earlier request.
type link struct {
	nc       net.Conn
	under    *socket // nc, or the socket below its TLS
	addr     string
	secure   bool
	greeting *greeting
	shape    shape
	use      *shape // of the current request
	shapes   map[*workload.Concern]*shape
	ids      *objectIDs // the session's
	causal   *causal    // the session's; nil if it is not causally consistent

	arrived time.Time     // the last byte of the last reply; zero if that is unknown
	delayed time.Duration // of earlier reads of this request: from arrival to reading

	armed       time.Time // the current deadline of the connection
	lastID      int32
	unanswered  int32     // the first message without a reply since the last reply; 0 for none
	sends       int       // number of such messages in total
	held        int       // bytes in the first reply buffer that belong to replies to such messages
	replies     [2][]byte // the second one keeps a first batch alive while further ones are read
	tail        []byte    // the end of a getMore on another database
	clusterTime []byte    // the latest $clusterTime, sent with every command
	clusterAt   uint64
}

// fault is why a round trip failed. The zero value is none.
type fault struct {
	err  error
	why  store.Reason
	sent bool // some of the request may have reached the server
}

// openLink connects to addr, including TLS and the greeting, but not authentication.
func openLink(ctx context.Context, st *settings, addr string) (*link, error) {
	nc, err := st.dial(ctx, "tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("cannot connect to %s: %w", addr, err)
	}
	l := &link{under: &socket{nc}, addr: addr}
	l.nc = l.under
	if st.tls != nil {
		if err := l.startTLS(ctx, st.tls); err != nil {
			_ = nc.Close() // the error of the handshake is returned
			return nil, err
		}
	}
	l.replies[0] = make([]byte, firstBuffer)
	if err := l.greet(ctx, st); err != nil {
		_ = l.nc.Close() // as above
		return nil, err
	}
	return l, nil
}

func (l *link) startTLS(ctx context.Context, cfg *tls.Config) error {
	cfg = cfg.Clone()
	cfg.ServerName, _, _ = net.SplitHostPort(l.addr)
	conn := tls.Client(l.nc, cfg)
	if err := conn.HandshakeContext(ctx); err != nil {
		return fmt.Errorf("no TLS connection to %s: %w (check that the server uses TLS, and tlsCAFile)", l.addr, err)
	}
	l.nc, l.secure = conn, true
	return nil
}

// greet sends hello, or isMaster to a server without hello.
func (l *link) greet(ctx context.Context, st *settings) error {
	user := ""
	if st.auth != nil {
		user = st.auth.source + "." + st.auth.user
	}
	began := time.Now()
	doc, err := l.run(ctx, "admin", helloCommand("hello", st.appName, user))
	var refusal *store.ServerError
	if errors.As(err, &refusal) && refusal.Code == 59 {
		doc, err = l.run(ctx, "admin", helloCommand("isMaster", st.appName, user))
	}
	if err != nil {
		return fmt.Errorf("no greeting from %s: %w%s", l.addr, err, l.hintTLS(err))
	}
	if l.greeting, err = parseGreeting(doc); err != nil {
		return fmt.Errorf("no greeting from %s: %w", l.addr, err)
	}
	l.greeting.rtt = time.Since(began)
	l.noteClusterTime(l.greeting.clusterTime)
	return nil
}

// hintTLS is a hint for a server that closes an unencrypted connection at the first message.
func (l *link) hintTLS(err error) string {
	if l.secure || !errors.Is(err, errClosed) && !errors.Is(err, syscall.ECONNRESET) {
		return ""
	}
	return " (if the server requires TLS, add tls=true to the address)"
}

// run sends one command that is not part of the load and returns the document of the reply, which is valid until the
// next use of l. A refusal is a *store.ServerError. Do not call it on an event loop.
func (l *link) run(ctx context.Context, db string, cmd []byte) ([]byte, error) {
	deadline, ok := ctx.Deadline()
	if !ok {
		deadline = time.Now().Add(defaultTimeout)
	}
	done := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(done)
		_ = l.nc.SetDeadline(time.Unix(1, 0)) // ends the read
	})
	doc, err := l.ask(deadline, db, cmd)
	if !stop() {
		<-done
		l.armed = time.Time{} // SetDeadline has changed the deadline
	}
	return doc, err
}

// ask is run with a deadline instead of a context.
func (l *link) ask(deadline time.Time, db string, cmd []byte) ([]byte, error) {
	body, _, ok := rawbson.Split(cmd)
	if !ok {
		return nil, errors.New("the command is not a BSON document")
	}
	msg := beginMessage(make([]byte, 0, len(cmd)+64))
	msg = append(msg, body...)
	msg = rawbson.Close(bsoncore.AppendStringElement(msg, "$db", db), bodyStart)
	doc, f := l.roundTrip(msg, time.Now(), deadline, 0)
	if f.err != nil {
		return nil, f.err
	}
	var r reply
	if err := r.parse(doc); err != nil {
		return nil, err
	}
	if !r.ok {
		return nil, r.serverError()
	}
	return doc, nil
}

// arm moves the connection's deadline into [deadline, deadline + 10 % of the remaining time], at least 1 ms wide.
// Moving it costs more than a read, so a deadline in that range stays.
func (l *link) arm(now, deadline time.Time) error {
	slack := max(deadline.Sub(now)/10, time.Millisecond)
	if !l.armed.Before(deadline) && l.armed.Sub(deadline) <= slack {
		return nil
	}
	l.armed = deadline.Add(slack)
	return l.nc.SetDeadline(l.armed)
}

// roundTrip sends msg and returns the body of its reply, which is in reply buffer slot.
func (l *link) roundTrip(msg []byte, now, deadline time.Time, slot int) ([]byte, fault) {
	l.delay()
	l.lastID++
	sealMessage(msg, l.lastID, 0)
	if err := l.arm(now, deadline); err != nil {
		return nil, l.fault(err, false)
	}
	if f := l.write(msg); f.err != nil {
		return nil, f
	}
	return l.receive(l.held, slot)
}

// drainEvery is the number of messages without a reply between two reads of unexpected replies.
const drainEvery = 64

// send sends msg with the flag that no reply is expected. FerretDB replies nevertheless: such replies are skipped when
// the next expected one is read, and discarded at intervals, before they fill the socket's buffer and block the server.
func (l *link) send(msg []byte, now, deadline time.Time) fault {
	l.lastID++
	if l.unanswered == 0 {
		l.unanswered = l.lastID
	}
	if l.sends++; l.sends%drainEvery == 0 && !l.secure {
		if f := l.drain(); f.err != nil {
			return f
		}
	}
	sealMessage(msg, l.lastID, flagMoreToCome)
	if err := l.arm(now, deadline); err != nil {
		return l.fault(err, false)
	}
	return l.write(msg)
}

// settle waits until the server has read all messages without a reply, by a ping, because a server handles the requests
// of a connection in order. Unread messages in the buffers of a closed connection are lost: thousands of writes, if the
// server is slower than the client.
func (l *link) settle(limit time.Duration) {
	if l.unanswered == 0 {
		return
	}
	until := time.Now().Add(limit * 3 / 4)      // arm adds up to a tenth
	_, _ = l.ask(until, "admin", pingCommand()) // if it fails, the writes are still unacknowledged
}

// write writes all of msg. After a failed write, TLS may have sent a part.
func (l *link) write(msg []byte) fault {
	n, err := l.nc.Write(msg)
	if err != nil {
		return l.fault(err, n > 0 || l.secure)
	}
	return fault{}
}

// receive reads the rest of a reply whose first n bytes are in buffer slot.
func (l *link) receive(n, slot int) ([]byte, fault) {
	for {
		h, n2, f := l.receiveOne(n, slot)
		if f.err != nil {
			return nil, f
		}
		if n = n2; l.stale(h) {
			n = copy(l.replies[slot], l.replies[slot][h.length:n])
			continue
		}
		if n > h.length {
			return nil, protocolFault(fmt.Errorf("%d bytes follow the reply", n-h.length))
		}
		body, err := messageBody(l.replies[slot][:h.length], h, l.lastID)
		if err != nil {
			return nil, protocolFault(err)
		}
		l.unanswered, l.held = 0, 0
		return body, fault{}
	}
}

// stale reports whether a message is the reply to a message without a reply.
func (l *link) stale(h header) bool {
	return l.unanswered != 0 && h.responseTo >= l.unanswered && h.responseTo < l.lastID
}

// receiveOne reads until buffer slot, which has n bytes, begins with a complete message. It returns the number of bytes
// in the buffer then.
func (l *link) receiveOne(n, slot int) (header, int, fault) {
	var h header
	var readErr error
	for need := headerLen; ; {
		if n >= headerLen && h.length == 0 {
			var err error
			if h, err = parseHeader(l.replies[slot], maxMessageLimit); err != nil {
				return h, n, protocolFault(err)
			}
			need = h.length
		}
		if h.length > 0 && n >= need {
			return h, n, fault{}
		}
		if readErr != nil {
			return h, n, l.fault(readErr, true)
		}
		l.delay()
		var m int
		m, readErr = l.nc.Read(l.space(slot, n, need))
		n += m
		l.arrived = l.under.arrived()
	}
}

// arrivedAfter returns when the last reply arrived. A time before the request comes from a clock that was set
// meanwhile, so the arrival is unknown.
func (l *link) arrivedAfter(sent time.Time) time.Time {
	if l.arrived.Before(sent) {
		return time.Time{}
	}
	return l.arrived
}

// delay adds the delay of the last read before another one.
func (l *link) delay() {
	if !l.arrived.IsZero() {
		l.delayed += time.Since(l.arrived)
		l.arrived = time.Time{}
	}
}

// space returns the free part of a reply buffer that has n bytes of need, and grows the buffer if it is full.
func (l *link) space(slot, n, need int) []byte {
	buf := l.replies[slot]
	if n == len(buf) || len(buf) == 0 {
		size := max(min(need, 2*n+growStep), firstBuffer)
		grown := make([]byte, size)
		copy(grown, buf[:n])
		l.replies[slot] = grown
		buf = grown
	}
	return buf[n:]
}

// errClosed reports an orderly end of a connection.
var errClosed = errors.New("the server closed it")

// fault converts a network error.
func (l *link) fault(err error, sent bool) fault {
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return fault{err: errors.New("no answer from " + l.addr + " before the deadline"), why: store.Timeout, sent: sent}
	}
	if errors.Is(err, io.EOF) {
		err = errClosed
	}
	return fault{err: fmt.Errorf("the connection to %s failed: %w", l.addr, err), why: store.Network, sent: sent}
}

func protocolFault(err error) fault { return fault{err: err, why: store.Protocol, sent: true} }

// noteClusterTime keeps the later of two $clusterTime documents.
func (l *link) noteClusterTime(doc []byte) {
	if doc == nil {
		return
	}
	if at := clusterTimestamp(doc); at > l.clusterAt {
		l.clusterAt = at
		l.clusterTime = append(l.clusterTime[:0], doc...)
	}
}

func (l *link) close() {
	_ = l.nc.Close() // nothing can be done about a connection that does not close
}
