package witness

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/plimsoll-bench/plimsoll/record"
)

// listening starts a witness and returns its address; end ends it.
func listening(t *testing.T, file string) (address string, end func()) {
	t.Helper()
	s, err := NewServer(file)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, l) }()
	ended := false
	end = func() {
		if cancel(); !ended {
			ended = true
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
	}
	t.Cleanup(end)
	return l.Addr().String(), end
}

// wrote writes n records and leaves as if the power had been cut.
func wrote(t *testing.T, address, dir, session string, n int64) {
	t.Helper()
	c, err := Dial(t.Context(), address, session)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	got, err := Write(ctx, c, dir, session, func(k int64) {
		if k >= n {
			cancel()
		}
	})
	if err != nil || got != n {
		t.Fatalf("wrote %d, %v", got, err)
	}
}

func verified(t *testing.T, address, dir, session string) *record.ProbeDurability {
	t.Helper()
	c, err := Dial(t.Context(), address, session)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	d, err := Verify(c, dir, session)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestWitness(t *testing.T) {
	dir, file := t.TempDir(), filepath.Join(t.TempDir(), "heard")
	address, end := listening(t, file)
	wrote(t, address, dir, "a", 200)
	if d := verified(t, address, dir, "a"); d.Verdict != record.NotProvable || d.Acknowledged != 200 || d.Missing != 0 {
		t.Errorf("a power cut that cut nothing: %+v", d)
	}
	for _, c := range []struct { // one after the other
		what string
		lose func(name string) error
	}{
		{"the last unsynced records", func(name string) error { return os.Truncate(name, 180*RecordBytes) }},
		{"the unsynced file", os.Remove},
	} {
		if err := c.lose(looseName(dir, "a")); err != nil {
			t.Fatal(err)
		}
		if d := verified(t, address, dir, "a"); d.Verdict != record.Honest || d.Loose == 0 || d.Missing != 0 {
			t.Errorf("%s are gone: %+v", c.what, d)
		}
	}
	end()
	address, _ = listening(t, file) // it remembers
	name := fileName(dir, "a")
	content, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	for what, c := range map[string]struct {
		content []byte
		missing int64
	}{
		"cut off": {content[:150*RecordBytes], 50},
		"torn":    {content[:199*RecordBytes+100], 1},
		"a zero sector": {append(append(append([]byte{}, content[:RecordBytes*10]...), make([]byte, RecordBytes)...),
			content[11*RecordBytes:]...), 1},
		"empty": {nil, 200},
	} {
		if err := os.WriteFile(name, c.content, 0o600); err != nil {
			t.Fatal(err)
		}
		if d := verified(t, address, dir, "a"); d.Verdict != record.Lying || d.Missing != c.missing {
			t.Errorf("%s: %+v", what, d)
		}
	}
	if err := os.Remove(name); err != nil {
		t.Fatal(err)
	}
	if d := verified(t, address, dir, "a"); d.Missing != 200 {
		t.Errorf("gone: %+v", d)
	}
}

func TestWitnessRefuses(t *testing.T) {
	dir := t.TempDir()
	address, _ := listening(t, "")
	wrote(t, address, dir, "a", 100)
	c, err := Dial(t.Context(), address, "a")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := Write(t.Context(), c, dir, "a", nil); err == nil || !strings.Contains(err.Error(), "already") {
		t.Errorf("a session was written twice: %v", err)
	}
	if err := c.Acknowledged(102); err == nil || !strings.Contains(err.Error(), "grow by one") {
		t.Errorf("a number was left out: %v", err)
	}
	if _, err := Dial(t.Context(), address, "no/session"); err == nil {
		t.Error("a path was taken for a session")
	}
	if _, err := Dial(t.Context(), "127.0.0.1:1", "a"); err == nil || !strings.Contains(err.Error(), "no witness answers") {
		t.Errorf("%v", err)
	}
	d, err := Dial(t.Context(), address, "new")
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if _, err := Verify(d, dir, "new"); err == nil || !strings.Contains(err.Error(), "has no record") {
		t.Errorf("%v", err)
	}
}

// noDescriptors is a listener that fails some times before it accepts, as one does whose process has no descriptors
// left.
type noDescriptors struct {
	net.Listener
	failures int
}

func (l *noDescriptors) Accept() (net.Conn, error) {
	if l.failures--; l.failures >= 0 {
		return nil, &net.OpError{Op: "accept", Net: "tcp", Err: os.NewSyscallError("accept4", syscall.EMFILE)}
	}
	return l.Listener.Accept()
}

// A power cut test goes on although the witness had no descriptors for a while.
func TestWitnessWaitsForDescriptors(t *testing.T) {
	s, err := NewServer("")
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var said []string
	s.Log = func(text string) { said = append(said, text) }
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, &noDescriptors{l, 3}) }()
	wrote(t, l.Addr().String(), t.TempDir(), "a", 100)
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if n := strings.Count(strings.Join(said, "\n"), "cannot accept another connection"); n != 1 {
		t.Errorf("it was said %d times that there is no room, want once: %q", n, said)
	}
}

// Strangers take no more than a bound of connections, and their places are free again when they leave.
func TestWitnessBoundsConnections(t *testing.T) {
	address, _ := listening(t, "")
	var strangers []*Client
	for range maxConnections {
		c, err := Dial(t.Context(), address, "stranger")
		if err != nil {
			t.Fatal(err)
		}
		strangers = append(strangers, c)
	}
	if _, err := Dial(t.Context(), address, "mine"); err == nil || !strings.Contains(err.Error(), "256 connections") {
		t.Errorf("one connection too many: %v", err)
	}
	for _, c := range strangers {
		c.Close()
	}
	for { // their places are given back when the witness has read that they left
		c, err := Dial(t.Context(), address, "mine")
		if err == nil {
			c.Close()
			return
		}
		if t.Context().Err() != nil || !strings.Contains(err.Error(), "256 connections") {
			t.Fatal(err)
		}
	}
}

// FuzzTalk sends bytes to a witness, which answers with lines or ends the connection, and goes on for others.
func FuzzTalk(f *testing.F) {
	f.Add([]byte("plimsoll-witness 1 a\n1\n2\n?\n"))
	f.Add([]byte("plimsoll-witness 2 a\n"))
	f.Add([]byte("GET / HTTP/1.1\r\n\r\n"))
	f.Fuzz(func(t *testing.T, sent []byte) {
		s, err := NewServer("")
		if err != nil {
			t.Fatal(err)
		}
		here, there := net.Pipe()
		done := make(chan struct{})
		go func() {
			defer close(done)
			defer there.Close()
			if err := s.talk(there); err != nil {
				_ = there.SetWriteDeadline(time.Now().Add(time.Second))
				fmt.Fprintf(there, "error %v\n", err)
			}
		}()
		go func() {
			_, _ = here.Write(sent) // it may hang up before
			_ = here.SetReadDeadline(time.Now().Add(50 * time.Millisecond))
		}()
		for lines := bufio.NewScanner(here); lines.Scan(); {
			if text := lines.Text(); strings.ContainsAny(text, "\x00") {
				t.Errorf("%q", text)
			}
		}
		here.Close()
		<-done
		for name, n := range s.sessions {
			if CheckSession(name) != nil || n < 0 {
				t.Errorf("session %q: %d", name, n)
			}
		}
	})
}
