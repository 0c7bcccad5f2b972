package engine

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
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

// newCertificate makes an authority and a certificate of it for this machine's loopback. The key of the
// authority is forgotten at once, so nobody can ever make a second certificate that its clients trust.
func newCertificate(now time.Time) (certificate, error) {
	caKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return certificate{}, err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return certificate{}, err
	}
	ca := certificateTemplate("Plimsoll throw-away authority", now)
	ca.IsCA, ca.BasicConstraintsValid, ca.MaxPathLenZero = true, true, true
	ca.KeyUsage = x509.KeyUsageCertSign
	leaf := certificateTemplate("localhost", now)
	leaf.KeyUsage, leaf.ExtKeyUsage = x509.KeyUsageDigitalSignature, []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	leaf.DNSNames, leaf.IPAddresses = []string{"localhost"}, []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback}
	caDER, caErr := x509.CreateCertificate(rand.Reader, ca, ca, &caKey.PublicKey, caKey)
	leafDER, leafErr := x509.CreateCertificate(rand.Reader, leaf, ca, &key.PublicKey, caKey)
	keyDER, keyErr := x509.MarshalPKCS8PrivateKey(key)
	return certificate{
		authority: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: caDER}),
		cert:      pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: leafDER}),
		key:       pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER}),
	}, errors.Join(caErr, leafErr, keyErr)
}

// certificateTemplate is what both certificates have in common. It is valid from an hour ago, for
// clients in a container whose clock is a little behind.
func certificateTemplate(name string, now time.Time) *x509.Certificate {
	serial := make([]byte, 16)
	rand.Read(serial) // never fails: crypto/rand ends the program instead
	serial[0] &= 0x7f // positive
	return &x509.Certificate{
		SerialNumber: new(big.Int).SetBytes(serial), Subject: pkix.Name{CommonName: name},
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
