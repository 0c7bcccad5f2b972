package nats

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
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
)

// embedded is a NATS server in this process. It can be started again with the same address, certificate and store.
type embedded struct {
	opts server.Options

	mu  sync.Mutex
	now *server.Server
}

// newEmbedded prepares a server. It starts on the address of the state, which has its token and its certificate.
func newEmbedded(dir string, s *state) (*embedded, error) {
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
	return &embedded{opts: server.Options{
		ServerName: "plimsoll", Host: host, Port: number, Authorization: s.Token, NoSigs: true, NoLog: true,
		TLSConfig:  &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS13},
		TLSTimeout: manyAtMost.Seconds(),
		JetStream:  true, StoreDir: filepath.Join(dir, "store"), NoSystemAccount: true,
	}}, nil
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
	return hex.EncodeToString(sum[:])
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
