package nats

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/plimsoll-bench/plimsoll/internal/expression"
)

// embedded is a NATS server in this process. It can be started again with the same address, certificate and store.
type embedded struct {
	opts     server.Options
	space    string
	own      string // password of the coordinator, which is never stored
	password string // of agents

	mu       sync.Mutex
	now      *server.Server
	expelled map[string]bool // names of agents
}

// mostSubscriptions bounds those of a connection. An agent has two, and one for each part that it performs.
const mostSubscriptions = 1000

// coordinatorUser is the name of the coordinator at its server. No agent has it.
const coordinatorUser = "coordinator"

// An agent may only use its own subjects.
func (e *embedded) Check(c server.ClientAuthentication) bool {
	o := c.GetOpts()
	same := func(password string) bool {
		return subtle.ConstantTimeCompare([]byte(o.Password), []byte(password)) == 1
	}
	if o.Username == coordinatorUser {
		return same(e.own)
	}
	e.mu.Lock()
	out := e.expelled[o.Username]
	e.mu.Unlock()
	if out || !validID().MatchString(o.Username) || !same(e.password) {
		return false
	}
	publish, subscribe := Permissions(e.space, o.Username)
	c.RegisterUser(&server.User{Username: o.Username, Permissions: &server.Permissions{
		Publish: &server.SubjectPermission{Allow: publish}, Subscribe: &server.SubjectPermission{Allow: subscribe}}})
	return true
}

// validID is [idOf].
var validID = expression.New(`^[0-9a-f]{32}$`)

// expel ends the connections of an agent, and refuses new ones.
func (e *embedded) expel(id string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.expelled[id] = true
	if e.now == nil {
		return
	}
	all, err := e.now.Connz(&server.ConnzOptions{Username: true, User: id})
	if err != nil {
		return // it has no connection
	}
	for _, c := range all.Conns {
		_ = e.now.DisconnectClientByID(c.Cid) // it may have ended
	}
}

// newEmbedded prepares a server. It starts on the address of the state, which has its token and its certificate.
func newEmbedded(dir, space string, s *state) (*embedded, error) {
	host, port, err := net.SplitHostPort(s.Listen)
	if err != nil {
		return nil, fmt.Errorf("the address to listen on: %w. Use HOST:PORT", err)
	}
	number, err := strconv.Atoi(port)
	if err != nil {
		return nil, fmt.Errorf("the address to listen on has the port %q. Use a number", port)
	}
	if number == 0 {
		number = server.RANDOM_PORT
	}
	pair, err := tls.X509KeyPair(s.Certificate, s.TLSKey)
	if err != nil {
		return nil, err
	}
	e := &embedded{space: space, own: randomName(16), password: s.token("").password(), expelled: map[string]bool{}}
	e.opts = server.Options{
		ServerName: "plimsoll", Host: host, Port: number, CustomClientAuthentication: e, NoSigs: true, NoLog: true,
		TLSConfig:  &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS13},
		TLSTimeout: manyAtMost.Seconds(),
		JetStream:  true, StoreDir: filepath.Join(dir, "store"), NoSystemAccount: true,
		MaxConn: mostAgents + 1, MaxSubs: mostSubscriptions,
	}
	return e, nil
}

// start starts the server and returns its address.
func (e *embedded) start() (string, error) {
	address := net.JoinHostPort(e.opts.Host, strconv.Itoa(max(0, e.opts.Port)))
	if e.opts.Port > 0 {
		// The server reports an address that is in use only in its log.
		l, err := net.Listen("tcp", address)
		if err != nil {
			return "", fmt.Errorf("the embedded NATS server cannot listen on %s: %w. Use another address, or end the program that "+
				"uses this one", address, err)
		}
		l.Close()
	}
	opts := e.opts
	s, err := server.NewServer(&opts)
	if err != nil {
		return "", fmt.Errorf("the embedded NATS server: %w", err)
	}
	go s.Start()
	if !s.ReadyForConnections(time.Minute) {
		s.Shutdown()
		return "", fmt.Errorf("the embedded NATS server did not start on %s within a minute. Check the directory %s", address,
			e.opts.StoreDir)
	}
	if !s.JetStreamEnabled() {
		s.Shutdown()
		return "", fmt.Errorf("the embedded NATS server cannot use its directory %s. Check its owner and the free space", e.opts.StoreDir)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.now = s
	bound, ok := s.Addr().(*net.TCPAddr)
	if !ok {
		return "", errors.New("the embedded NATS server has no address")
	}
	e.opts.Port = bound.Port
	return net.JoinHostPort(e.opts.Host, strconv.Itoa(bound.Port)), nil
}

// store is how many bytes the server may store: three quarters of what was free when it started.
func (e *embedded) store() int64 {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.now == nil || e.now.JetStreamConfig() == nil {
		return 0
	}
	return e.now.JetStreamConfig().MaxStore
}

// probe writes to the store. A server whose disk is full says so only in its log, and does not answer publishers.
func (e *embedded) probe() error {
	name := filepath.Join(e.opts.StoreDir, "probe")
	err := os.WriteFile(name, make([]byte, 64<<10), 0o600)
	_ = os.Remove(name) // the directory is removed after the run
	if err == nil {
		return nil
	}
	return fmt.Errorf("the coordinator cannot store messages of the run: %w. Check the free space of its disk, and run again", err)
}

func (e *embedded) stop() {
	e.mu.Lock()
	s := e.now
	e.mu.Unlock()
	if s != nil {
		s.Shutdown()
		s.WaitForShutdown()
	}
}

// InProcessConn connects the coordinator to the server of the moment.
func (e *embedded) InProcessConn() (net.Conn, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.now == nil {
		return nil, net.ErrClosed
	}
	return e.now.InProcessConn()
}

// newCertificate makes a certificate. Agents know its fingerprint, so it has no authority and no names.
func newCertificate() (certificate, key []byte, err error) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	now := time.Now()
	template := x509.Certificate{SerialNumber: big.NewInt(now.UnixNano()), Subject: pkix.Name{CommonName: "plimsoll coordinator"},
		NotBefore: now.AddDate(0, 0, -1), NotAfter: now.AddDate(10, 0, 0)}
	der, err := x509.CreateCertificate(rand.Reader, &template, &template, private.Public(), private)
	if err != nil {
		return nil, nil, err
	}
	encoded, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		return nil, nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: encoded}), nil
}

// fingerprint identifies a certificate.
func fingerprint(der []byte) string {
	sum := sha256.Sum256(der)
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

// pinned accepts the certificate with a fingerprint and no other.
func pinned(want string) *tls.Config {
	return &tls.Config{
		MinVersion:         tls.VersionTLS13,
		InsecureSkipVerify: true, // VerifyConnection does it
		VerifyConnection: func(c tls.ConnectionState) error {
			if len(c.PeerCertificates) == 0 || fingerprint(c.PeerCertificates[0].Raw) != want {
				return errOtherCertificate
			}
			return nil
		},
	}
}

var errOtherCertificate = errors.New("its certificate is not the one of the token")
