package wire

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/plimsoll-bench/plimsoll/internal/rawbson"
)

const (
	headerLen = 16
	opMsg     = 2013

	flagChecksum   = 1 << 0
	flagMoreToCome = 1 << 1
	flagsRequired  = 0xffff // unknown flags among these must be refused

	// bodyStart is where the command document begins: header, flags, kind of the first section.
	bodyStart = headerLen + 4 + 1

	// maxMessageLimit bounds what is believed of any length in a message. Servers announce 48,000,000
	// bytes; a server that announced more would still be held to this.
	maxMessageLimit = 64 << 20

	defaultMaxMessage = 48_000_000
	defaultMaxBatch   = 100_000
)

var (
	errBSON     = errors.New("the answer is not valid BSON")
	errUnasked  = errors.New("the server sent something that was not asked for")
	errNoOK     = errors.New("the answer does not say whether the command succeeded (no field ok)")
	errNoBatch  = errors.New("the answer to a query holds no cursor that can be read")
	errSections = errors.New("the answer has no single body section")
)

// header is the start of every message.
type header struct {
	length     int
	requestID  int32
	responseTo int32
	opcode     int32
}

// parseHeader reads the 16 bytes at the start of b and refuses lengths that cannot be.
func parseHeader(b []byte, maxMessage int) (header, error) {
	h := header{
		length:     int(int32(binary.LittleEndian.Uint32(b))),
		requestID:  int32(binary.LittleEndian.Uint32(b[4:])),
		responseTo: int32(binary.LittleEndian.Uint32(b[8:])),
		opcode:     int32(binary.LittleEndian.Uint32(b[12:])),
	}
	if h.length < headerLen || h.length > maxMessage {
		return h, fmt.Errorf("the answer claims to be %d bytes long (allowed: %d to %d); is this a MongoDB port?",
			h.length, headerLen, maxMessage)
	}
	return h, nil
}

// messageBody returns the body document of a whole OP_MSG that answers request id.
func messageBody(msg []byte, h header, id int32) ([]byte, error) {
	if h.responseTo != id {
		return nil, fmt.Errorf("the answer belongs to request %d, not to %d", h.responseTo, id)
	}
	if h.opcode != opMsg {
		return nil, fmt.Errorf("the answer has opcode %d instead of OP_MSG (%d)", h.opcode, opMsg)
	}
	if len(msg) < bodyStart {
		return nil, errSections
	}
	flags := binary.LittleEndian.Uint32(msg[headerLen:])
	if flags&flagsRequired&^flagChecksum != 0 {
		return nil, fmt.Errorf("the answer has flags %#x that were not asked for", flags)
	}
	sections := msg[headerLen+4:]
	if flags&flagChecksum != 0 {
		if len(sections) < 4 {
			return nil, errSections
		}
		sections = sections[:len(sections)-4]
	}
	return bodySection(sections)
}

// bodySection finds the one section of kind 0 and steps over document sequences.
func bodySection(b []byte) (body []byte, err error) {
	for len(b) > 0 {
		kind := b[0]
		n := rawbson.Size(rawbson.Document, b[1:])
		if n < 0 || n > len(b)-1 || kind > 1 || (kind == 0 && body != nil) {
			return nil, errSections
		}
		if kind == 0 {
			body = b[1 : 1+n]
		}
		b = b[1+n:]
	}
	if body == nil {
		return nil, errSections
	}
	return body, nil
}

// beginMessage starts an OP_MSG with an open command document in dst[:0]. The document ends with
// rawbson.Close(dst, bodyStart).
func beginMessage(dst []byte) []byte {
	dst = append(dst[:0], 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xdd, 0x07, 0, 0) // opcode 2013
	dst = append(dst, 0, 0, 0, 0, 0)                                            // flags, kind 0
	return append(dst, 0, 0, 0, 0)                                              // length of the document
}

// sealMessage writes what is known only at the end: length, request id and flags.
func sealMessage(msg []byte, id int32, flags uint32) {
	binary.LittleEndian.PutUint32(msg, uint32(len(msg)))
	binary.LittleEndian.PutUint32(msg[4:], uint32(id))
	binary.LittleEndian.PutUint32(msg[headerLen:], flags)
}
