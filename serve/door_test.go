package serve

import (
	"net"
	"sync"
	"testing"
)

// door keeps a port for as long as a test lasts, whoever serves behind it: a port that is given back may be taken
// by another test program at once. While nobody serves, connections are closed as they come.
type door struct {
	port net.Listener
	mu   sync.Mutex
	now  *behind
}

func newDoor(t *testing.T) *door {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ln.Close() })
	d := &door{port: ln}
	go d.admit()
	return d
}

// admit hands over connections until the port itself is closed.
func (d *door) admit() {
	for {
		c, err := d.port.Accept()
		if err != nil {
			return
		}
		d.mu.Lock()
		now := d.now
		d.mu.Unlock()
		if now == nil {
			_ = c.Close()
			continue
		}
		select {
		case now.conns <- c:
		case <-now.done:
			_ = c.Close()
		}
	}
}

// open returns a listener for the next server.
func (d *door) open() net.Listener {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.now = &behind{addr: d.port.Addr(), conns: make(chan net.Conn), done: make(chan struct{})}
	return d.now
}

// behind is the listener of one server behind a door. Closing it leaves the port to the door.
type behind struct {
	addr  net.Addr
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

func (b *behind) Addr() net.Addr { return b.addr }

func (b *behind) Accept() (net.Conn, error) {
	select {
	case c := <-b.conns:
		return c, nil
	case <-b.done:
		return nil, net.ErrClosed
	}
}

func (b *behind) Close() error {
	b.once.Do(func() { close(b.done) })
	return nil
}
