package nats

import (
	"bytes"
	"crypto/ecdh"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"strings"
)

// token is what an agent must know of its coordinator: a secret that agents and coordinator share, the coordinator's
// public key, and with the embedded server the fingerprint of its certificate. Who has the token can be an agent. Only
// who has the private key can be the coordinator.
type token struct {
	secret, key []byte
	print       string // "" with the user's server
}

const (
	secretBytes = 16
	keyBytes    = 32
)

// String is the token as people copy it.
func (t token) String() string {
	parts := []string{base64.RawURLEncoding.EncodeToString(t.secret), base64.RawURLEncoding.EncodeToString(t.key)}
	if t.print != "" {
		parts = append(parts, t.print)
	}
	return strings.Join(parts, ".")
}

func parseToken(text string) (t token, err error) {
	parts := strings.Split(text, ".")
	if len(parts) < 2 || len(parts) > 3 {
		return t, errToken
	}
	secret, err1 := base64.RawURLEncoding.DecodeString(parts[0])
	key, err2 := base64.RawURLEncoding.DecodeString(parts[1])
	if len(parts) == 3 {
		print, err := base64.RawURLEncoding.DecodeString(parts[2])
		if err != nil || len(print) != sha256.Size {
			return t, errToken
		}
		t.print = parts[2]
	}
	if err1 != nil || err2 != nil || len(secret) != secretBytes || len(key) != keyBytes {
		return t, errToken
	}
	t.secret, t.key = secret, key
	return t, nil
}

var errToken = errors.New("the token is incomplete. Copy all of the token that the coordinator shows")

// password is that of agents at the embedded server. It does not show the secret.
func (t token) password() string {
	key, err := hkdf.Key(sha256.New, t.secret, nil, "password of agents", keyBytes)
	if err != nil {
		panic(err) // the length is valid
	}
	return hex.EncodeToString(key)
}

// idOf is the name of an agent in subjects. It belongs to one key, so no agent can take that of another.
func idOf(key []byte) string {
	sum := sha256.Sum256(key)
	return hex.EncodeToString(sum[:16])
}

// identity is the private side of a token.
type identity struct {
	Key    []byte `json:"key"` // private
	Secret []byte `json:"secret"`

	private *ecdh.PrivateKey
}

func newIdentity() (i identity, err error) {
	if i.private, err = newKey(); err != nil {
		return i, err
	}
	i.Key, i.Secret = i.private.Bytes(), make([]byte, secretBytes)
	_, _ = rand.Read(i.Secret) // never fails
	return i, nil
}

// load makes an identity that was read usable.
func (i *identity) load() (err error) {
	if len(i.Secret) != secretBytes {
		return errors.New("its secret is incomplete")
	}
	i.private, err = ecdh.X25519().NewPrivateKey(bytes.Clone(i.Key))
	return err
}

func (i *identity) token(print string) token {
	return token{secret: i.Secret, key: i.private.PublicKey().Bytes(), print: print}
}
