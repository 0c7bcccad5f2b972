package wording

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestOf(t *testing.T) {
	for text, want := range map[string]string{
		"context deadline exceeded":                                                 "no answer within the time limit",
		"members: dial tcp 127.0.0.1:27017: i/o timeout":                            "members: 127.0.0.1:27017: no answer within the time limit",
		"dial tcp 127.0.0.1:1: connect: connection refused":                         "127.0.0.1:1: connection refused",
		"dial tcp: lookup db9.example on 10.0.0.2:53: no such host":                 "db9.example: no such host",
		"read tcp 127.0.0.1:40000->127.0.0.1:27017: read: connection reset by peer": "127.0.0.1:27017: connection reset",
		"the ledger: write tcp [::1]:9->[::1]:27017: write: broken pipe":            "the ledger: [::1]:27017: the connection was closed",
		"read tcp 10.0.0.1:5->10.0.0.2:27017: i/o timeout":                          "10.0.0.2:27017: no answer within the time limit",
		"open /data/x: no such file or directory":                                   "/data/x: no such file or directory",
		"an idle client gets no answer: (InternalError) unexpected EOF":             "an idle client gets no answer: (InternalError) it ended too early",
		"run.json is damaged: unexpected end of JSON input":                         "run.json is damaged: it ends early",
		"the connection to db1:27017 failed: EOF":                                   "the connection to db1:27017 failed: the other side closed it",
		"cannot connect to db1:1: dial tcp db1:1: connect: connection refused":      "cannot connect to db1:1: connection refused",
		"mount: signal: killed":                                                     "mount: it was killed (SIGKILL)",
		"server selection error: context deadline exceeded, current topology: { Type: ReplicaSetNoPrimary, Servers: [{ Addr: " +
			"127.0.0.1:1, Type: Unknown, Last error: dial tcp 127.0.0.1:1: connect: connection refused }, { Addr: 127.0.0.1:2, " +
			"Type: RSSecondary, Average RTT: 210000 }, ] }": "no server was found in time: 127.0.0.1:1: connection refused, 127.0.0.1:2 (RSSecondary)",
		"server selection error: server selection timeout, current topology: { Type: Single, Servers: [{ Addr: a:1, Type: Unknown, " +
			"Last error: connection() error occurred during connection handshake: dial tcp 10.0.0.1:1: connect: no route to host }, ] }": "no server was found in time: 10.0.0.1:1: no route to host",
		"connection(127.0.0.1:27017[-12]) incomplete read of message header: EOF": "127.0.0.1:27017: the other side closed it",
		"pool.go:90 (documentdb.(*Pool).Acquire): failed to connect to `user=plimsoll database=postgres`: 127.0.0.1:29303 (127.0.0.1): " +
			"dial error: dial tcp 127.0.0.1:29303: connect: connection refused 127.0.0.1:24023 (127.0.0.1): ValidateConnect failed: " +
			"read only connection": "failed to connect: 127.0.0.1:29303: connect: connection refused 127.0.0.1:24023: read-only",
	} {
		if got := Of(text); got != want {
			t.Errorf("%s\n got  %s\n want %s", text, got, want)
		}
	}
}

// What a person wrote stays, and so does what was rewritten.
func TestOfWordsOfPeople(t *testing.T) {
	for _, text := range []string{
		"", "faster by 5 %", "read 5 MiB: no more than that", "open the report: plimsoll show r1", "a label (EOF) of a user",
		"the timeout of 30 s passed", "127.0.0.1:27017: connection refused. Is mongod running?", "a -> b",
		"find: users (10.0.0.1 only)", "see run.go:12", "open db1: it is a member",
	} {
		if got := Of(text); got != text {
			t.Errorf("%q became %q", text, got)
		}
	}
}

// Errors as Go makes them leave none of its words.
func TestOfErrorsOfGo(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := silent.Addr().String()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	_ = conn.SetReadDeadline(time.Unix(1, 0))
	_, timeout := conn.Read(make([]byte, 1))
	other, err := silent.Accept()
	if err != nil {
		t.Fatal(err)
	}
	_ = silent.Close()
	_ = other.Close()
	_ = conn.SetReadDeadline(time.Time{})
	_, closed := conn.Read(make([]byte, 1))
	_ = conn.Close()
	_, used := conn.Read(make([]byte, 1))
	_, refused := net.Dial("tcp", address)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, canceled := (&net.Dialer{}).DialContext(ended, "tcp", address)
	_, missing := os.Open(filepath.Join(t.TempDir(), "none"))
	for _, err := range []error{timeout, closed, used, refused, canceled, missing, exec.Command("/none/such").Run(),
		exec.Command("no-such-program").Run(), context.DeadlineExceeded, io.ErrUnexpectedEOF, io.EOF, os.ErrDeadlineExceeded} {
		if err == nil {
			t.Fatal("no error")
		}
		for _, text := range []string{err.Error(), fmt.Errorf("the ledger of db1: %w", err).Error(), errors.Join(errors.New("a"), err).Error()} {
			got := Of(text)
			if word := Left(got); word != "" || strings.Contains(got, "  ") || Of(got) != got {
				t.Errorf("%q became %q, with %q", text, got, word)
			}
		}
	}
}

func FuzzOf(f *testing.F) {
	f.Add("dial tcp 127.0.0.1:1: connect: connection refused")
	f.Add("pool.go:90 (documentdb.(*Pool).Acquire): EOF")
	f.Fuzz(func(t *testing.T, text string) {
		if got := Of(text); len(got) > 40*len(text)+40 {
			t.Errorf("%q became %q", text, got)
		}
	})
}

// Expressions are compiled when they are used first, so a wrong one would be found late.
func TestAllExpressionsAreValid(t *testing.T) {
	for _, r := range rules {
		r.find()
	}
	twice()
	left()
}
