package wire

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"strings"

	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/connstring"

	"github.com/plimsoll-bench/plimsoll/internal/dial"
	"github.com/plimsoll-bench/plimsoll/internal/safeopen"
)

// tlsConfig reads the TLS options. It is nil without TLS. startTLS adds the server's name for each connection.
func tlsConfig(cs *connstring.ConnString) (*tls.Config, error) {
	if cs.SSLClientCertificateKeyPasswordSet {
		return nil, unsupported("the option tlsCertificateKeyFilePassword (decrypt the key)")
	}
	if !cs.SSL {
		return nil, nil
	}
	cfg := &tls.Config{MinVersion: tls.VersionTLS12}
	if cs.SSLCaFileSet {
		pool, err := certificatePool(cs.SSLCaFile)
		if err != nil {
			return nil, err
		}
		cfg.RootCAs = pool
	}
	if err := loadCertificate(cfg, cs); err != nil {
		return nil, err
	}
	switch {
	case cs.SSLInsecure:
		cfg.InsecureSkipVerify = true // an option of the address
	case switchedOn(cs, "tlsallowinvalidhostnames"):
		dial.VerifyChainOnly(cfg)
	}
	return cfg, nil
}

func switchedOn(cs *connstring.ConnString, option string) bool {
	values := cs.UnknownOptions[option]
	return len(values) > 0 && strings.EqualFold(values[len(values)-1], "true")
}

// maxCertificates bounds a file with certificate authorities; those of systems have some hundred KiB.
const maxCertificates = 16 << 20

func certificatePool(file string) (*x509.CertPool, error) {
	pem, err := safeopen.ReadPath(file, maxCertificates)
	if err != nil {
		return nil, fmt.Errorf("cannot read the certificate authority: %w (option tlsCAFile)", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("no certificate in %s: option tlsCAFile needs a PEM file", file)
	}
	return pool, nil
}

// loadCertificate reads the client's certificate and key, from one file or two.
func loadCertificate(cfg *tls.Config, cs *connstring.ConnString) error {
	cert, key := cs.SSLCertificateFile, cs.SSLPrivateKeyFile
	if cs.SSLClientCertificateKeyFileSet {
		cert, key = cs.SSLClientCertificateKeyFile, cs.SSLClientCertificateKeyFile
	}
	if cert == "" {
		return nil
	}
	certText, err := safeopen.ReadPath(cert, maxCertificates)
	keyText := certText
	if err == nil && key != cert {
		keyText, err = safeopen.ReadPath(key, maxCertificates)
	}
	var pair tls.Certificate
	if err == nil {
		pair, err = tls.X509KeyPair(certText, keyText)
	}
	if err != nil {
		return fmt.Errorf("cannot use the client certificate: %w (option tlsCertificateKeyFile)", err)
	}
	cfg.Certificates = []tls.Certificate{pair}
	return nil
}
