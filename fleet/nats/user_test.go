package nats

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/plimsoll-bench/plimsoll/fleet"
)

// userServer starts a NATS server as a user has it, and returns its address and the file of its authority.
func userServer(t *testing.T, jetStream bool) Server {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), IsCA: true,
		NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, &template, &template, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	ca := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: server.RANDOM_PORT, NoSigs: true, NoLog: true,
		Username: "u", Password: "p", JetStream: jetStream, StoreDir: t.TempDir(), TLSTimeout: 10,
		TLSConfig: &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: private}}}})
	if err != nil {
		t.Fatal(err)
	}
	go s.Start()
	if !s.ReadyForConnections(patience) {
		t.Fatal("the server did not start")
	}
	t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
	return Server{URL: "tls://u:p@" + s.Addr().String(), CA: ca}
}

// Coordinator and agents use the user's server, and coordinators with spaces of their own do not meet.
func TestUserServer(t *testing.T) {
	t.Parallel()
	theirs := userServer(t, true)
	for _, name := range []string{"", "other"} {
		c := open(t, Options{Server: theirs, Space: name})
		if c.Connect() != theirs.URL || strings.Count(c.Token(), ".") != 1 {
			t.Errorf("agents connect to %s with %q", c.Connect(), c.Token())
		}
		wires := make(chan fleet.Wire, 1)
		start(t, AgentOptions{Server: c.serverOf(), Space: name, Facts: fleet.Facts{Name: "agent"}}, hand(wires))
		link := c.wait(t, 1)[0]
		agent := <-wires
		link.Send([]byte("down"))
		agent.Send([]byte("up"))
		expectFrames(t, agent, "down")
		expectFrames(t, link, "up")
	}
	expectRefused(t, Options{Server: theirs}, `another coordinator uses the space "plimsoll"`)
}

// A server that cannot be used is one sentence with what to do.
func TestUserServerRefuses(t *testing.T) {
	t.Parallel()
	theirs, other := userServer(t, true), userServer(t, false)
	expectRefused(t, Options{Server: Server{URL: theirs.URL, CA: other.CA}}, "is from an unknown authority")
	expectRefused(t, Options{Server: Server{URL: theirs.URL, CA: filepath.Join(t.TempDir(), "none")}}, "no such file")
	expectRefused(t, Options{Server: Server{URL: strings.Replace(theirs.URL, "u:p@", "u:x@", 1), CA: theirs.CA}},
		"does not accept the credentials")
	expectRefused(t, Options{Server: other}, "Enable JetStream")
	expectRefused(t, Options{Server: Server{URL: "nats://127.0.0.1:1"}}, "connection refused. Start the server")
	expectRefused(t, Options{Listen: strings.TrimPrefix(theirs.URL, "tls://u:p@")}, "address already in use")
	expectRefused(t, Options{Listen: "127.0.0.1"}, "Use HOST:PORT")
}

func expectRefused(t *testing.T, o Options, part string) {
	t.Helper()
	o.Dir = filepath.Join(t.TempDir(), "coordinator")
	c, err := Open(context.Background(), o)
	if err == nil {
		c.Close()
	}
	if err == nil || !strings.Contains(err.Error(), part) || strings.Contains(err.Error(), "u:p@") {
		t.Errorf("opened with %v, want %q", err, part)
	}
}

// A connection that takes longer than the two seconds after which a server sends its first PING is made again.
func TestSlowConnection(t *testing.T) {
	t.Parallel()
	s, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: server.RANDOM_PORT, NoSigs: true, NoLog: true})
	if err != nil {
		t.Fatal(err)
	}
	go s.Start()
	if !s.ReadyForConnections(patience) {
		t.Fatal("the server did not start")
	}
	t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
	p := newProxy(t, s.Addr().String())
	p.split <- 2500 * time.Millisecond
	nc, err := Server{URL: "nats://" + p.listener.Addr().String()}.connect("slow")
	if err != nil {
		t.Fatal(err)
	}
	nc.Close()
}
