package course

import (
	"math"
	"strconv"
	"time"
)

// scanner reads the JSON lines that package record writes: nothing in it is escaped, and there is no white space.
// It is many times faster than package encoding/json, which reads every line that does not look like that.
type scanner struct {
	b     []byte
	at    int
	depth int
	bad   bool
}

// maxDepth is deeper than any line that is written.
const maxDepth = 50

// next is the next byte, 0 at the end.
func (s *scanner) next() byte {
	if s.at < len(s.b) {
		return s.b[s.at]
	}
	s.bad = true
	return 0
}

func (s *scanner) expect(c byte) {
	if s.next() != c {
		s.bad = true
		s.at = len(s.b)
		return
	}
	s.at++
}

// word reads a text without escapes.
func (s *scanner) word() []byte {
	s.expect('"')
	rest := s.b[s.at:]
	for i, c := range rest {
		if c == '"' {
			s.at += i + 1
			return rest[:i]
		}
		if c == '\\' || c < ' ' {
			break
		}
	}
	s.bad = true
	s.at = len(s.b)
	return nil
}

// number reads a number as it is written.
func (s *scanner) number() []byte {
	rest := s.b[s.at:]
	n := 0
	for n < len(rest) && (rest[n]-'0' < 10 || rest[n] == '-' || rest[n] == '+' || rest[n] == '.' || rest[n] == 'e' || rest[n] == 'E') {
		n++
	}
	s.at += n
	if n == 0 {
		s.bad = true
		s.at = len(s.b)
	}
	return rest[:n]
}

// whole reads a whole number.
func (s *scanner) whole() int64 {
	text := s.number()
	n, sign := int64(0), int64(1)
	for i, c := range text {
		switch {
		case i == 0 && c == '-' && len(text) > 1:
			sign = -1
		case c < '0' || c > '9' || n > (math.MaxInt64-9)/10:
			s.bad = true
			return 0
		default:
			n = 10*n + int64(c-'0')
		}
	}
	return sign * n
}

func (s *scanner) float() float64 {
	x, err := strconv.ParseFloat(string(s.number()), 64)
	s.bad = s.bad || err != nil
	return x
}

// object calls f with each key; f reads the value.
func (s *scanner) object(f func(key []byte)) {
	s.expect('{')
	if s.next() == '}' {
		s.at++
		return
	}
	for !s.bad {
		key := s.word()
		s.expect(':')
		f(key)
		if s.next() != ',' {
			break
		}
		s.at++
	}
	s.expect('}')
}

func (s *scanner) array(f func()) {
	s.expect('[')
	if s.next() == ']' {
		s.at++
		return
	}
	for !s.bad {
		f()
		if s.next() != ',' {
			break
		}
		s.at++
	}
	s.expect(']')
}

// skip passes a value of any kind.
func (s *scanner) skip() {
	if s.depth++; s.depth > maxDepth {
		s.bad = true
		s.at = len(s.b)
		return
	}
	defer func() { s.depth-- }()
	switch c := s.next(); {
	case c == '{':
		s.object(func([]byte) { s.skip() })
	case c == '[':
		s.array(s.skip)
	case c == '"':
		s.word()
	case c == 't', c == 'n':
		s.literal(4)
	case c == 'f':
		s.literal(5)
	default:
		s.number()
	}
}

func (s *scanner) literal(n int) {
	if s.at+n > len(s.b) {
		s.bad = true
		n = len(s.b) - s.at
	}
	s.at += n
}

// scan reads a line in the form in which it was written; ok is false if it has another one.
func (d *reader) scan(text []byte) (l line, ok bool) {
	s := scanner{b: text}
	s.object(func(key []byte) {
		switch string(key) {
		case "phase":
			l.phase = d.phase(s.word())
		case "start_ns":
			l.start = time.Duration(s.whole())
		case "end_ns":
			l.end = time.Duration(s.whole())
		case "offered":
			l.offered = s.whole()
		case "dropped":
			l.dropped = s.whole()
		case "workers":
			l.workers = int(s.whole())
		case "in_flight":
			l.inFlight = s.float()
		case "in_flight_samples":
			l.samples = int(s.whole())
		case "lateness":
			s.skip()
			l.logged++
		case "classes":
			s.array(func() { d.scanClass(&s, &l) })
		default:
			s.skip()
		}
	})
	rest := s.b[min(s.at, len(s.b)):]
	return l, !s.bad && (len(rest) == 0 || len(rest) == 1 && rest[0] == '\n')
}

// scanClass reads a class. Its name comes first, because it is the first field of [record.IntervalClass].
func (d *reader) scanClass(s *scanner, l *line) {
	counts := make([]int64, len(d.dims.Outcomes))
	part, named := false, false
	longest, service := int64(-1), int64(0)
	s.object(func(key []byte) {
		switch string(key) {
		case "class":
			part, named = d.parts[string(s.word())], true
		case "outcomes":
			s.object(func(name []byte) {
				if o, ok := d.index[string(name)]; ok {
					counts[o] += s.whole()
				} else {
					s.skip()
				}
			})
		case "times":
			s.object(func(kind []byte) {
				l.logged++
				most := s.longest()
				if string(kind) == d.kind {
					longest = most
				}
				if string(kind) == "service" {
					service = most
				}
			})
		default:
			s.skip()
		}
	})
	s.bad = s.bad || !named
	if part {
		return
	}
	if longest < 0 {
		longest = service
	}
	l.tally = l.tally.Add(d.dims.Tally(counts))
	l.max = max(l.max, longest)
}

// longest reads the maximum of a latency.
func (s *scanner) longest() (ns int64) {
	s.object(func(key []byte) {
		if string(key) == "max_ns" {
			ns = s.whole()
		} else {
			s.skip()
		}
	})
	return ns
}

// phase keeps one copy of each name.
func (d *reader) phase(name []byte) string {
	for _, known := range []string{"measure", "warmup", "load", "drain", "warmup-drain"} {
		if string(name) == known {
			return known
		}
	}
	return string(name)
}
