package engine

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/xdg-go/scram"
	"github.com/xdg-go/stringprep"
)

// Access control of documentdb. The gateway reads the SCRAM verifier of a role from PostgreSQL, so a user of
// the gateway is a role of PostgreSQL. All users have the same rights, because the gateway's own sessions run the
// commands.

// scramIterations is PostgreSQL's default, and the minimum of RFC 7677.
const scramIterations = 4096

// CheckAccess checks the name and the password of a user; no name is no user.
func CheckAccess(user, password string) error {
	if user == "" {
		return nil
	}
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	switch {
	case strings.Trim(user, letters+"0123456789_-.") != "" || !strings.Contains(letters, user[:1]) || len(user) > 63:
		return fmt.Errorf("invalid user name %q: use a letter, then letters, digits, '_', '-' and '.', at most 63 characters", user)
	case user == postgresUser || strings.HasPrefix(user, "pg_") || strings.HasPrefix(user, "documentdb"):
		return fmt.Errorf("the user name %q is reserved for the server: use another one", user)
	}
	if _, err := stringprep.SASLprep.Prepare(password); err != nil {
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

// escapeOption escapes a value of a connection string's option. A slash needs no escaping.
func escapeOption(value string) string {
	return strings.NewReplacer("%2F", "/", "+", "%20").Replace(url.QueryEscape(value))
}
