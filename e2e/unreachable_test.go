//go:build !race

package e2e

import (
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The credentials of all addresses in this file, as they are written there and as they are meant.
const (
	user         = "bob"
	password     = "Wh1sper%40m3"
	passwordMean = "Wh1sper@m3"
)

// commands are the ways to load an address, with a short timeout.
func commands(address string) map[string][]string {
	uri := "mongodb://" + user + ":" + password + "@" + address + "/e2e_refused"
	load := []string{"--workload", "a", "--records", "10", "--operations", "10", "--timeout", "2s", "--out", out}
	return map[string][]string{
		"run wire":   append([]string{"run", uri, "--client", "wire"}, load...),
		"run driver": append([]string{"run", uri, "--client", "driver"}, load...),
		"ycsb": {"ycsb", "load", "mongodb", "-P", "workloada", "-p", "mongodb.url=" + uri, "-p", "recordcount=10",
			"-p", "plimsoll.timeout=2s", "-p", "plimsoll.out=" + out},
	}
}

// checkRefused runs all commands against an address that cannot be loaded. They must say so in one line that
// names the address and what to check, end with 3 and give nothing away.
func checkRefused(t *testing.T, address, says string) {
	t.Helper()
	for name, args := range commands(address) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := plimsoll(t, args...).must(t, 3)
			if e.stdout != "" {
				t.Errorf("there is a result on standard output: %q", e.stdout)
			}
			lines := strings.Split(strings.TrimSpace(e.stderr), "\n")
			last := lines[len(lines)-1]
			if !strings.HasPrefix(last, "plimsoll: ") || !strings.Contains(last, address) || !strings.Contains(last, "check") {
				t.Errorf("the message does not name the address and what to check: %q", last)
			}
			if !regexp.MustCompile(says).MatchString(last) {
				t.Errorf("the message does not say %q: %q", says, last)
			}
			checkNoCredentials(t, e)
		})
	}
}

// checkNoCredentials looks for the password in all that a command printed and wrote.
func checkNoCredentials(t *testing.T, e ended) {
	t.Helper()
	texts := map[string]string{"standard output": e.stdout, "standard error": e.stderr}
	err := filepath.WalkDir(e.dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(name)
		texts[name] = string(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range texts {
		for _, secret := range []string{password, passwordMean, "Wh1sper"} {
			if strings.Contains(text, secret) {
				t.Errorf("%s holds the password:\n%s", name, text)
			}
		}
	}
}

// answering listens and lets a function answer each connection, which is then closed.
func answering(t *testing.T, answer func(net.Conn)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() { answer(c); _ = c.Close() }()
		}
	}()
	return l.Addr().String()
}

// after answers the first bytes of a connection with a text.
func after(text string) func(net.Conn) {
	return func(c net.Conn) {
		if _, err := c.Read(make([]byte, 4096)); err == nil {
			_, _ = c.Write([]byte(text))
			_, _ = c.Read(make([]byte, 4096)) // until the other side has had enough
		}
	}
}

func TestUnreachable(t *testing.T) {
	closed := answering(t, nil)
	gone, err := net.Listen("tcp", "127.0.0.1:0") // a port that was free a moment ago
	if err != nil {
		t.Fatal(err)
	}
	closed = gone.Addr().String()
	if err := gone.Close(); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, address, says string
	}{
		{"nobody listens", closed, "refused"},
		{"a web server", answering(t, after("HTTP/1.1 400 Bad Request\r\nContent-Length: 5\r\n\r\nsorry")), "MongoDB|message"},
		{"another protocol", answering(t, func(c net.Conn) { _, _ = c.Write([]byte("SSH-2.0-OpenSSH_9.2p1 Debian-2\r\n")); after("\x00")(c) }), "MongoDB|message"},
		{"a length of zero", answering(t, after(strings.Repeat("\x00", 100))), "MongoDB|message"},
		{"silence", answering(t, func(c net.Conn) { _, _ = c.Read(make([]byte, 4096)); _, _ = c.Read(make([]byte, 1)) }), "time|answer|deadline"},
		{"hangs up", answering(t, func(net.Conn) {}), "closed|reset|EOF|broke"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			checkRefused(t, c.address, c.says)
		})
	}
}

// TestWrongPassword is refused by servers without users as well.
func TestWrongPassword(t *testing.T) {
	forEachServer(t, func(t *testing.T, s *server) {
		address := strings.TrimSuffix(strings.TrimPrefix(s.uri, "mongodb://"), "/")
		checkRefused(t, address, "password")
	})
}

// TestNotAnAddress is a mistake in the command line.
func TestNotAnAddress(t *testing.T) {
	for _, target := range []string{"mongo://" + user + ":" + password + "@127.0.0.1/", "mongodb://" + user + ":" + password + "@/", user + ":" + password + "@127.0.0.1"} {
		t.Run(target, func(t *testing.T) {
			e := plimsoll(t, "run", target, "--workload", "a", "--out", out)
			if e.code != 2 && e.code != 3 {
				t.Errorf("ended with %d:\n%s", e.code, e.stderr)
			}
			checkNoCredentials(t, e)
		})
	}
}
