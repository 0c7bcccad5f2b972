package wire

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/plimsoll-bench/plimsoll/store"
	"github.com/plimsoll-bench/plimsoll/store/null"
)

// certificate makes a self-signed certificate for a name and returns the files of the certificate and of
// certificate and key together.
func certificate(t *testing.T, name string) (cert, both string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name},
		DNSNames:  []string{name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
		KeyUsage:    x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	certPEM := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	keyPEM := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER})
	dir := t.TempDir()
	cert, both = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "both.pem")
	for file, content := range map[string][]byte{cert: certPEM, both: append(certPEM, keyPEM...)} {
		if err := os.WriteFile(file, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return cert, both
}

// tlsResponder serves a responder behind TLS that demands a client certificate signed by ca.
func tlsResponder(t *testing.T, both, ca string) string {
	t.Helper()
	pair, err := tls.LoadX509KeyPair(both, both)
	if err != nil {
		t.Fatal(err)
	}
	pool, err := certificatePool(ca)
	if err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	ctx := t.Context()
	go func() {
		done <- null.Serve(ctx, tls.NewListener(ln, &tls.Config{Certificates: []tls.Certificate{pair},
			ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: pool}), null.Options{})
	}()
	t.Cleanup(func() { <-done })
	_, port, _ := net.SplitHostPort(ln.Addr().String())
	return port
}

func TestTLS(t *testing.T) {
	serverCert, server := certificate(t, "localhost")
	clientCert, client := certificate(t, "client")
	_, stranger := certificate(t, "stranger")
	port := tlsResponder(t, server, clientCert)
	for _, tc := range []struct {
		name, options string
		works         bool
	}{
		{"verified", "localhost:" + port + "/?tls=true&tlsCAFile=" + serverCert + "&tlsCertificateKeyFile=" + client, true},
		{"not verified", "localhost:" + port + "/?tls=true&tlsInsecure=true&tlsCertificateKeyFile=" + client, true},
		{"any certificate", "localhost:" + port + "/?tls=true&tlsAllowInvalidCertificates=true&tlsCertificateKeyFile=" + client, true},
		{"other name", "127.0.0.1:" + port + "/?tls=true&tlsCAFile=" + serverCert + "&tlsCertificateKeyFile=" + client, false},
		{"other name allowed", "127.0.0.1:" + port + "/?tls=true&tlsAllowInvalidHostnames=true&tlsCAFile=" + serverCert + "&tlsCertificateKeyFile=" + client, true},
		{"other name allowed, unknown authority", "127.0.0.1:" + port + "/?tls=true&tlsAllowInvalidHostnames=true&tlsCAFile=" + clientCert + "&tlsCertificateKeyFile=" + client, false},
		{"unknown authority", "localhost:" + port + "/?tls=true&tlsCertificateKeyFile=" + client, false},
		{"no client certificate", "localhost:" + port + "/?tls=true&tlsCAFile=" + serverCert, false},
		{"wrong client certificate", "localhost:" + port + "/?tls=true&tlsCAFile=" + serverCert + "&tlsCertificateKeyFile=" + stranger, false},
		{"in the clear", "localhost:" + port + "/", false},
		{"no such file", "localhost:" + port + "/?tlsCAFile=/nowhere/ca.pem", false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			if !tc.works {
				if s, err := Open(t.Context(), store.Config{Target: "mongodb://" + tc.options, Database: "db",
					Timeout: time.Second}); err == nil {
					t.Fatal("it was opened", s.Close())
				}
				return
			}
			bothWays(t, func(t *testing.T, wrap func(*Store) store.Store) { useTLS(t, wrap, tc.options) })
		})
	}
}

func useTLS(t *testing.T, wrap func(*Store) store.Store, options string) {
	opened, err := Open(t.Context(), store.Config{Target: "mongodb://" + options, Database: "db", Timeout: 30 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	s := wrap(opened)
	defer s.Close()
	session, err := s.Session(0)
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	var res store.Result
	session.Do(time.Now().Add(10*time.Second), findRequest(t), &res)
	if res.Outcome != store.OK {
		t.Errorf("%+v", res)
	}
	insertMany := insertRequest(t, 1000)
	session.Do(time.Now().Add(10*time.Second), insertMany, &res)
	if res.Outcome != store.OK || res.Docs != 1000 {
		t.Errorf("%+v", res)
	}
}
