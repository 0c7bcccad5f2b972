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
)

// Names of the files of a throw-away certificate.
const (
	authorityFile   = "ca.pem"   // for clients
	certificateFile = "cert.pem" // for the server
	keyFile         = "key.pem"  // for the server, secret
)

// certificateLife is longer than any throw-away server lives.
const certificateLife = 365 * 24 * time.Hour

// certificate is what a server needs to speak TLS and a client needs to trust it, as PEM.
type certificate struct {
	authority, cert, key []byte
}

// authority signs certificates. Its key is never written, so nobody can make another certificate that its clients trust.
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

// issue makes a certificate and its key, as PEM, for a server that is reached on loopback or at address, if there is one.
// A mongod is also a client of the other members of its set, and all of them have the same organisation: with
// clusterAuthMode x509 they know each other by that (manual: "Use X.509 Certificate for Membership Authentication").
func (a authority) issue(name, address string, now time.Time) (cert, key []byte, err error) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	leaf := certificateTemplate(pkix.Name{CommonName: name, Organization: []string{"Plimsoll"}, OrganizationalUnit: []string{"servers"}}, now)
	leaf.KeyUsage, leaf.ExtKeyUsage = x509.KeyUsageDigitalSignature, []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
	leaf.DNSNames, leaf.IPAddresses = []string{"localhost"}, []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback}
	if ip := net.ParseIP(address); ip != nil {
		leaf.IPAddresses = append(leaf.IPAddresses, ip)
	}
	certDER, certErr := x509.CreateCertificate(rand.Reader, leaf, a.cert, &private.PublicKey, a.key)
	keyDER, keyErr := x509.MarshalPKCS8PrivateKey(private)
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certDER}),
		pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER}), errors.Join(certErr, keyErr)
}

// newCertificate makes an authority and a certificate of it for this machine's loopback.
func newCertificate(now time.Time) (certificate, error) {
	a, err := newAuthority(now)
	if err != nil {
		return certificate{}, err
	}
	cert, key, err := a.issue("localhost", "", now)
	return certificate{authority: a.text, cert: cert, key: key}, err
}

// WriteCertificates makes an authority and a certificate of it for each host, given by name and address, and writes them
// into dir: [CAFile] for clients, and for each host a file with its certificate and its key. Only the owner may read them.
func WriteCertificates(dir string, hosts map[string]string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("cannot keep the certificates of the lab: %w", err)
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
		return fmt.Errorf("cannot make the certificates of the lab: %w", err)
	}
	return nil
}

// CAFile is the file with the authority in a directory of [WriteCertificates].
func CAFile(dir string) string { return filepath.Join(dir, authorityFile) }

// hostCertificate is the file of a host in a directory of [WriteCertificates].
func hostCertificate(dir, host string) string { return filepath.Join(dir, "host-"+host+".pem") }

// trust is what a client needs to connect to a server at address. The name is said because a unix socket has none.
func trust(caFile, address string) (*tls.Config, error) {
	text, err := os.ReadFile(caFile)
	if err != nil {
		return nil, fmt.Errorf("cannot read the authority of the certificates: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("there is no certificate in %s", caFile)
	}
	return &tls.Config{RootCAs: pool, ServerName: address, MinVersion: tls.VersionTLS12}, nil
}

// certificateTemplate is what all certificates have in common. It is valid from an hour ago, for
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

// write writes the server's files into serverDir, which only the user uid can enter, and the
// authority's into clientDir.
func (c certificate) write(clientDir, serverDir string, uid, gid int) error {
	if err := os.Mkdir(serverDir, 0o700); err != nil {
		return err
	}
	err := os.WriteFile(filepath.Join(clientDir, authorityFile), c.authority, 0o600)
	for name, text := range map[string][]byte{certificateFile: c.cert, keyFile: c.key} {
		name = filepath.Join(serverDir, name)
		err = errors.Join(err, os.WriteFile(name, text, 0o600), os.Chown(name, uid, gid))
	}
	return errors.Join(err, os.Chown(serverDir, uid, gid))
}
