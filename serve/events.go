package serve

import (
	"bytes"
	"cmp"
	"fmt"
	"net/http"
	"time"
)

const (
	// sendWithin is the time for a client to receive an event. Slower ones are disconnected, and reconnect.
	sendWithin = 15 * time.Second
	// aliveEvery is the longest time between two messages, so that lost clients are noticed.
	aliveEvery = 15 * time.Second
)

// stream writes server-sent events.
type stream struct {
	w http.ResponseWriter
	c *http.ResponseController
	b bytes.Buffer
}

// send writes an event. id may be empty. The browser joins the lines of data again.
func (s *stream) send(event, id, data string) error {
	s.b.Reset()
	if id != "" {
		fmt.Fprintf(&s.b, "id: %s\n", id)
	}
	fmt.Fprintf(&s.b, "event: %s\n", event)
	for line := range bytes.SplitSeq([]byte(data), []byte("\n")) {
		s.b.WriteString("data: ")
		s.b.Write(bytes.ReplaceAll(line, []byte("\r"), nil)) // it would end the line as well
		s.b.WriteByte('\n')
	}
	s.b.WriteByte('\n')
	return s.flush()
}

func (s *stream) flush() error {
	if err := s.c.SetWriteDeadline(time.Now().Add(sendWithin)); err != nil {
		return err
	}
	if _, err := s.w.Write(s.b.Bytes()); err != nil {
		return err
	}
	return s.c.Flush()
}

// events sends the changes of a record: event "picture" with the content of main, "now" with a line, and "end" when the
// record is complete or its writer ended.
func (s *Server) events(w http.ResponseWriter, r *http.Request, e Entry, dir string) {
	s.streamTo(w, r, func() (*follower, func()) { return s.follow(e, dir) })
}

// streamTo sends what a follower has to a client until one of them is gone.
func (s *Server) streamTo(w http.ResponseWriter, r *http.Request, follow func() (*follower, func())) {
	if !s.enter() {
		s.fail(w, http.StatusServiceUnavailable, errTooMany)
		return
	}
	defer s.leave()
	f, leave := follow()
	defer leave()
	h := w.Header()
	h.Set("Content-Type", "text/event-stream; charset=utf-8")
	h.Set("X-Accel-Buffering", "no")
	c := http.NewResponseController(w)
	_ = c.SetReadDeadline(time.Time{}) // nothing more is read; where it cannot be lifted, the client comes back
	st := &stream{w: w, c: c}
	st.b.WriteString("retry: 1000\n\n")
	if st.flush() != nil {
		return
	}
	st.follow(r, f, cmp.Or(r.Header.Get("Last-Event-ID"), r.URL.Query().Get("seen")))
}

// follow sends what a follower has until the client is gone or it has ended.
func (s *stream) follow(r *http.Request, f *follower, seen string) {
	now := ""
	alive := time.NewTicker(aliveEvery)
	defer alive.Stop()
	for {
		p, changed := f.get()
		var err error
		if p.picture != nil && p.picture.id != seen {
			seen = p.picture.id
			err = s.send("picture", seen, string(p.picture.body))
		}
		if err == nil && string(p.now) != now && !p.ended {
			now = string(p.now)
			err = s.send("now", "", now)
		}
		if err == nil && p.ended {
			_ = s.send("end", "", "ended") // the client is done with either way
			return
		}
		if err != nil {
			return
		}
		select {
		case <-r.Context().Done():
			return
		case <-changed:
		case <-alive.C:
			s.b.Reset()
			s.b.WriteString(": alive\n\n")
			if s.flush() != nil {
				return
			}
		}
	}
}

func (s *Server) enter() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.streams >= maxStreams || s.ctx.Err() != nil {
		return false
	}
	s.streams++
	return true
}

func (s *Server) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.streams--
}
