package topology

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// secrets are the passwords of one lab.
type secrets struct {
	Postgres string // of PostgreSQL's superuser, which gateways and standbys are
	User     string // of clients; empty if everybody may connect
	Client   string // the password of User
}

// clientUser is the user name of clients in a lab with authentication.
const clientUser = "plimsoll-client"

// loadSecrets reads or makes the secrets of a lab. Only the owner can read their files.
func loadSecrets(dir string, authentication bool) (secrets, error) {
	var s secrets
	var err error
	if s.Postgres, err = loadSecret(filepath.Join(dir, "postgres")); err != nil || !authentication {
		return s, err
	}
	s.User = clientUser
	s.Client, err = loadSecret(filepath.Join(dir, clientUser))
	return s, err
}

// loadSecret reads a file and makes it if needed, with random capital letters and digits, which need no escapes in an
// address and are valid in a key file of mongod.
func loadSecret(file string) (string, error) {
	data, err := os.ReadFile(file)
	if text := strings.TrimSpace(string(data)); err == nil && text != "" {
		return text, nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("cannot read a secret of the lab: %w", err)
	}
	text := rand.Text() + rand.Text()
	err = os.MkdirAll(filepath.Dir(file), 0o700)
	if err == nil {
		err = os.WriteFile(file, []byte(text), 0o600)
	}
	if err != nil {
		return "", fmt.Errorf("cannot write a secret of the lab: %w", err)
	}
	return text, nil
}

// containsVersion reports whether the description of an installation has a version, or one that begins with it.
func containsVersion(have, want string) bool {
	for _, word := range strings.FieldsFunc(have, func(r rune) bool { return r == ' ' || r == ',' }) {
		word = strings.TrimPrefix(word, "v")
		if word == want || strings.HasPrefix(word, want+".") || strings.HasPrefix(word, want+"-") {
			return true
		}
	}
	return false
}
