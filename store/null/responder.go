package null

import (
	"fmt"
	"net"
	"strings"
	"time"
)

// Responder is a running responder in this process.
type Responder struct {
	s    *server
	ln   net.Listener
	done chan struct{}
}

// Listen starts a responder on a free port of the loopback address.
func Listen(opts Options) (*Responder, error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("cannot open a loopback port for the null responder: %w", err)
	}
	r := &Responder{s: newServer(ln.Addr().String(), opts), ln: ln, done: make(chan struct{})}
	go func() {
		defer close(r.done)
		_ = r.s.serve(ln) // ends with Close; clients notice a failed listener
	}()
	return r, nil
}

// Addr returns the host:port of the responder.
func (r *Responder) Addr() string { return r.s.addr }

// URI returns a connection string for the responder, or for the replica set of its role.
func (r *Responder) URI() string {
	role := r.s.role.Load()
	if role.SetName == "" {
		return "mongodb://" + r.s.addr + "/?directConnection=true"
	}
	return "mongodb://" + strings.Join(role.Hosts, ",") + "/?replicaSet=" + role.SetName
}

// SetRole changes the role, as an election does. Connections stay open.
func (r *Responder) SetRole(role Role) { r.s.setRole(role) }

// Requests returns the number of received operations, without greetings and pings.
func (r *Responder) Requests() uint64 { return r.s.requests.Load() }

// Began returns when the first operation arrived, zero if there was none. Stalls and outages count from it.
func (r *Responder) Began() time.Time {
	if t := r.s.began.Load(); t != nil {
		return *t
	}
	return time.Time{}
}

// KillConnections resets all open connections.
func (r *Responder) KillConnections() { r.s.killAll() }

// Close stops the responder and waits until all connections are closed.
func (r *Responder) Close() error {
	r.s.shutdown(r.ln)
	<-r.done
	return nil
}
