package engine

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/safeopen"
)

// Names of certificate files.
const (
	authorityFile   = "ca.pem"   // for clients
	certificateFile = "cert.pem" // for the server
)

// certificateLife is longer than the life of a lab or a temporary server.
const certificateLife = 365 * 24 * time.Hour

// authority is a CA. Its key is never written to a file, so nobody can make another certificate that its clients trust.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	text []byte // the certificate, as PEM
}

func newAuthority(now time.Time) (authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return authority{}, err
	}
	cert := certificateTemplate(pkix.Name{CommonName: "Plimsoll throw-away authority"}, now)
	cert.IsCA, cert.BasicConstraintsValid, cert.MaxPathLenZero = true, true, true
	cert.KeyUsage = x509.KeyUsageCertSign
	der, err := x509.CreateCertificate(rand.Reader, cert, cert, &key.PublicKey, key)
	return authority{cert, key, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})}, err
}

// issue makes a certificate and its key, as PEM, for a server on loopback and at address, which may be empty. A mongod
// is also a client of the other members of its set. All certificates have the same organization, because with
// clusterAuthMode x509 it identifies members (manual: "Use X.509 Certificate for Membership Authentication").
func (a authority) issue(name, address string, now time.Time) (cert, key []byte, err error) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	leaf := certificateTemplate(pkix.Name{CommonName: name, Organization: []string{"Plimsoll"},
		OrganizationalUnit: []string{"servers"}}, now)
	leaf.KeyUsage = x509.KeyUsageDigitalSignature
	leaf.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
	leaf.DNSNames, leaf.IPAddresses = []string{"localhost"}, []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback}
	if ip := net.ParseIP(address); ip != nil {
		leaf.IPAddresses = append(leaf.IPAddresses, ip)
	}
	certDER, certErr := x509.CreateCertificate(rand.Reader, leaf, a.cert, &private.PublicKey, a.key)
	keyDER, keyErr := x509.MarshalPKCS8PrivateKey(private)
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certDER}),
		pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER}), errors.Join(certErr, keyErr)
}

// WriteCertificates makes a CA and a certificate for each host, given by name and address. It writes into dir [CAFile]
// for clients, and a file with certificate and key for each host. Only the owner may read them.
func WriteCertificates(dir string, hosts map[string]string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("cannot make the directory of the certificates: %w", err)
	}
	now := time.Now()
	a, err := newAuthority(now)
	if err == nil {
		err = os.WriteFile(CAFile(dir), a.text, 0o600)
	}
	for name, address := range hosts {
		cert, key, issueErr := a.issue(name, address, now)
		err = errors.Join(err, issueErr)
		if err != nil {
			break
		}
		err = os.WriteFile(hostCertificate(dir, name), append(cert, key...), 0o600)
	}
	if err != nil {
		return fmt.Errorf("cannot make the certificates: %w", err)
	}
	return nil
}

// CAFile returns the file with the CA's certificate in a directory of [WriteCertificates].
func CAFile(dir string) string { return filepath.Join(dir, authorityFile) }

// hostCertificate returns the file of a host in a directory of [WriteCertificates].
func hostCertificate(dir, host string) string { return filepath.Join(dir, "host-"+host+".pem") }

// trust returns the TLS configuration of a client for a server at address. It sets the server's name, because a Unix
// socket has none.
func trust(caFile, address string) (*tls.Config, error) {
	text, err := safeopen.ReadPath(caFile, 16<<20)
	if err != nil {
		return nil, fmt.Errorf("cannot read the CA's certificate: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("there is no certificate in %s", caFile)
	}
	return &tls.Config{RootCAs: pool, ServerName: address, MinVersion: tls.VersionTLS12}, nil
}

// certificateTemplate has the common fields of all certificates. They are valid from an hour ago, for
// clients in a container whose clock is a little behind.
func certificateTemplate(name pkix.Name, now time.Time) *x509.Certificate {
	serial := make([]byte, 16)
	rand.Read(serial) // never fails: crypto/rand ends the program instead
	serial[0] &= 0x7f // positive
	return &x509.Certificate{
		SerialNumber: new(big.Int).SetBytes(serial), Subject: name,
		NotBefore: now.Add(-time.Hour), NotAfter: now.Add(certificateLife),
	}
}
