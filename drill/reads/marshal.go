package reads

import (
	"encoding/binary"
	"errors"
	"maps"
	"slices"

	"github.com/plimsoll-bench/plimsoll/internal/varint"
)

// AppendBinary appends the history for [Parse].
func (h *History) AppendBinary(b []byte) ([]byte, error) {
	b = binary.AppendUvarint(b, uint64(h.chunks))
	b = binary.AppendUvarint(b, uint64(len(h.servers)))
	for _, name := range h.servers {
		b = binary.AppendUvarint(b, uint64(len(name)))
		b = append(b, name...)
	}
	numbers := slices.Sorted(maps.Keys(h.sessions))
	b = binary.AppendUvarint(b, uint64(len(numbers)))
	for _, n := range numbers {
		s := h.sessions[n]
		b = binary.AppendUvarint(b, uint64(n))
		b = binary.AppendUvarint(b, uint64(s.dropped))
		b = binary.AppendVarint(b, s.shift)
		b = binary.AppendUvarint(b, uint64(len(s.chunks)))
		for i := range s.chunks {
			b = binary.AppendUvarint(b, uint64(len(s.chunks[i].bytes)))
			b = append(b, s.chunks[i].bytes...)
		}
	}
	return b, nil
}

var errDamaged = errors.New("reads: the history of a load process is damaged")

// mostName bounds the name of a server.
const mostName = 1 << 10

// Parse reads a history at the beginning of b and returns what follows it.
func Parse(b []byte) (*History, []byte, error) {
	d := decoder{varint.Reader{B: b}}
	h := New(1, 0)
	h.chunks = int(max(2, d.Get(1<<30)))
	h.servers, h.index = nil, map[string]int{}
	for range d.Get(mostServers) {
		h.servers = append(h.servers, string(d.Take(d.Get(mostName))))
		h.index[h.servers[len(h.servers)-1]] = len(h.servers) - 1
	}
	if d.Bad || len(h.servers) == 0 || h.servers[0] != "" {
		return nil, nil, errDamaged
	}
	for n := d.Get(1 << 24); n > 0 && !d.Bad; n-- {
		s := &Session{h: h, number: int(d.Get(1<<24 - 1)), dropped: int64(d.Get(1 << 62)), shift: d.Signed()}
		for c := d.Get(1 << 30); c > 0 && !d.Bad; c-- {
			s.chunks = append(s.chunks, chunk{bytes: d.Take(d.Get(chunkSize))})
		}
		if d.Bad || h.sessions[s.number] != nil || s.shift > mostTime || s.shift < -mostTime || !s.sound(len(h.servers)) {
			return nil, nil, errDamaged
		}
		h.sessions[s.number] = s
	}
	if d.Bad {
		return nil, nil, errDamaged
	}
	return h, d.B, nil
}

// sound counts the events of a session and reports whether all can be read.
func (s *Session) sound(servers int) bool {
	for i := range s.chunks {
		c := &s.chunks[i]
		d := decoder{varint.Reader{B: c.bytes}}
		var e event
		for len(d.B) > 0 {
			c.sent = d.event(&e, c.sent)
			if d.Bad || e.server >= servers {
				return false
			}
			c.events++
		}
	}
	return true
}
