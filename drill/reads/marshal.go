package reads

import (
	"encoding/binary"
	"errors"
	"slices"
)

// AppendBinary appends the history as another process can read it.
func (h *History) AppendBinary(b []byte) ([]byte, error) {
	b = binary.AppendUvarint(b, uint64(h.chunks))
	b = binary.AppendUvarint(b, uint64(len(h.servers)))
	for _, name := range h.servers {
		b = binary.AppendUvarint(b, uint64(len(name)))
		b = append(b, name...)
	}
	numbers := make([]int, 0, len(h.sessions))
	for n := range h.sessions {
		numbers = append(numbers, n)
	}
	slices.Sort(numbers)
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

// errDamaged says that bytes are no history.
var errDamaged = errors.New("reads: this is not a history that was handed over, or it is damaged")

// mostName bounds the name of a server.
const mostName = 1 << 10

// Parse reads a history at the beginning of b and returns what follows it.
func Parse(b []byte) (*History, []byte, error) {
	d := decoder{b: b}
	h := New(1, 0)
	h.chunks = int(max(2, d.get(1<<30)))
	h.servers, h.index = nil, map[string]int{}
	for range d.get(mostServers) {
		h.servers = append(h.servers, string(d.take(d.get(mostName))))
		h.index[h.servers[len(h.servers)-1]] = len(h.servers) - 1
	}
	if d.bad || len(h.servers) == 0 || h.servers[0] != "" {
		return nil, nil, errDamaged
	}
	for n := d.get(1 << 24); n > 0 && !d.bad; n-- {
		s := &Session{h: h, number: int(d.get(1<<24 - 1)), dropped: int64(d.get(1 << 62)), shift: d.signed()}
		for c := d.get(1 << 30); c > 0 && !d.bad; c-- {
			s.chunks = append(s.chunks, chunk{bytes: d.take(d.get(chunkSize))})
		}
		if d.bad || h.sessions[s.number] != nil || s.shift > mostTime || s.shift < -mostTime || !s.sound(len(h.servers)) {
			return nil, nil, errDamaged
		}
		h.sessions[s.number] = s
	}
	if d.bad {
		return nil, nil, errDamaged
	}
	return h, d.b, nil
}

// take returns n bytes.
func (d *decoder) take(n uint64) []byte {
	if n > uint64(len(d.b)) {
		d.bad, d.b = true, nil
		return nil
	}
	out := d.b[:n:n]
	d.b = d.b[n:]
	return out
}

// sound counts the events of a session, and reports whether all of them can be read.
func (s *Session) sound(servers int) bool {
	for i := range s.chunks {
		c := &s.chunks[i]
		d := decoder{b: c.bytes}
		var e event
		for len(d.b) > 0 {
			c.sent = d.event(&e, c.sent)
			if d.bad || e.server >= servers {
				return false
			}
			c.events++
		}
	}
	return true
}
