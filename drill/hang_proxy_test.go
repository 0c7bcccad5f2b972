package drill

import (
	"bytes"
	"encoding/binary"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// hangingProxy passes messages on to a server, until it holds commands of a drill's own clients: it takes them and
// never answers them, and shows them in $currentOp.
type hangingProxy struct {
	address, server string

	mu   sync.Mutex
	hold func(command bson.Raw) bool
	held []heldCommand
	once sync.Once
	seen chan struct{} // closed when it holds the first command
}

func newHangingProxy(t *testing.T, server string) *hangingProxy {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &hangingProxy{address: ln.Addr().String(), server: server, seen: make(chan struct{})}
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			serving.Go(func() { p.serve(c) })
		}
	})
	t.Cleanup(func() { ln.Close(); serving.Wait() })
	return p
}

// heldCommand is a command that was taken, and how it is passed on.
type heldCommand struct {
	command bson.Raw
	pass    func()
}

// releases passes on what it holds, and holds nothing more.
func (p *hangingProxy) releases() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, one := range p.held {
		one.pass()
	}
	p.held, p.hold = nil, nil
}

// hangs begins to hold commands.
func (p *hangingProxy) hangs(hold func(command bson.Raw) bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.hold = hold
}

func (p *hangingProxy) serve(client net.Conn) {
	defer client.Close()
	server, err := net.Dial("tcp", p.server)
	if err != nil {
		return
	}
	defer server.Close()
	go func() {
		_, _ = io.Copy(client, server)
		client.Close()
	}()
	app := ""
	for {
		message, err := readMessage(client)
		if err != nil {
			return
		}
		command := commandIn(message)
		if name, ok := command.Lookup("client", "application", "name").StringValueOK(); ok {
			app = name
		}
		switch {
		case asksOperations(command):
			if _, err := client.Write(p.operations(message)); err != nil {
				return
			}
			continue
		case answersIndexes(command):
			answer := bson.D{{Key: "indexes", Value: "plimsoll_maintenance"}, {Key: "ok", Value: 1.0}}
			if _, err := client.Write(replyTo(message, answer)); err != nil {
				return
			}
			continue
		case app == "plimsoll drill" && p.holds(command, func() { _, _ = server.Write(message) }):
			continue
		}
		if _, err := server.Write(message); err != nil {
			return
		}
	}
}

// holds says whether a command is never answered.
func (p *hangingProxy) holds(command bson.Raw, pass func()) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.hold == nil || command == nil || !p.hold(command) {
		return false
	}
	p.held = append(p.held, heldCommand{command, pass})
	p.once.Do(func() { close(p.seen) })
	return true
}

// operations answers $currentOp with the commands that are held.
func (p *hangingProxy) operations(request []byte) []byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	list := bson.A{}
	for _, one := range p.held {
		list = append(list, bson.D{{Key: "op", Value: "command"}, {Key: "ns", Value: "held.here"}, {Key: "command", Value: one.command},
			{Key: "microsecs_running", Value: int64(38e6)}, {Key: "waitingForLock", Value: true}})
	}
	return replyTo(request, bson.D{{Key: "cursor", Value: bson.D{{Key: "firstBatch", Value: list}, {Key: "id", Value: int64(0)},
		{Key: "ns", Value: "admin.$cmd.aggregate"}}}, {Key: "ok", Value: 1.0}})
}

// replyTo is the message that answers another.
func replyTo(request []byte, answer bson.D) []byte {
	doc, _ := bson.Marshal(answer)
	reply := make([]byte, 16, 21+len(doc))
	binary.LittleEndian.PutUint32(reply, uint32(21+len(doc)))
	copy(reply[8:12], request[4:8])
	binary.LittleEndian.PutUint32(reply[12:], opMsg)
	return append(append(reply, 0, 0, 0, 0, 0), doc...)
}

const opMsg = 2013

func readMessage(r io.Reader) ([]byte, error) {
	var head [16]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, err
	}
	message := append(head[:], make([]byte, binary.LittleEndian.Uint32(head[:])-16)...)
	_, err := io.ReadFull(r, message[16:])
	return message, err
}

// commandIn returns the command of a message; the first message of a connection may have an older form.
func commandIn(message []byte) bson.Raw {
	switch binary.LittleEndian.Uint32(message[12:]) {
	case opMsg:
		if len(message) > 25 && message[20] == 0 {
			return bson.Raw(message[21 : 21+binary.LittleEndian.Uint32(message[21:])])
		}
	case 2004:
		name := 20 + bytes.IndexByte(message[20:], 0)
		return bson.Raw(message[name+9:])
	}
	return nil
}

// commandOf is the name of a command and its collection.
func commandOf(command bson.Raw) (name, collection string) {
	first, err := command.IndexErr(0)
	if err != nil {
		return "", ""
	}
	collection, _ = first.Value().StringValueOK()
	return first.Key(), collection
}

func asksOperations(command bson.Raw) bool {
	name, _ := commandOf(command)
	return name == "aggregate" && strings.Contains(command.String(), "$currentOp")
}

// answersIndexes says whether the proxy answers a command about indexes, which the stand-in does not have.
func answersIndexes(command bson.Raw) bool {
	name, _ := commandOf(command)
	return name == "dropIndexes" || name == "listIndexes"
}

// command holds the commands of a name on a collection.
func command(name string, collections ...string) func(bson.Raw) bool {
	return func(c bson.Raw) bool {
		is, collection := commandOf(c)
		return is == name && slices.Contains(collections, collection)
	}
}
