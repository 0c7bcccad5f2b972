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

	"github.com/plimsoll-bench/plimsoll/internal/rawbson"
	"github.com/plimsoll-bench/plimsoll/store"
)

const (
	firstBuffer = 2 << 10 // an answer with a record of 1 KB fits; ten thousand connections should stay small
	// growStep bounds how far a reply buffer grows ahead of what has arrived, so that a false length
	// costs no memory.
	growStep = 1 << 20
)

// link is one connection to one server. It is used by one goroutine at a time and is dropped after any
// fault, because the next answer on it could belong to an earlier request.
type link struct {
	nc       net.Conn
	under    *socket // what nc is, or what its TLS is on
	addr     string
	secure   bool
	greeting *greeting
	shape    shape
	ids      *objectIDs // the session's
	causal   *causal    // the session's; nil if it is not causally consistent

	armed       time.Time // the deadline that the connection has now
	lastID      int32
	unanswered  int32     // the first of the messages since the last answer that asked for none; 0 without
	sends       int       // such messages, of all time
	held        int       // bytes in the first reply buffer that belong to answers nobody asked for
	replies     [2][]byte // the second one keeps a first batch alive while further ones are read
	tail        []byte    // the end of a getMore on another database than ours
	clusterTime []byte    // the latest $clusterTime seen, sent with every command
	clusterAt   uint64
}

// fault is why a round trip failed. The zero fault is none.
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
			_ = nc.Close() // the handshake's failure is what matters
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

// greet sends hello, or isMaster to a server that does not know hello.
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

// hintTLS is a piece of advice for a server that closes a connection in the clear at our first words.
func (l *link) hintTLS(err error) string {
	if l.secure || !errors.Is(err, errClosed) && !errors.Is(err, syscall.ECONNRESET) {
		return ""
	}
	return " (a server that wants TLS does that: if this one does, add tls=true to the address)"
}

// run sends one command that is not part of the load and returns the answer's document, which is valid
// until the next use of l. A refusal is a *store.ServerError. It must not be used on an event loop.
func (l *link) run(ctx context.Context, db string, cmd []byte) ([]byte, error) {
	deadline, ok := ctx.Deadline()
	if !ok {
		deadline = time.Now().Add(defaultTimeout)
	}
	done := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(done)
		_ = l.nc.SetDeadline(time.Unix(1, 0)) // wakes the read; a dead connection fails anyway
	})
	doc, err := l.ask(deadline, db, cmd)
	if !stop() {
		<-done
		l.armed = time.Time{} // the connection's deadline is not what arm believes
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
	msg = append(msg, body[:len(body)-1]...)
	msg = rawbson.Close(appendString(msg, "$db", db), bodyStart)
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

// arm makes the connection's deadline fall into [deadline, deadline + 10 % of the time left], at
// least 1 ms wide. Moving it costs more than a read, so one that already falls there stays.
func (l *link) arm(now, deadline time.Time) error {
	slack := max(deadline.Sub(now)/10, time.Millisecond)
	if !l.armed.Before(deadline) && l.armed.Sub(deadline) <= slack {
		return nil
	}
	l.armed = deadline.Add(slack)
	return l.nc.SetDeadline(l.armed)
}

// roundTrip sends msg and returns the body of its answer, which lies in reply buffer slot.
func (l *link) roundTrip(msg []byte, now, deadline time.Time, slot int) ([]byte, fault) {
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

// drainEvery is how many messages without answer are sent between two looks for answers that come all
// the same.
const drainEvery = 64

// send sends msg with the flag that no answer is expected. FerretDB answers nevertheless: such answers
// are stepped over when the next wanted one is read, and thrown away now and then, before they fill the
// socket's buffer and block the server.
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

// settle waits until the server has read all that asked for no answer, by asking for one: requests of one
// connection are done in order. What lies unread in the buffers of a connection that is closed is lost,
// thousands of writes if the server is slower than the client.
func (l *link) settle(limit time.Duration) {
	if l.unanswered == 0 {
		return
	}
	until := time.Now().Add(limit * 3 / 4)      // arming adds up to a tenth
	_, _ = l.ask(until, "admin", pingCommand()) // if it fails the writes are what they were: unacknowledged
}

// write writes all of msg. What TLS may have sent of a failed write cannot be known.
func (l *link) write(msg []byte) fault {
	n, err := l.nc.Write(msg)
	if err != nil {
		return l.fault(err, n > 0 || l.secure)
	}
	return fault{}
}

// receive reads the rest of an answer of which n bytes are already in buffer slot.
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
			return nil, protocolFault(fmt.Errorf("%d bytes follow the answer", n-h.length))
		}
		body, err := messageBody(l.replies[slot][:h.length], h, l.lastID)
		if err != nil {
			return nil, protocolFault(err)
		}
		l.unanswered, l.held = 0, 0
		return body, fault{}
	}
}

// stale reports whether a message answers one that asked for no answer.
func (l *link) stale(h header) bool {
	return l.unanswered != 0 && h.responseTo >= l.unanswered && h.responseTo < l.lastID
}

// receiveOne reads until buffer slot, which holds n bytes, begins with a whole message, and returns how
// many bytes it holds then.
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
		var m int
		m, readErr = l.nc.Read(l.space(slot, n, need))
		n += m
	}
}

// space returns the free part of a reply buffer that holds n bytes of need, and makes room if there is
// none.
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

// errClosed is the end of a connection in good order.
var errClosed = errors.New("the server closed it")

// fault says what a network error means.
func (l *link) fault(err error, sent bool) fault {
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return fault{err: errors.New("no answer from " + l.addr + " before the deadline"), why: store.Timeout, sent: sent}
	}
	if errors.Is(err, io.EOF) {
		err = errClosed
	}
	return fault{err: fmt.Errorf("the connection to %s broke: %w", l.addr, err), why: store.Network, sent: sent}
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
