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

// Access to a documentdb server: who may connect, and how. The gateway asks PostgreSQL for the SCRAM
// verifier of a role, so a user of the gateway is a role of PostgreSQL. All users have the same rights:
// the gateway's own sessions do the work.

// Where the gateway finds its certificate: a directory that every Debian root has and nothing uses.
const tlsMount = "/mnt"

// scramIterations is PostgreSQL's own default, and the least that RFC 7677 allows.
const scramIterations = 4096

// checkAccess refuses a user or password that cannot work, and generates a password where none is given.
func checkAccess(o *StartOptions) error {
	if o.User == "" {
		if o.Password != "" {
			return errors.New("a password without a user: name the user as well")
		}
		return nil
	}
	if o.Password == "" {
		o.Password = randomHex(16)
	}
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	switch {
	case strings.Trim(o.User, letters+"0123456789_-.") != "" || !strings.Contains(letters, o.User[:1]) || len(o.User) > 63:
		return fmt.Errorf("the user name %q cannot be used: a letter comes first, then letters, digits, '_', '-' and '.', together at most 63", o.User)
	case o.User == postgresUser || strings.HasPrefix(o.User, "pg_") || strings.HasPrefix(o.User, "documentdb"):
		return fmt.Errorf("the user name %q is used by the server itself: choose another one", o.User)
	}
	if _, err := stringprep.SASLprep.Prepare(o.Password); err != nil {
		return errors.New("the password holds characters that SCRAM-SHA-256 does not allow, such as control characters")
	}
	return nil
}

// verifier is what PostgreSQL keeps of a password (RFC 5803): enough to check it, not to know it. It is
// computed here so that the password reaches no other program, and no log of a failed statement.
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
	return fmt.Sprintf("SCRAM-SHA-256$%d:%s$%s:%s", scramIterations, encode([]byte(salt)), encode(stored.StoredKey), encode(stored.ServerKey)), nil
}

// createUser makes the role of the user, or gives an earlier one a new password. The name has been
// checked and the verifier is base64, so neither needs quoting beyond the quotation marks. The
// statements go through standard input: arguments can be seen by everybody.
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

// makeCertificate makes the files that TLS needs, in the server's own directory.
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

// accessArgs are the gateway's arguments about who may connect and where.
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

// clientURI is all that a client needs to know.
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

// escapeOption escapes a value of a connection string's option. A slash may stay as it is.
func escapeOption(value string) string {
	return strings.NewReplacer("%2F", "/", "+", "%20").Replace(url.QueryEscape(value))
}
