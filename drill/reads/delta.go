package reads

import (
	"encoding/binary"
	"maps"
	"slices"

	"github.com/plimsoll-bench/plimsoll/internal/varint"
)

// AppendDelta appends what was noted since the last call, for [Remote.Take].
func (h *History) AppendDelta(b []byte) []byte {
	h.mu.Lock()
	sessions := slices.SortedFunc(maps.Values(h.sessions), func(a, b *Session) int { return a.number - b.number })
	h.mu.Unlock()
	var delta []byte
	count := uint64(0)
	for _, s := range sessions {
		var any bool
		if delta, any = s.appendDelta(delta); any {
			count++
		}
	}
	h.mu.Lock() // after the sessions, so that it has the servers of all their events
	defer h.mu.Unlock()
	b = binary.AppendUvarint(b, uint64(len(h.servers)-h.handed))
	for _, name := range h.servers[h.handed:] {
		b = binary.AppendUvarint(b, uint64(len(name)))
		b = append(b, name...)
	}
	h.handed = len(h.servers)
	b = binary.AppendUvarint(b, count)
	return append(b, delta...)
}

// appendDelta appends the events of a session since the last call. It returns false, and b as it was, without any.
func (s *Session) appendDelta(b []byte) ([]byte, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	from := s.handed
	if from.chunk < s.first {
		from = place{chunk: s.first}
	}
	chunks := s.chunks[from.chunk-s.first:]
	if len(chunks) == 0 || len(chunks) == 1 && len(chunks[0].bytes) == from.offset {
		return b, false
	}
	for _, n := range []uint64{uint64(s.number), uint64(s.dropped), s.first, from.chunk, uint64(from.offset),
		uint64(len(chunks))} {
		b = binary.AppendUvarint(b, n)
	}
	for i := range chunks {
		fresh := chunks[i].bytes[from.offset:]
		b = binary.AppendUvarint(b, uint64(len(fresh)))
		b = append(b, fresh...)
		from.offset = 0
	}
	last := len(s.chunks) - 1
	s.handed = place{s.first + uint64(last), len(s.chunks[last].bytes)}
	return b, true
}

// Remote is the sessions of another process in a history.
type Remote struct {
	h       *History
	shift   int64 // to be added to all times
	servers []int // their numbers in h, by those of the other process
}

// Remote returns an empty one. shift is added to the times of its sessions, which must have other numbers than those of
// h.
func (h *History) Remote(shift int64) *Remote { return &Remote{h: h, shift: shift} }

func (p *Remote) translate(e *event) {
	e.sent += p.shift
	e.ended += p.shift
	e.server = p.servers[e.server]
}

// mostName bounds the name of a server.
const mostName = 1 << 10

// Take reads what [History.AppendDelta] appended. The reader is bad after invalid data.
func (p *Remote) Take(r *varint.Reader) {
	for n := r.Get(mostServers); n > 0 && !r.Bad; n-- {
		p.servers = append(p.servers, p.h.serverIndex(string(r.Take(r.Get(mostName)))))
	}
	if len(p.servers) == 0 || len(p.servers) > mostServers || p.shift > mostTime || p.shift < -mostTime {
		r.Fail()
	}
	for n := r.Get(1 << 24); n > 0 && !r.Bad; n-- {
		number := int(r.Get(1<<24 - 1))
		s := p.h.Session(number)
		if s.remote == nil && len(s.chunks) == 0 {
			s.remote = p
		}
		if s.remote != p || !s.take(r) {
			r.Fail()
		}
	}
}

// take reads what is new of a session. It returns false if they do not continue what is known.
func (s *Session) take(r *varint.Reader) bool {
	dropped, first := int64(r.Get(1<<62)), r.Get(1<<62)
	at := place{chunk: r.Get(1 << 62), offset: int(r.Get(chunkSize))}
	for s.first < first && len(s.chunks) > 0 {
		s.chunks = s.chunks[1:]
		s.first++
	}
	if len(s.chunks) == 0 {
		s.first = first
	}
	if s.first != first {
		return false
	}
	s.dropped = dropped
	for n := r.Get(1 << 30); n > 0 && !r.Bad; n-- {
		fresh := r.Take(r.Get(chunkSize))
		if at == (place{chunk: first + uint64(len(s.chunks))}) {
			s.chunks = append(s.chunks, chunk{})
		}
		last := len(s.chunks) - 1
		if last < 0 || at != (place{first + uint64(last), len(s.chunks[last].bytes)}) ||
			!s.chunks[last].take(fresh, s.remote) {
			return false
		}
		at = place{chunk: at.chunk + 1}
	}
	return !r.Bad
}

// take appends events. It returns false if they cannot be read.
func (c *chunk) take(fresh []byte, p *Remote) bool {
	if len(c.bytes)+len(fresh) > chunkSize {
		return false
	}
	d := decoder{varint.Reader{B: fresh}}
	var e event
	for len(d.B) > 0 {
		c.sent = d.event(&e, c.sent)
		if d.Bad || e.server >= len(p.servers) {
			return false
		}
		c.events++
	}
	c.bytes = append(c.bytes, fresh...)
	return true
}

// Cut notes that the last events of a session are not known, because its process was killed.
func (h *History) Cut(number int) { h.Session(number).cut = true }
