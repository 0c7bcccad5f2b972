//go:build !race

package e2e

import (
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/plimsoll-bench/plimsoll/lab/engine"
	"github.com/plimsoll-bench/plimsoll/lab/engine/enginetest"
)

// secret is a password with characters that need escaping, and letters that RFC 4013 changes.
const secret = "s3cr3t/@:%?#&=+ 'ﬁ\" ä$1"

// secured starts documentdb with access control and returns the parts of its address. ok is false without documentdb.
func secured(t *testing.T, args ...string) (s *server, address *url.URL, ok bool) {
	t.Helper()
	if _, ok := enginetest.DocumentDB(t); !ok {
		return nil, nil, false
	}
	file := filepath.Join(t.TempDir(), "password")
	if err := os.WriteFile(file, []byte(secret+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s = begin(t, engine.DocumentDB, append([]string{"--auth", "--user", "ada", "--password-file", file}, args...)...)
	address, err := url.Parse(s.uri)
	if err != nil {
		t.Fatal(err)
	}
	if password, _ := address.User.Password(); password != secret || address.User.Username() != "ada" {
		t.Fatalf("the address is %q", s.uri)
	}
	return s, address, true
}

// with returns an address with another user, or none, and other options.
func with(address *url.URL, user *url.Userinfo, options string) string {
	u := *address
	u.User, u.RawQuery = user, options
	return u.String()
}

// loadArgs is a run of workload a.
func loadArgs(uri, db, client, timeout string) []string {
	return []string{"run", uri, "--database", db, "--client", client, "--workload", "a", "--records", "200", "--operations", "300",
		"--threads", "4", "--timeout", timeout, "--format", "json", "--out", out, "--quiet"}
}

// checkWorks loads and runs through both clients and counts on the server.
func checkWorks(t *testing.T, s *server, name, uri string) {
	t.Helper()
	for _, client := range clients {
		t.Run(name+"/"+client, func(t *testing.T) {
			db := newDatabase(name, client)
			e := plimsoll(t, loadArgs(uri, db, client, patience.String())...).must(t, 0)
			r := e.record(t)
			if r.Fill == nil || r.Fill.Inserted != 200 {
				t.Errorf("loaded %+v", r.Fill)
			}
			if n := s.count(t, db, "usertable"); n != 200 {
				t.Errorf("%d documents, want 200", n)
			}
			e.showAgain(t, 0)
			checkNoCredentials(t, e, "s3cr3t", "wr0ng")
		})
	}
}

// refusal is an unusable address and the words of its message.
type refusal struct {
	name, uri string
	says      []string
	code      int  // exit code; 0 means 3
	waits     bool // the commands try again until the timeout
}

// check expects both clients to end with the code, the reason and the next step, and without any password.
func (c refusal) check(t *testing.T) {
	if c.code == 0 {
		c.code = 3
	}
	timeout := patience.String()
	if c.waits {
		timeout = "3s"
	}
	for _, client := range clients {
		t.Run(c.name+"/"+client, func(t *testing.T) {
			e := plimsoll(t, loadArgs(c.uri, newDatabase(c.name, client), client, timeout)...).must(t, c.code)
			for _, word := range c.says {
				if !strings.Contains(e.stderr, word) {
					t.Errorf("the message does not say %q: %s", word, e.stderr)
				}
			}
			if e.stdout != "" {
				t.Errorf("there is a result: %s", e.stdout)
			}
			checkNoCredentials(t, e, "s3cr3t", "wr0ng")
		})
	}
}

// TestSCRAM logs in over a connection in the clear.
func TestSCRAM(t *testing.T) {
	inTurn(t, 5)
	s, address, ok := secured(t)
	if !ok {
		return
	}
	checkWorks(t, s, "chosen by the server", s.uri)
	checkWorks(t, s, "named", with(address, address.User, "authMechanism=SCRAM-SHA-256&authSource=admin"))
	for _, c := range []refusal{
		{"wrong password", with(address, url.UserPassword("ada", "wr0ng"), ""), []string{"check", "password", "authSource"}, 0, false},
		{"nobody", with(address, nil, ""), []string{"user", "password", "authentication"}, 0, false},
		{"wrong user", with(address, url.UserPassword("bob", secret), ""), []string{"check", "password", "authSource"}, 0, false},
		{"mechanism", with(address, address.User, "authMechanism=SCRAM-SHA-1"), []string{"SCRAM-SHA-1", "not enabled", "check"}, 0, false},
		{"TLS", with(address, address.User, "tls=true"), []string{"check", "TLS"}, 0, true},
	} {
		c.check(t)
	}
}

// TestTLS connects with and without trust in the server's certificate.
func TestTLS(t *testing.T) {
	inTurn(t, 5)
	s, address, ok := secured(t, "--tls")
	if !ok {
		return
	}
	checkWorks(t, s, "tlsCAFile", s.uri)
	localhost := *address
	localhost.Host = "localhost:" + address.Port()
	checkWorks(t, s, "localhost", localhost.String())
	checkWorks(t, s, "insecure", with(address, address.User, "tls=true&tlsInsecure=true"))
	for _, c := range []refusal{
		{"wrong password", with(address, url.UserPassword("ada", "wr0ng"), address.RawQuery), []string{"check", "password"}, 0, false},
		{"unknown authority", with(address, address.User, "tls=true"), []string{"certificate signed by unknown authority", "check", "TLS"}, 0, true},
		{"in the clear", with(address, address.User, ""), []string{"check", "TLS"}, 0, true},
		{"no such file", with(address, address.User, "tls=true&tlsCAFile=/nowhere/ca.pem"), []string{"/nowhere/ca.pem: no such file"}, 2, false},
	} {
		c.check(t)
	}
}
