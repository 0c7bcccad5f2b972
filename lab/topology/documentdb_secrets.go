package topology

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// secrets are the passwords of one lab, made for it.
type secrets struct {
	Postgres string // of PostgreSQL's superuser, which gateways and standbys are
	User     string // of clients; empty if everybody may connect
	Client   string // the password of User
}

// clientUser is what clients call themselves where they have to.
const clientUser = "plimsoll-client"

// loadSecrets reads the secrets of a lab, or makes them. Each is a file that its owner alone can read.
func loadSecrets(dir string, authentication bool) (secrets, error) {
	var s secrets
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return s, fmt.Errorf("cannot keep the secrets of the lab: %w", err)
	}
	var err error
	if s.Postgres, err = loadSecret(filepath.Join(dir, "postgres")); err != nil || !authentication {
		return s, err
	}
	s.User = clientUser
	s.Client, err = loadSecret(filepath.Join(dir, clientUser))
	return s, err
}

func loadSecret(file string) (string, error) {
	data, err := os.ReadFile(file)
	if err == nil {
		return strings.TrimSpace(string(data)), nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("cannot read a secret of the lab: %w", err)
	}
	b := make([]byte, 16)
	_, _ = rand.Read(b) // never fails
	secret := hex.EncodeToString(b)
	if err := os.WriteFile(file, []byte(secret+"\n"), 0o600); err != nil {
		return "", fmt.Errorf("cannot keep a secret of the lab: %w", err)
	}
	return secret, nil
}

// containsVersion says whether a version is one of those in the description of an installation, or the beginning of one.
func containsVersion(have, want string) bool {
	for _, word := range strings.FieldsFunc(have, func(r rune) bool { return r == ' ' || r == ',' }) {
		word = strings.TrimPrefix(word, "v")
		if word == want || strings.HasPrefix(word, want+".") || strings.HasPrefix(word, want+"-") {
			return true
		}
	}
	return false
}
