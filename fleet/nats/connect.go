package nats

import (
	"crypto/x509"
	"errors"
	"fmt"
	"strings"
	"time"

	client "github.com/nats-io/nats.go"

	"github.com/plimsoll-bench/plimsoll/internal/redact"
	"github.com/plimsoll-bench/plimsoll/internal/safeopen"
)

// Server says how to connect to a NATS server.
type Server struct {
	URL   string // nats://HOST:PORT or tls://HOST:PORT
	Token string // of a coordinator's embedded server, as [Coordinator.Token] returns it
	Creds string // file with the credentials of a user
	CA    string // file with the certificates of the authorities that the server's may be from; "" for those of the system
}

// maxAuthorities bounds the file of a certificate authority, in bytes.
const maxAuthorities = 16 << 20

func (s Server) connect(name string, more ...client.Option) (*client.Conn, error) {
	opts := append([]client.Option{
		client.Name(name), client.MaxReconnects(-1), client.ReconnectWait(250 * time.Millisecond),
		client.ReconnectBufSize(-1),
		client.Timeout(manyAtMost), client.PingInterval(15 * time.Second), client.MaxPingsOutstanding(2),
	}, more...)
	if s.Token != "" {
		token, print, ok := strings.Cut(s.Token, ".")
		if !ok {
			return nil, errors.New("the token is incomplete. Copy all of the token that the coordinator shows")
		}
		opts = append(opts, client.Token(token), client.Secure(pinned(print)))
	}
	if s.Creds != "" {
		// The library reads the file again at each connection, without a limit.
		if _, err := safeopen.ReadSecret(s.Creds); err != nil {
			return nil, err
		}
		opts = append(opts, client.UserCredentials(s.Creds))
	}
	if s.CA != "" {
		if _, err := safeopen.ReadPath(s.CA, maxAuthorities); err != nil {
			return nil, err
		}
		opts = append(opts, client.RootCAs(s.CA))
	}
	started := time.Now()
	nc, err := client.Connect(s.URL, opts...)
	// A server sends its first PING after two seconds. If this process or the server took longer until then, the library
	// takes the PING for a wrong answer.
	for err != nil && strings.Contains(err.Error(), "got 'PING'") && time.Since(started) < manyAtMost {
		nc, err = client.Connect(s.URL, opts...)
	}
	if err != nil {
		return nil, s.explain(err)
	}
	return nc, nil
}

// explain says what to do about a failed connection.
func (s Server) explain(err error) error {
	at := redact.InText(s.URL)
	var unknown x509.UnknownAuthorityError
	switch {
	case errors.Is(err, errOtherCertificate):
		return fmt.Errorf("the NATS server at %s is not the coordinator of this token: it has another certificate. Copy the token that "+
			"the coordinator shows now", at)
	case errors.As(err, &unknown):
		return fmt.Errorf("the certificate of the NATS server at %s is from an unknown authority. Give the file of its authority", at)
	case errors.Is(err, client.ErrAuthorization) && s.Token != "":
		return fmt.Errorf("the coordinator at %s does not accept the token. Copy the token that the coordinator shows now", at)
	case errors.Is(err, client.ErrAuthorization):
		return fmt.Errorf("the NATS server at %s does not accept the credentials. Check the credentials file", at)
	case errors.Is(err, client.ErrNoServers):
		return fmt.Errorf("cannot connect to the NATS server at %s: connection refused. Start the server or the coordinator, or check "+
			"the address", at)
	}
	check := "the address"
	if s.Creds != "" {
		check += ", the credentials file"
	}
	return fmt.Errorf("cannot connect to the NATS server at %s: %w. Check %s and the network", at, err, check)
}
