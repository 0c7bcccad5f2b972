package engine

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/xdg-go/scram"
	"github.com/xdg-go/stringprep"

	"github.com/plimsoll-bench/plimsoll/lab/process"
)

// Access control of a documentdb server. The gateway reads the SCRAM verifier of a role from PostgreSQL, so a user of
// the gateway is a role of PostgreSQL. All users have the same rights, because the gateway's own sessions run the
// commands.

// tlsMount is the mount point of the gateway's certificate: an empty directory of every Debian root.
const tlsMount = "/mnt"

// scramIterations is PostgreSQL's default, and the minimum of RFC 7677.
const scramIterations = 4096

// checkAccess checks user and password, and generates a password if there is none.
func checkAccess(o *StartOptions) error {
	if o.User == "" {
		if o.Password != "" {
			return errors.New("a password needs a user: give the user as well")
		}
		return nil
	}
	if o.Password == "" {
		o.Password = randomHex(16)
	}
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	switch {
	case strings.Trim(o.User, letters+"0123456789_-.") != "" || !strings.Contains(letters, o.User[:1]) || len(o.User) > 63:
		return fmt.Errorf("invalid user name %q: use a letter, then letters, digits, '_', '-' and '.', at most 63 characters", o.User)
	case o.User == postgresUser || strings.HasPrefix(o.User, "pg_") || strings.HasPrefix(o.User, "documentdb"):
		return fmt.Errorf("the user name %q is reserved for the server: use another one", o.User)
	}
	if _, err := stringprep.SASLprep.Prepare(o.Password); err != nil {
		return errors.New("the password has characters that SCRAM-SHA-256 does not allow, such as control characters")
	}
	return nil
}

// verifier returns PostgreSQL's stored form of a password (RFC 5803). Plimsoll computes it, so that the password
// reaches no other program and no log of a failed statement.
func verifier(password, salt string) (string, error) {
	password, err := stringprep.SASLprep.Prepare(password)
	if err != nil {
		return "", errors.New("the password cannot be prepared for SCRAM-SHA-256")
	}
	client, err := scram.SHA256.NewClientUnprepped("", password, "")
	if err != nil {
		return "", errors.New("the password cannot be used with SCRAM-SHA-256")
	}
	stored, err := client.GetStoredCredentialsWithError(scram.KeyFactors{Salt: salt, Iters: scramIterations})
	if err != nil {
		return "", errors.New("the password cannot be used with SCRAM-SHA-256")
	}
	encode := func(s []byte) string { return base64.StdEncoding.EncodeToString(s) }
	return fmt.Sprintf("SCRAM-SHA-256$%d:%s$%s:%s", scramIterations, encode([]byte(salt)), encode(stored.StoredKey),
		encode(stored.ServerKey)), nil
}

// createUser makes the role of the user, or sets a new password for an existing one. checkAccess has checked the name
// and the verifier is base64, so quotation marks are enough. The statements go through standard input, because every
// user can read arguments.
func (s *documentDBServer) createUser(ctx context.Context) error {
	if s.opts.User == "" {
		return nil
	}
	secret, err := verifier(s.opts.Password, randomHex(8))
	if err != nil {
		return err
	}
	sp := s.psqlProgram("-f", "-")
	sp.Role = "psql (create user)"
	sp.Input = fmt.Sprintf(`select 'create role "%[1]s"' where not exists (select from pg_roles where rolname = '%[1]s') \gexec
		alter role "%[1]s" with login password '%[2]s';`, s.opts.User, secret)
	_, err = process.Run(ctx, sp, io.Discard)
	return err
}

// makeCertificate makes the files for TLS in the server's directory.
func (s *documentDBServer) makeCertificate() error {
	if !s.opts.TLS {
		return nil
	}
	c, err := newCertificate(time.Now())
	if err == nil {
		err = c.write(s.book.dir, s.tlsDir(), int(s.uid), int(s.gid))
	}
	if err != nil {
		return fmt.Errorf("cannot make the certificate: %w", err)
	}
	return nil
}

func (s *documentDBServer) tlsDir() string { return filepath.Join(s.book.dir, "tls") }

// accessArgs returns the gateway's arguments for authentication, addresses and TLS.
func (s *documentDBServer) accessArgs() []string {
	at := s.hostPort()
	args := []string{"--auth=" + strconv.FormatBool(s.opts.User != "")}
	if !s.opts.TLS {
		return append(args, "--listen-addr="+at)
	}
	return append(args, "--listen-addr=", "--listen-tls="+at, "--listen-tls-cert-file="+tlsMount+"/"+certificateFile,
		"--listen-tls-key-file="+tlsMount+"/"+keyFile)
}

func (s *documentDBServer) hostPort() string { return "127.0.0.1:" + strconv.Itoa(s.opts.Port) }

func (s *documentDBServer) clientURI() string {
	u := url.URL{Scheme: "mongodb", Host: s.hostPort(), Path: "/"}
	if s.opts.User != "" {
		u.User = url.UserPassword(s.opts.User, s.opts.Password)
	}
	if s.opts.TLS {
		u.RawQuery = "tls=true&tlsCAFile=" + escapeOption(filepath.Join(s.book.dir, authorityFile))
	}
	return u.String()
}

// escapeOption escapes a value of a connection string's option. A slash needs no escaping.
func escapeOption(value string) string {
	return strings.NewReplacer("%2F", "/", "+", "%20").Replace(url.QueryEscape(value))
}
