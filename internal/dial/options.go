package dial

import (
	"crypto/tls"
	"crypto/x509"
	"errors"

	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/plimsoll-bench/plimsoll/internal/mongouri"
)

// Options makes options of the driver from an address, with a note for each option of the address that has no effect.
// Its errors do not contain the address. It resolves mongodb+srv:// addresses.
func Options(uri string) (o *options.ClientOptions, notes []string, err error) {
	address, err := mongouri.Parse(uri)
	if err != nil {
		return nil, nil, err
	}
	known, notes, err := address.Known()
	if err != nil {
		return nil, nil, err
	}
	names, _ := known.Option("tlsAllowInvalidHostnames")
	known.Drop("tlsAllowInvalidHostnames")
	o = options.Client().ApplyURI(known.String())
	if o.TLSConfig != nil && names == "true" && !o.TLSConfig.InsecureSkipVerify {
		o.SetTLSConfig(VerifyChainOnly(o.TLSConfig.Clone()))
	}
	return o, notes, nil
}

// VerifyChainOnly makes a configuration check the chain of certificates but not the name in it.
func VerifyChainOnly(cfg *tls.Config) *tls.Config {
	cfg.InsecureSkipVerify = true // the chain is verified below
	cfg.VerifyConnection = func(st tls.ConnectionState) error {
		if len(st.PeerCertificates) == 0 {
			return errors.New("the server sent no certificate")
		}
		opts := x509.VerifyOptions{Roots: cfg.RootCAs, Intermediates: x509.NewCertPool()}
		for _, c := range st.PeerCertificates[1:] {
			opts.Intermediates.AddCert(c)
		}
		_, err := st.PeerCertificates[0].Verify(opts)
		return err
	}
	return cfg
}
