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
	flagsRequired  = 0xffff // refuse unknown flags of these

	// bodyStart is the index of the command document, after the header, the flags and the kind of the first section.
	bodyStart = headerLen + 4 + 1

	// maxMessageLimit bounds any length in a message. Servers announce 48,000,000 bytes; this limit also applies to a
	// server that announces more.
	maxMessageLimit = 64 << 20

	defaultMaxMessage = 48_000_000
	defaultMaxBatch   = 100_000
)

var (
	errBSON     = errors.New("the reply is not valid BSON")
	errUnasked  = errors.New("the server sent an unexpected message")
	errNoOK     = errors.New("the reply has no field ok, so the result of the command is not known")
	errNoBatch  = errors.New("the reply to a query has no valid cursor")
	errSections = errors.New("the reply does not have exactly one body section")
)

// header is the start of every message.
type header struct {
	length     int
	requestID  int32
	responseTo int32
	opcode     int32
}

// parseHeader reads the 16 bytes at the start of b and refuses invalid lengths.
func parseHeader(b []byte, maxMessage int) (header, error) {
	h := header{
		length:     int(int32(binary.LittleEndian.Uint32(b))),
		requestID:  int32(binary.LittleEndian.Uint32(b[4:])),
		responseTo: int32(binary.LittleEndian.Uint32(b[8:])),
		opcode:     int32(binary.LittleEndian.Uint32(b[12:])),
	}
	if h.length < headerLen || h.length > maxMessage {
		return h, fmt.Errorf("the reply has an invalid length of %d bytes (allowed: %d to %d); is this a MongoDB port?",
			h.length, headerLen, maxMessage)
	}
	return h, nil
}

// messageBody returns the body document of an OP_MSG that is the reply to request id.
func messageBody(msg []byte, h header, id int32) ([]byte, error) {
	if h.responseTo != id {
		return nil, fmt.Errorf("the reply belongs to request %d, not to %d", h.responseTo, id)
	}
	if h.opcode != opMsg {
		return nil, fmt.Errorf("the reply has opcode %d instead of OP_MSG (%d)", h.opcode, opMsg)
	}
	if len(msg) < bodyStart {
		return nil, errSections
	}
	flags := binary.LittleEndian.Uint32(msg[headerLen:])
	if flags&flagsRequired&^flagChecksum != 0 {
		return nil, fmt.Errorf("the reply has unexpected flags %#x", flags)
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

// bodySection finds the section of kind 0 and skips document sequences.
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

// sealMessage writes the length, the request id and the flags into the finished message.
func sealMessage(msg []byte, id int32, flags uint32) {
	binary.LittleEndian.PutUint32(msg, uint32(len(msg)))
	binary.LittleEndian.PutUint32(msg[4:], uint32(id))
	binary.LittleEndian.PutUint32(msg[headerLen:], flags)
}
