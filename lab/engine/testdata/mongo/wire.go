package main

import (
	"crypto/tls"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// The operations of the wire protocol (manual: "MongoDB Wire Protocol").
const (
	opReply = 1
	opQuery = 2004 // the first message of a driver may still come in this form
	opMsg   = 2013
	// moreToCome is the flag of a message that nobody waits for the answer of.
	moreToCome = 2
)

// conn is one connection.
type conn struct {
	s     *server
	local bool   // the localhost exception holds for it
	user  string // who has authenticated
	sasl  *exchange
}

func (s *server) accept(ln net.Listener, unix bool) {
	for {
		c, err := ln.Accept()
		if err != nil {
			continue
		}
		local := unix
		if tcp, ok := c.RemoteAddr().(*net.TCPAddr); ok {
			local = tcp.IP.IsLoopback()
		}
		if s.tls != nil {
			c = tls.Server(c, s.tls) // a client that speaks without does not get further than its first bytes
		}
		go (&conn{s: s, local: local}).serve(c)
	}
}

// serve answers until the other side goes away.
func (c *conn) serve(nc net.Conn) {
	defer nc.Close()
	for {
		id, op, body, err := readMessage(nc)
		if err != nil {
			return
		}
		if c.s.is("hangs") {
			continue // the question is read and never answered
		}
		db, command, err := parseCommand(op, body)
		if err != nil {
			return
		}
		reply := c.answer(db, command)
		if reply == nil {
			return
		}
		if op == opMsg && body[0]&moreToCome != 0 {
			continue // an unacknowledged write
		}
		if _, err := nc.Write(message(op, id, reply)); err != nil {
			return
		}
	}
}

func readMessage(r io.Reader) (id, op uint32, body []byte, err error) {
	var head [16]byte
	if _, err = io.ReadFull(r, head[:]); err != nil {
		return 0, 0, nil, err
	}
	n := binary.LittleEndian.Uint32(head[:])
	if n < 16 || n > 48<<20 {
		return 0, 0, nil, errors.New("no message")
	}
	body = make([]byte, n-16)
	_, err = io.ReadFull(r, body)
	return binary.LittleEndian.Uint32(head[4:]), binary.LittleEndian.Uint32(head[12:]), body, err
}

// parseCommand makes one document of a message; the documents of its sequences become arrays.
func parseCommand(op uint32, body []byte) (db string, command bson.D, err error) {
	switch {
	case op == opQuery:
		end := slices.Index(body[4:], 0) + 4
		name := string(body[4:end])
		db, _, _ = strings.Cut(name, ".")
		return db, command, bson.Unmarshal(body[end+1+8:], &command)
	case op != opMsg || len(body) < 9:
		return "", nil, errors.New("another operation")
	}
	for at := 4; at < len(body); {
		kind := body[at]
		size := int(binary.LittleEndian.Uint32(body[at+1:]))
		part := body[at+1 : at+1+size]
		at += 1 + size
		if kind == 0 {
			if err := bson.Unmarshal(part, &command); err != nil {
				return "", nil, err
			}
			continue
		}
		end := slices.Index(part[4:], 0) + 4
		docs := bson.A{}
		for rest := part[end+1:]; len(rest) > 0; {
			n := binary.LittleEndian.Uint32(rest)
			docs = append(docs, bson.Raw(rest[:n]))
			rest = rest[n:]
		}
		command = append(command, bson.E{Key: string(part[4:end]), Value: docs})
	}
	db, _ = get(command, "$db").(string)
	return db, command, nil
}

// message is the answer in the form of the question.
func message(op, to uint32, doc bson.D) []byte {
	raw, err := bson.Marshal(doc)
	check(err)
	head := make([]byte, 16, 36+len(raw)+5)
	if op == opQuery {
		op = opReply
		head = append(head, make([]byte, 16)...)
		head = binary.LittleEndian.AppendUint32(head, 1)
	} else {
		head = append(head, 0, 0, 0, 0, 0)
	}
	out := append(head, raw...)
	binary.LittleEndian.PutUint32(out, uint32(len(out)))
	binary.LittleEndian.PutUint32(out[8:], to)
	binary.LittleEndian.PutUint32(out[12:], op)
	return out
}

// get returns a field, or nil.
func get(d bson.D, key string) any {
	for _, e := range d {
		if e.Key == key {
			return e.Value
		}
	}
	return nil
}

// text, number and sub return a field in its form, or nothing.
func text(d bson.D, key string) string { s, _ := get(d, key).(string); return s }

func sub(d bson.D, key string) bson.D { s, _ := get(d, key).(bson.D); return s }

func number(d bson.D, key string) float64 {
	switch v := get(d, key).(type) {
	case int32:
		return float64(v)
	case int64:
		return float64(v)
	case float64:
		return v
	}
	return 0
}

// recorder writes down what a server was told, beside its log.
type recorder struct {
	mu   sync.Mutex
	file *os.File
}

func newRecorder(logpath string) *recorder {
	f, err := os.OpenFile(filepath.Join(filepath.Dir(logpath), "conversation.ndjson"), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	check(err)
	r := &recorder{file: f}
	r.line(map[string]any{"started": os.Args[1:]})
	return r
}

func (r *recorder) line(v any) {
	b, err := json.Marshal(v)
	check(err)
	r.mu.Lock()
	defer r.mu.Unlock()
	_, err = r.file.Write(append(b, '\n'))
	check(err)
}

// command writes down a command as it came, without what drivers add to every one.
func (r *recorder) command(db string, command bson.D) {
	var kept bson.D
	for _, e := range command {
		if !strings.HasPrefix(e.Key, "$") && e.Key != "lsid" && e.Key != "maxTimeMS" {
			kept = append(kept, e)
		}
	}
	ext, err := bson.MarshalExtJSON(kept, false, false)
	check(err)
	r.line(map[string]any{"db": db, "command": json.RawMessage(ext)})
}
