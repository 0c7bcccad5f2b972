package reads

import (
	"encoding/binary"
	"sync"

	"github.com/plimsoll-bench/plimsoll/internal/varint"
)

// Answer is what the client knows about a write.
type Answer uint8

// What the client knows.
const (
	Indeterminate Answer = iota
	Acknowledged
	Refused // proven not to have been applied
)

// Versions is the most versions that a register can have.
const Versions = 16

// DefaultLimit is the most memory that a history takes, in bytes.
const DefaultLimit = 64 << 20

// chunkSize is the part of a session, in bytes, that is kept or dropped as one piece.
const chunkSize = 4 << 10

// longest is the size limit of one event in bytes.
const longest = 1 + 7*binary.MaxVarintLen64

// mostServers bounds the server names in a history. Reads from further servers have no name.
const mostServers = 1 << 12

// History is the operations of the sessions of one run. Sessions may be used at the same time, each by one goroutine,
// and [History.AppendDelta] beside them. Everything else must wait until they have ended.
type History struct {
	mu       sync.Mutex
	sessions map[int]*Session
	servers  []string // [0] stands for an unknown one
	index    map[string]int
	chunks   int // that a session keeps at most
	handed   int // servers that were handed over
}

// New returns an empty history for about so many sessions that takes at most limit bytes; 0 is [DefaultLimit].
func New(sessions, limit int) *History {
	if limit <= 0 {
		limit = DefaultLimit
	}
	return &History{sessions: map[int]*Session{}, servers: []string{""}, index: map[string]int{"": 0},
		chunks: max(2, limit/chunkSize/max(1, sessions))}
}

// Session is the operations of one session, in order.
type Session struct {
	h       *History
	number  int // also that of the writer
	mu      sync.Mutex
	chunks  []chunk
	first   uint64 // chunks that are no longer kept
	dropped int64  // events that are no longer kept
	handed  place
	remote  *Remote // from which it is, nil for this process
	cut     bool    // its last events are not known

	server string // the last one, and its index
	at     int
}

// place is a place among the chunks of a session, counted from the first that there ever was.
type place struct {
	chunk  uint64
	offset int
}

// chunk is a part of a session that can be read alone.
type chunk struct {
	bytes  []byte
	events int64
	sent   int64 // of the last event in it, while it is written
}

// Session returns the session of a writer, new or existing.
func (h *History) Session(number int) *Session {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := h.sessions[number]
	if s == nil {
		s = &Session{h: h, number: number}
		h.sessions[number] = s
	}
	return s
}

// Event is one operation of a session. Times are nanoseconds of run time.
type Event struct {
	Read        bool
	Sent, Ended int64
	Server      string // that answered, "" if not known

	Answer   Answer // of a write
	Sequence int64  // of a write: its number among those of its writer

	Writer   int    // of a read: whose register
	Register int64  // of a read
	Seen     uint16 // of a read: the versions that it returned
}

// Note appends an operation.
func (s *Session) Note(e *Event) {
	server := s.serverIndex(e.Server)
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.room()
	kind := byte(e.Answer) << 1
	if e.Read {
		kind = 1
	}
	b := append(c.bytes, kind)
	b = binary.AppendVarint(b, e.Sent-c.sent)
	b = binary.AppendUvarint(b, uint64(max(0, e.Ended-e.Sent)))
	b = binary.AppendUvarint(b, uint64(server))
	if e.Read {
		b = binary.AppendUvarint(b, uint64(e.Writer))
		b = binary.AppendUvarint(b, uint64(e.Register))
		b = binary.AppendUvarint(b, uint64(e.Seen))
	} else {
		b = binary.AppendUvarint(b, uint64(e.Sequence))
	}
	c.bytes, c.sent = b, e.Sent
	c.events++
}

// room returns the chunk for the next event.
func (s *Session) room() *chunk {
	if n := len(s.chunks); n > 0 && len(s.chunks[n-1].bytes)+longest <= chunkSize {
		return &s.chunks[n-1]
	}
	if len(s.chunks) >= s.h.chunks {
		s.dropped += s.chunks[0].events
		s.first++
		first := s.chunks[0]
		copy(s.chunks, s.chunks[1:])
		first = chunk{bytes: first.bytes[:0]}
		s.chunks[len(s.chunks)-1] = first
	} else {
		s.chunks = append(s.chunks, chunk{bytes: make([]byte, 0, chunkSize)})
	}
	return &s.chunks[len(s.chunks)-1]
}

// serverIndex returns the number of a server. A session nearly always uses the same server as before.
func (s *Session) serverIndex(name string) int {
	if name != s.server {
		s.server, s.at = name, s.h.serverIndex(name)
	}
	return s.at
}

func (h *History) serverIndex(name string) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	i, known := h.index[name]
	if !known && len(h.servers) < mostServers {
		i = len(h.servers)
		h.servers, h.index[name] = append(h.servers, name), i
	}
	return i
}

// each calls f for the events in order, until it returns false. e is valid until f returns.
func (s *Session) each(f func(e *event) bool) {
	var e event
	for i := range s.chunks {
		d := decoder{varint.Reader{B: s.chunks[i].bytes}}
		sent := int64(0)
		for len(d.B) > 0 {
			sent = d.event(&e, sent)
			if d.Bad {
				break
			}
			if s.remote != nil {
				s.remote.translate(&e)
			}
			if !f(&e) {
				return
			}
		}
	}
}

// event is an [Event] with the number of its server.
type event struct {
	read        bool
	answer      Answer
	server      int
	sent, ended int64
	sequence    int64
	writer      int
	register    int64
	seen        uint16
}

// decoder reads what [Session.Note] wrote. After an error it is bad and returns zeros.
type decoder struct{ varint.Reader }

// The limits of an event's numbers. Times are so small that sums of them do not overflow.
const (
	mostNumber = 1 << 40
	mostTime   = 1 << 60
)

// event reads one event after one that was sent at the given time, and returns when it was sent.
func (d *decoder) event(e *event, sent int64) int64 {
	kind := d.B[0]
	d.B = d.B[1:]
	*e = event{read: kind&1 == 1, answer: Answer(kind >> 1 & 3)}
	e.sent = sent + d.Signed()
	e.ended = e.sent + int64(d.Get(mostTime))
	e.server = int(d.Get(mostServers - 1))
	if e.read {
		e.writer, e.register, e.seen = int(d.Get(1<<24-1)), int64(d.Get(mostNumber)), uint16(d.Get(1<<Versions-1))
	} else {
		e.sequence = int64(d.Get(mostNumber))
	}
	if kind > 5 || e.sent < -mostTime || e.sent > mostTime {
		d.Fail()
	}
	return e.sent
}

// Bytes returns the memory of the history.
func (h *History) Bytes() int64 {
	n := int64(0)
	for _, s := range h.sessions {
		n += int64(len(s.chunks)) * (chunkSize + 48)
	}
	return n
}

// Events counts the operations that are kept, and those that were dropped because of the limit.
func (h *History) Events() (kept, dropped int64) {
	for _, s := range h.sessions {
		for i := range s.chunks {
			kept += s.chunks[i].events
		}
		dropped += s.dropped
	}
	return kept, dropped
}
