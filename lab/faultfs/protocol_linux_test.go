package faultfs

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"path/filepath"
	"strings"
	"testing"
)

// conversation is a connection whose client said everything at once.
type conversation struct {
	io.Reader
	bytes.Buffer
}

func (c *conversation) Read(b []byte) (int, error) { return c.Reader.Read(b) }

// Whatever comes over the socket is answered with a line for each command or an error, and never ends the program.
func FuzzProtocol(f *testing.F) {
	for _, seed := range []string{
		`{"do":"hello"}`, `{"do":"create","disk":"a","size":4096}`, `{"do":"create","disk":"../a","size":4096}`,
		`{"do":"set","disk":"a","fault":{"kind":"slow","delay":1000}}`, `{"do":"set","disk":"a"}`,
		`{"do":"cut","cut":{"keep":0.5,"block":512}}`, `{"do":"restore"}`, `{"do":"clear","kinds":["hang"]}`, `{"do":"list"}`,
		`{"do":"stats","disk":"a"}`, `{"do":"remove","disk":"a"}`, `{"do":`, `null`, `[]`, `{"do":"create","disk":"a","size":1e300}`, "\x00\xff",
		`{"do":"create","disk":"b","size":512,"device":{"parallel":-1},"cache":{"size":0}}`,
		"{\"do\":\"create\",\"disk\":\"a\",\"size\":4096}\n{\"do\":\"cut\",\"disk\":\"a\"}\n{\"do\":\"stats\",\"disk\":\"a\"}",
	} {
		f.Add([]byte(seed + "\n"))
	}
	f.Fuzz(func(t *testing.T, input []byte) {
		if bytes.Contains(input, []byte(`imit`)) {
			return // timers would outlive the case
		}
		tree := newTree(t.TempDir())
		defer func() {
			for _, d := range tree.byName {
				_ = d.close()
			}
		}()
		c := &conversation{Reader: bytes.NewReader(input)}
		tree.serveConn(c)
		for line := range strings.Lines(c.Buffer.String()) {
			var r reply
			if err := json.Unmarshal([]byte(line), &r); err != nil || !strings.HasSuffix(line, "\n") {
				t.Errorf("the answer %q: %v", line, err)
			}
		}
		for name := range tree.byName {
			if checkName(name) != nil {
				t.Errorf("a disk was made with the name %q", name)
			}
		}
	})
}

func TestLongLinesAreRefused(t *testing.T) {
	endless := io.MultiReader(bytes.NewReader(bytes.Repeat([]byte("x"), maxLine+1)))
	if err := readLine(bufio.NewReader(endless), &request{}); !errors.Is(err, errLineTooLong) {
		t.Errorf("%v", err)
	}
	if err := readLine(bufio.NewReader(strings.NewReader("{}")), &request{}); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("half a line gives %v", err)
	}
}

// A client gives up when its context ends, whatever the other side does, and names what it wanted.
func TestClientGivesUp(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "s")
	if _, err := Dial(t.Context(), socket); err == nil || !strings.Contains(err.Error(), "plimsoll faultfs") {
		t.Errorf("without a faultfs: %v", err)
	}
	l, err := net.Listen("unix", socket)
	must(t, err)
	defer l.Close()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() { // silent, and given up once it is certainly waited for
		if conn, err := l.Accept(); err == nil {
			_ = readLine(bufio.NewReader(conn), &request{})
			cancel()
		}
	}()
	c := &Client{socket}
	if err := c.Set(ctx, "a", Fault{Kind: Hang}); !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "set a") {
		t.Errorf("a silent faultfs: %v", err)
	}
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			_ = readLine(bufio.NewReader(conn), &request{}) // closing with something unread would reset the connection
			_ = writeLine(conn, reply{Version: protocolVersion + 1})
			conn.Close()
		}
	}()
	if _, err := Dial(t.Context(), socket); err == nil || !strings.Contains(err.Error(), "version") {
		t.Errorf("a faultfs of another version: %v", err)
	}
}
