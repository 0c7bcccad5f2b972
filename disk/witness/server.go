package witness

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"sync"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/wait"
)

// maxSessions limits the memory of a witness.
const maxSessions = 10_000

// Limits of connections, so that other clients cannot end a test of days.
const (
	maxConnections = 256
	// helloWithin is the time limit for the name of the session, silence that between later lines.
	helloWithin = 10 * time.Second
	silence     = 24 * time.Hour
	// acceptAgain is the wait before the next try if the system cannot accept a connection.
	acceptAgain = 200 * time.Millisecond
)

// Server is a witness.
type Server struct {
	// Log receives messages for the user; it may be nil.
	Log func(text string)

	mu       sync.Mutex
	sessions map[string]int64
	file     *os.File // nil without one
	group    sync.WaitGroup
	open     int // connections
}

// note is one line of the file of a witness.
type note struct {
	Session string `json:"session"`
	Number  int64  `json:"number"`
}

// NewServer makes a witness with a file, so that it can be restarted. Without a name it has its numbers only in memory.
func NewServer(name string) (*Server, error) {
	s := &Server{sessions: map[string]int64{}}
	if name == "" {
		return s, nil
	}
	if err := s.load(name); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(name, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return nil, fmt.Errorf("cannot open the file of the witness: %w", err)
	}
	s.file = f
	return s, nil
}

// load reads the file of an earlier witness without an incomplete last line.
func (s *Server) load(name string) error {
	f, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("cannot read the file of an earlier witness: %w", err)
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var n note
		if json.Unmarshal(lines.Bytes(), &n) == nil && CheckSession(n.Session) == nil {
			s.sessions[n.Session] = max(s.sessions[n.Session], n.Number)
		}
	}
	return nil
}

// Serve answers until ctx ends, and closes the listener. If the system has no free descriptors, it waits for some.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	stop := context.AfterFunc(ctx, func() { l.Close() })
	defer stop()
	defer func() {
		s.group.Wait()
		if s.file != nil {
			s.file.Close()
		}
	}()
	full := false
	for {
		conn, err := l.Accept()
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, net.ErrClosed):
			return fmt.Errorf("the witness cannot accept connections: %w", err)
		case err != nil:
			if !full {
				s.say(fmt.Sprintf("the witness cannot accept another connection: %v. Close some, or start the witness with a higher ulimit -n", err))
			}
			full = true
			_ = wait.Sleep(ctx, acceptAgain)
			continue
		}
		full = false
		s.group.Go(func() { s.serve(ctx, conn) })
	}
}

// serve handles and closes one connection.
func (s *Server) serve(ctx context.Context, conn net.Conn) {
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	s.mu.Lock()
	s.open++
	open := s.open
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		s.open--
		s.mu.Unlock()
	}()
	err := fmt.Errorf("the witness already has %d connections: close some, or start another witness", maxConnections)
	if open <= maxConnections {
		s.say("connection from " + conn.RemoteAddr().String())
		err = s.talk(conn)
	}
	if !errors.Is(err, io.EOF) && ctx.Err() == nil {
		_ = conn.SetWriteDeadline(time.Now().Add(helloWithin)) // closes a client that does not read
		fmt.Fprintf(conn, "error %v\n", err)
		s.say(fmt.Sprintf("connection from %s ended: %v", conn.RemoteAddr(), err))
	}
}

func (s *Server) say(text string) {
	if s.Log != nil {
		s.Log(text)
	}
}

// talk handles one writer until it disconnects (io.EOF) or violates the protocol.
func (s *Server) talk(conn net.Conn) error {
	in := bufio.NewReaderSize(conn, 2*maxLine)
	next := func(within time.Duration) (string, error) {
		if err := conn.SetReadDeadline(time.Now().Add(within)); err != nil {
			return "", err
		}
		return readLine(in)
	}
	line, err := next(helloWithin)
	if err != nil {
		return err
	}
	session, err := parseHello(line)
	if err != nil {
		return err
	}
	highest, err := s.highest(session)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintf(conn, "ok %d\n", highest); err != nil {
		return err
	}
	for {
		if line, err = next(silence); err != nil {
			return err
		}
		n, err := s.hear(session, line)
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(conn, "%d\n", n); err != nil {
			return err
		}
	}
}

// highest returns the highest number of a session.
func (s *Server) highest(session string) (int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, known := s.sessions[session]; !known && len(s.sessions) >= maxSessions {
		return 0, errors.New("the witness has too many sessions: start another witness")
	}
	return s.sessions[session], nil
}

// hear stores a number, or returns the highest one for the line "?".
func (s *Server) hear(session, line string) (int64, error) {
	if line == "?" {
		return s.highest(session)
	}
	n, err := parseNumber(line)
	if err != nil {
		return 0, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if have := s.sessions[session]; n != have+1 {
		return 0, fmt.Errorf("record %d follows %d, but the numbers of a session must grow by one: use another --session", n, have)
	}
	if s.file != nil {
		b, err := json.Marshal(note{session, n})
		if err != nil {
			return 0, err
		}
		if _, err := s.file.Write(append(b, '\n')); err != nil {
			return 0, fmt.Errorf("the witness cannot write its file: %w", err)
		}
	}
	s.sessions[session] = n
	return n, nil
}
