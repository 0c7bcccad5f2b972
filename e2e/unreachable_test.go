//go:build !race

package e2e

import (
	"fmt"
	"io"
	"net"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/plimsoll-bench/plimsoll/internal/mongouri"
)

// Credentials of all addresses in this file, escaped and unescaped.
const (
	user         = "bob"
	password     = "Wh1sper%40m3"
	passwordMean = "Wh1sper@m3"
)

// commands load an address, with a timeout.
func commands(address, timeout string) map[string][]string {
	uri := "mongodb://" + user + ":" + password + "@" + address + "/e2e_refused"
	load := []string{"--workload", "a", "--records", "10", "--operations", "10", "--timeout", timeout, "--out", out}
	return map[string][]string{
		"run wire":   append([]string{"run", uri, "--client", "wire"}, load...),
		"run driver": append([]string{"run", uri, "--client", "driver"}, load...),
		"ycsb": {"ycsb", "load", "mongodb", "-P", "workloada", "-p", "mongodb.url=" + uri, "-p", "recordcount=10",
			"-p", "plimsoll.timeout=" + timeout, "-p", "plimsoll.out=" + out},
	}
}

// attempts are started commands with an unusable address.
type attempts map[string]*command

func attempt(t *testing.T, address, timeout string) attempts {
	t.Helper()
	a := attempts{}
	for name, args := range commands(address, timeout) {
		a[name] = start(t, args...)
	}
	return a
}

// checkRefused waits for the commands. Each must name the address and the next step, exit with 3, and hide the
// credentials.
func (a attempts) checkRefused(t *testing.T, address, says string) {
	t.Helper()
	for name, c := range a {
		t.Run(name, func(t *testing.T) {
			e := c.wait(t).must(t, 3)
			if e.stdout != "" {
				t.Errorf("there is a result on standard output: %q", e.stdout)
			}
			if !strings.Contains(e.stderr, "plimsoll: ") || !strings.Contains(e.stderr, address) || !strings.Contains(e.stderr, "check") {
				t.Errorf("the message does not name the address and what to check: %q", e.stderr)
			}
			if !regexp.MustCompile(says).MatchString(e.stderr) {
				t.Errorf("the message does not say %q: %q", says, e.stderr)
			}
			checkNoCredentials(t, e, password, passwordMean, "Wh1sper")
		})
	}
}

// answering listens and calls a function for each connection, then closes it.
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
			_, _ = c.Read(make([]byte, 4096)) // until the client closes
		}
	}
}

// deaf reserves a port without listening on it.
func deaf(t *testing.T) string {
	t.Helper()
	syscall.ForkLock.RLock()
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	if err == nil {
		syscall.CloseOnExec(fd)
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Close(fd) })
	if err := syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		t.Fatal(err)
	}
	at, err := syscall.Getsockname(fd)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("127.0.0.1:%d", at.(*syscall.SockaddrInet4).Port)
}

// TestUnreachable starts all commands at once, because each of them waits for its timeout. On a busy machine, an
// attempt to connect takes some of it.
func TestUnreachable(t *testing.T) {
	inTurn(t, 5)
	nobody := deaf(t)
	const foreign = "MongoDB|message" // expected message with another server
	cases := []struct {
		name, address, says string
		attempts            attempts
	}{
		{name: "nobody listens", address: nobody, says: "refused"},
		{name: "a web server", address: answering(t, after("HTTP/1.1 400 Bad Request\r\nContent-Length: 5\r\n\r\nsorry")), says: foreign},
		{name: "talks first", address: answering(t, func(c net.Conn) {
			_, _ = c.Write([]byte("SSH-2.0-OpenSSH_9.2p1 Debian-2\r\n"))
			after("\x00")(c)
		}), says: foreign},
		{name: "a length of zero", address: answering(t, after(strings.Repeat("\x00", 100))), says: foreign},
		{name: "silence", address: answering(t, func(c net.Conn) { _, _ = io.Copy(io.Discard, c) }), says: "time|answer|deadline"},
		{name: "hangs up", address: answering(t, func(net.Conn) {}), says: "closed|reset|EOF|broke"},
	}
	for i := range cases {
		cases[i].attempts = attempt(t, cases[i].address, "5s")
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) { c.attempts.checkRefused(t, c.address, c.says) })
	}
}

// TestWrongPassword checks that servers without users refuse credentials too.
func TestWrongPassword(t *testing.T) {
	inTurn(t, 5)
	forEachServer(t, func(t *testing.T, s *server) {
		address, err := mongouri.Parse(s.uri)
		if err != nil {
			t.Fatal(err)
		}
		attempt(t, address.Hosts, patience.String()).checkRefused(t, address.Hosts, "password")
	})
}

// TestNotAnAddress uses malformed addresses.
func TestNotAnAddress(t *testing.T) {
	inTurn(t, 5)
	for _, c := range []struct {
		target string
		code   int
	}{
		{"mongo://" + user + ":" + password + "@127.0.0.1/", 2},
		{user + ":" + password + "@127.0.0.1", 2},
		{"mongodb://" + user + ":" + password + "@/", 2},
		{"mongodb://" + user + ":" + passwordMean + "@127.0.0.1/", 2}, // not escaped
		{"mongodb://127.0.0.1:1/?wtimeoutMSS=3", 2},
	} {
		for _, client := range clients {
			t.Run(c.target+" "+client, func(t *testing.T) {
				e := plimsoll(t, "run", c.target, "--workload", "a", "--client", client, "--out", out).must(t, c.code)
				checkNoCredentials(t, e, password, passwordMean, "Wh1sper")
			})
		}
	}
}
