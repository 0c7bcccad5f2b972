package kubetest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// authority signs the certificates of a cluster and writes them into a directory.
type authority struct {
	dir  string
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(dir string) (*authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	a := &authority{dir: dir, key: key, cert: template(pkix.Name{CommonName: "kubetest"})}
	a.cert.IsCA, a.cert.BasicConstraintsValid = true, true
	a.cert.KeyUsage |= x509.KeyUsageCertSign
	return a, a.write("ca", a.cert, key)
}

func template(of pkix.Name) *x509.Certificate {
	return &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: of,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().AddDate(1, 0, 0),
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth},
	}
}

// issue writes NAME.crt and NAME.key of a user of a group, valid for addresses if it serves.
func (a *authority) issue(name, group, user string, hosts ...string) error {
	c := template(pkix.Name{CommonName: user})
	if group != "" {
		c.Subject.Organization = []string{group}
	}
	for _, h := range hosts {
		if ip := net.ParseIP(h); ip != nil {
			c.IPAddresses = append(c.IPAddresses, ip)
		} else {
			c.DNSNames = append(c.DNSNames, h)
		}
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	return a.write(name, c, key)
}

func (a *authority) write(name string, c *x509.Certificate, key *ecdsa.PrivateKey) error {
	der, err := x509.CreateCertificate(rand.Reader, c, a.cert, key.Public(), a.key)
	if err != nil {
		return err
	}
	secret, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return err
	}
	for kind, b := range map[string]*pem.Block{
		"crt": {Type: "CERTIFICATE", Bytes: der},
		"key": {Type: "EC PRIVATE KEY", Bytes: secret},
	} {
		if err := os.WriteFile(a.file(name, kind), pem.EncodeToMemory(b), 0o600); err != nil {
			return err
		}
	}
	return nil
}

func (a *authority) file(name, kind string) string { return filepath.Join(a.dir, name+"."+kind) }

// kubeconfig writes NAME.kubeconfig for a user whose certificate was issued.
func (a *authority) kubeconfig(name string) error {
	text := fmt.Sprintf(`apiVersion: v1
kind: Config
clusters: [{name: kubetest, cluster: {certificate-authority: %q, server: "https://%s"}}]
users: [{name: %[3]s, user: {client-certificate: %[4]q, client-key: %[5]q}}]
contexts: [{name: kubetest, context: {cluster: kubetest, user: %[3]s}}]
current-context: kubetest
`, a.file("ca", "crt"), controlAddress, name, a.file(name, "crt"), a.file(name, "key"))
	return os.WriteFile(a.file(name, "kubeconfig"), []byte(text), 0o600)
}
