package action

import (
	"context"
	"encoding/binary"
	"errors"
	"net"
	"os"
	"time"

	"github.com/plimsoll-bench/plimsoll/record"
)

// The results of a probe connection, as parts of a sentence.
const (
	answered = "is answered"
	hung     = "hangs"
	refused  = "is refused"
	broken   = "breaks"
)

// probeLimit is how long a server may take to answer a probe.
const probeLimit = 2 * time.Second

// probe connects to a member and sends the smallest request of its protocol.
func probe(ctx context.Context, m record.LabMember) string {
	ctx, cancel := context.WithTimeout(ctx, probeLimit)
	defer cancel()
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", m.Address)
	if err != nil {
		return probeResult(ctx, err, refused)
	}
	defer conn.Close()
	deadline, _ := ctx.Deadline()
	_ = conn.SetDeadline(deadline)
	if _, err := conn.Write(firstRequest(m.Kind)); err != nil {
		return probeResult(ctx, err, broken)
	}
	if _, err := conn.Read(make([]byte, 1)); err != nil {
		return probeResult(ctx, err, broken)
	}
	return answered
}

// probeResult is hung if the server did not answer in time, otherwise the given result.
func probeResult(ctx context.Context, err error, otherwise string) string {
	var n net.Error
	if ctx.Err() != nil || errors.Is(err, os.ErrDeadlineExceeded) || errors.As(err, &n) && n.Timeout() {
		return hung
	}
	return otherwise
}

// firstRequest is a request that a server answers without authentication.
func firstRequest(kind string) []byte {
	if kind == "postgres" { // SSLRequest of PostgreSQL's protocol
		return binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, 8), 80877103)
	}
	return hello()
}

// hello is {hello: 1, $db: "admin"} as an OP_MSG of MongoDB's wire protocol.
func hello() []byte {
	doc := []byte("\x10hello\x00\x01\x00\x00\x00\x02$db\x00\x06\x00\x00\x00admin\x00\x00")
	le := binary.LittleEndian
	body := le.AppendUint32(nil, 0) // flags
	body = append(body, 0)          // a section with one document
	body = le.AppendUint32(body, uint32(len(doc)+4))
	body = append(body, doc...)
	message := le.AppendUint32(nil, uint32(16+len(body)))
	message = le.AppendUint32(message, 1)    // request
	message = le.AppendUint32(message, 0)    // response to
	message = le.AppendUint32(message, 2013) // OP_MSG
	return append(message, body...)
}
