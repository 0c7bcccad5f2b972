package main

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"sync"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"

	"github.com/plimsoll-bench/plimsoll/internal/rawbson"
)

// The operation codes of MongoDB's wire protocol that clients use.
const (
	opReply = 1
	opQuery = 2004 // the first message of a connection only
	opMsg   = 2013
)

const (
	headerSize   = 16
	mostMessage  = 48_000_000 // maxMessageSizeBytes
	checksummed  = 1          // flag of OP_MSG: a checksum follows the sections
	replyHeading = headerSize + 20
)

// proxy stands between the clients of one trial and a member of a replica set, which it presents as a set of its own.
// Each request goes through meddle.
type proxy struct {
	server   string // host:port
	listener net.Listener
	meddle   func(*exchange) error

	mu    sync.Mutex
	conns map[net.Conn]bool
	all   sync.WaitGroup
}

// errCut ends the connection of the client.
var errCut = errors.New("the proxy cuts the connection")

func startProxy(server string, meddle func(*exchange) error) (*proxy, error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &proxy{server: server, listener: ln, meddle: meddle, conns: map[net.Conn]bool{}}
	p.all.Go(p.accept)
	return p, nil
}

func (p *proxy) address() string { return p.listener.Addr().String() }

// close ends all connections and returns when nothing runs any more.
func (p *proxy) close() {
	_ = p.listener.Close()
	p.mu.Lock()
	for c := range p.conns {
		_ = c.Close()
	}
	p.conns = nil
	p.mu.Unlock()
	p.all.Wait()
}

func (p *proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return // closed
		}
		p.all.Go(func() {
			defer client.Close()
			server, err := net.Dial("tcp", p.server)
			if err != nil {
				return
			}
			defer server.Close()
			p.mu.Lock()
			open := p.conns != nil
			if open {
				p.conns[client], p.conns[server] = true, true
			}
			p.mu.Unlock()
			for open {
				if err := p.next(client, server); err != nil {
					return
				}
			}
		})
	}
}

// next handles one request of a client. Neither the proxy nor its clients stream: replies have no topologyVersion,
// which clients need for that.
func (p *proxy) next(client, server net.Conn) error {
	raw, err := readMessage(client)
	if err != nil {
		return err
	}
	x := &exchange{client: client, server: server, request: raw}
	if binary.LittleEndian.Uint32(raw[12:]) == opMsg {
		if x.command, err = parseCommand(raw); err != nil {
			return err
		}
	}
	if x.command.ledger() {
		err = p.meddle(x)
	} else {
		err = x.forward()
	}
	if err == nil && x.reply != nil {
		if x.reply, err = p.present(x.reply); err == nil {
			_, err = client.Write(x.reply)
		}
	}
	return err
}

// readMessage reads one message of the wire protocol.
func readMessage(from io.Reader) ([]byte, error) {
	raw := make([]byte, headerSize)
	if _, err := io.ReadFull(from, raw); err != nil {
		return nil, err
	}
	size := int(binary.LittleEndian.Uint32(raw))
	if size < headerSize+4 || size > mostMessage {
		return nil, fmt.Errorf("a message of %d bytes", size)
	}
	raw = append(raw, make([]byte, size-headerSize)...)
	_, err := io.ReadFull(from, raw[headerSize:])
	return raw, err
}

// exchange is one request and its reply.
type exchange struct {
	client  net.Conn
	server  net.Conn
	request []byte
	command command
	reply   []byte      // nil if the client gets none
	lock    *sync.Mutex // held by the function that handles the exchange, if there is one
}

// forward sends the request to the server and takes its reply.
func (x *exchange) forward() (err error) {
	x.reply, err = x.ask(x.request)
	return err
}

// ask sends a message to the server and returns the reply. Other requests are handled meanwhile.
func (x *exchange) ask(request []byte) ([]byte, error) {
	if x.lock != nil {
		x.lock.Unlock()
		defer x.lock.Lock()
	}
	if _, err := x.server.Write(request); err != nil {
		return nil, err
	}
	if x.command.unanswered {
		return nil, nil
	}
	return readMessage(x.server)
}

// answer makes doc the reply, without asking the server.
func (x *exchange) answer(doc bsoncore.Document) {
	x.reply = message(binary.LittleEndian.Uint32(x.request[4:])+1<<30, doc)
	binary.LittleEndian.PutUint32(x.reply[8:], binary.LittleEndian.Uint32(x.request[4:]))
}

// message makes an OP_MSG of one document.
func message(id uint32, doc bsoncore.Document) []byte {
	m := make([]byte, headerSize+5, headerSize+5+len(doc))
	m = append(m, doc...)
	binary.LittleEndian.PutUint32(m, uint32(len(m)))
	binary.LittleEndian.PutUint32(m[4:], id)
	binary.LittleEndian.PutUint32(m[12:], opMsg)
	return m
}

// command is what a message requests, in one document, as if it had no document sequences.
type command struct {
	doc        bsoncore.Document
	name       string // such as "insert"
	unanswered bool   // moreToCome: the client wants no reply
}

// ledger says whether the command is one of the load or of an audit.
func (c command) ledger() bool {
	switch c.name {
	case "insert", "update", "find", "commitTransaction", "abortTransaction":
		return true
	}
	return false
}

// collection is the collection of the command, "" if it has none.
func (c command) collection() string {
	text, _ := c.doc.Lookup(c.name).StringValueOK()
	return text
}

// parseCommand reads an OP_MSG: section 0 has the command, and sections 1 have arrays of it.
func parseCommand(raw []byte) (c command, err error) {
	flags := binary.LittleEndian.Uint32(raw[headerSize:])
	rest := raw[headerSize+4:]
	if flags&checksummed != 0 {
		rest = rest[:len(rest)-4]
	}
	c.unanswered = flags&2 != 0
	var body bsoncore.Document
	type sequence struct {
		name string
		docs bsoncore.Array
	}
	var sequences []sequence
	for len(rest) > 0 {
		kind := rest[0]
		size, _, ok := bsoncore.ReadLength(rest[1:])
		if !ok || int(size) > len(rest)-1 {
			return c, errors.New("a section is longer than its message")
		}
		section := rest[1 : 1+size]
		rest = rest[1+size:]
		if kind == 0 {
			body = bsoncore.Document(section)
			continue
		}
		end := slices.Index(section[4:], 0)
		if end < 0 {
			return c, errors.New("a document sequence without a name")
		}
		docs := bsoncore.NewArrayBuilder()
		for left := section[4+end+1:]; len(left) > 0; {
			doc, after, ok := bsoncore.ReadDocument(left)
			if !ok {
				return c, errors.New("a document sequence is cut off")
			}
			docs.AppendDocument(doc)
			left = after
		}
		sequences = append(sequences, sequence{string(section[4 : 4+end]), docs.Build()})
	}
	start := 0
	c.doc, start = rawbson.Open(nil)
	c.doc = append(c.doc, body[4:len(body)-1]...)
	for _, s := range sequences {
		c.doc = bsoncore.AppendArrayElement(c.doc, s.name, s.docs)
	}
	c.doc = rawbson.Close(c.doc, start)
	first, err := c.doc.IndexErr(0)
	if err != nil {
		return c, err
	}
	c.name = first.Key()
	return c, nil
}

// present replaces the addresses of the server in a reply to hello by those of the proxy.
func (p *proxy) present(reply []byte) ([]byte, error) {
	heading := headerSize + 5
	if binary.LittleEndian.Uint32(reply[12:]) == opReply {
		heading = replyHeading
	}
	doc := bsoncore.Document(reply[heading:])
	if _, err := doc.LookupErr("setName"); err != nil {
		return reply, nil
	}
	var fields bson.D
	if err := bson.Unmarshal(doc, &fields); err != nil {
		return nil, err
	}
	fields = slices.DeleteFunc(fields, func(e bson.E) bool { return e.Key == "topologyVersion" })
	for i := range fields {
		switch fields[i].Key {
		case "hosts":
			fields[i].Value = bson.A{p.address()}
		case "primary", "me":
			fields[i].Value = p.address()
		}
	}
	doc, err := bson.Marshal(fields)
	if err != nil {
		return nil, err
	}
	reply = append(slices.Clone(reply[:heading]), doc...)
	binary.LittleEndian.PutUint32(reply, uint32(len(reply)))
	return reply, nil
}
