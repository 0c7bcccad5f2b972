package wire

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"sync"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/plimsoll-bench/plimsoll/internal/rawbson"
	"github.com/plimsoll-bench/plimsoll/store"
)

// network is a network inside the test: servers by address, reached over pipes, so that time in it can
// be simulated.
type network struct {
	tb      testing.TB
	mu      sync.Mutex
	servers map[string]*fake
	dials   map[string]int
}

func newNetwork(tb testing.TB) *network {
	return &network{tb: tb, servers: map[string]*fake{}, dials: map[string]int{}}
}

// fake is a server whose answers the test makes up.
type fake struct {
	hello  func() bson.D            // its greeting
	answer func(c *call) any        // see [call]
	silent func(c *call)            // sees commands with moreToCome
	calls  func(name string, n int) // sees every command but greetings
	down   bool                     // refuses connections
	rude   bool                     // replies to messages without a reply
	hangs  bool                     // accepts connections and sends nothing
	open   map[net.Conn]bool
}

// call is one command that a fake got. Its answer is a bson.D or bson.Raw for an OP_MSG, a []byte to be
// sent as it is, an error to close the connection, or nil to say nothing.
type call struct {
	conn net.Conn
	id   int32
	msg  []byte
	body bson.Raw
	name string
}

func (n *network) add(addr string, f *fake) *fake {
	n.mu.Lock()
	defer n.mu.Unlock()
	f.open = map[net.Conn]bool{}
	n.servers[addr] = f
	return f
}

// set changes a server while nothing looks.
func (n *network) set(change func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	change()
}

// kill closes a server's connections and refuses new ones.
func (n *network) kill(f *fake) {
	n.set(func() {
		f.down = true
		for c := range f.open {
			_ = c.Close()
		}
		f.open = map[net.Conn]bool{}
	})
}

var errRefused = errors.New("connection refused")

func (n *network) dial(_ context.Context, _, addr string) (net.Conn, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.dials[addr]++
	f := n.servers[addr]
	if f == nil || f.down {
		return nil, errRefused
	}
	client, server := net.Pipe()
	f.open[server] = true
	go n.serve(f, server)
	return client, nil
}

func (n *network) serve(f *fake, conn net.Conn) {
	defer conn.Close()
	for {
		c, ok := readCall(conn)
		if !ok {
			return
		}
		n.mu.Lock()
		var answer any
		switch {
		case f.hangs:
		case c.name == "hello" || c.name == "isMaster":
			answer = f.hello()
		default:
			if f.calls != nil {
				f.calls(c.name, len(c.msg))
			}
			if binary.LittleEndian.Uint32(c.msg[headerLen:])&flagMoreToCome == 0 || f.rude {
				answer = f.answer(c)
			} else if f.silent != nil {
				f.silent(c)
			}
		}
		n.mu.Unlock()
		if !c.reply(answer) {
			return
		}
	}
}

func readCall(conn net.Conn) (*call, bool) {
	var head [4]byte
	if _, err := io.ReadFull(conn, head[:]); err != nil {
		return nil, false
	}
	msg := make([]byte, binary.LittleEndian.Uint32(head[:]))
	copy(msg, head[:])
	if _, err := io.ReadFull(conn, msg[4:]); err != nil {
		return nil, false
	}
	body, err := bodySection(msg[headerLen+4:])
	if err != nil {
		return nil, false
	}
	c := &call{conn: conn, id: int32(binary.LittleEndian.Uint32(msg[4:])), msg: msg, body: body}
	key, _, _ := rawbson.Next(body[4:])
	c.name = string(key)
	return c, true
}

// reply sends an answer and reports whether the connection stays open.
func (c *call) reply(answer any) bool {
	switch a := answer.(type) {
	case nil:
		return true
	case error:
		return false
	case []byte:
		_, err := c.conn.Write(a)
		return err == nil
	default:
		_, err := c.conn.Write(c.wrap(a))
		return err == nil
	}
}

// wrap makes the OP_MSG that answers c with a document.
func (c *call) wrap(doc any) []byte {
	raw, err := bson.Marshal(doc)
	if err != nil {
		panic(err) // a mistake in the test
	}
	msg := append(beginMessage(nil)[:bodyStart], raw...)
	sealMessage(msg, 77, 0)
	binary.LittleEndian.PutUint32(msg[8:], uint32(c.id))
	return msg
}

// open opens a store on the network's servers.
func (n *network) open(cfg store.Config) (*Store, error) {
	if cfg.Database == "" {
		cfg.Database = "db"
	}
	return Open(context.Background(), cfg, WithDialer(n.dial))
}

// session opens a store and a session on it; both are closed by the returned function.
func (n *network) session(cfg store.Config) (store.Session, func()) {
	n.tb.Helper()
	s, err := n.open(cfg)
	if err != nil {
		n.tb.Fatal(err)
	}
	session, err := s.Session(0)
	if err != nil {
		n.tb.Fatal(err)
	}
	return session, func() {
		_ = session.Close()
		_ = s.Close()
	}
}

// standalone is the greeting of a server of its own.
func standalone() bson.D {
	return bson.D{{Key: "isWritablePrimary", Value: true}, {Key: "maxWireVersion", Value: int32(21)},
		{Key: "maxWriteBatchSize", Value: int32(100_000)}, {Key: "maxMessageSizeBytes", Value: int32(48_000_000)},
		{Key: "logicalSessionTimeoutMinutes", Value: int32(30)}, {Key: "ok", Value: 1.0}}
}

// setMember is the greeting of a member of replica set rs.
func setMember(me string, isPrimary bool, term byte, hosts ...string) bson.D {
	d := bson.D{{Key: "isWritablePrimary", Value: isPrimary}, {Key: "secondary", Value: !isPrimary},
		{Key: "setName", Value: "rs"}, {Key: "setVersion", Value: int32(1)}, {Key: "hosts", Value: hosts},
		{Key: "me", Value: me}, {Key: "maxWireVersion", Value: int32(21)},
		{Key: "logicalSessionTimeoutMinutes", Value: int32(30)}}
	if isPrimary {
		d = append(d, bson.E{Key: "electionId", Value: bson.ObjectID{0x7f, 0xff, 0xff, 0xff, 11: term}})
	}
	return append(d, bson.E{Key: "ok", Value: 1.0})
}

// found is the answer to a find.
func found(docs ...bson.D) bson.D { return cursor(0, "firstBatch", docs...) }

func cursor(id int64, batch string, docs ...bson.D) bson.D {
	if docs == nil {
		docs = []bson.D{}
	}
	return bson.D{{Key: "cursor", Value: bson.D{{Key: batch, Value: docs}, {Key: "id", Value: id}, {Key: "ns", Value: "db.c"}}},
		{Key: "ok", Value: 1.0}}
}
