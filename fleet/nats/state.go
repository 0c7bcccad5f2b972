package nats

import (
	"crypto/ecdh"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/plimsoll-bench/plimsoll/internal/replace"
)

// state is what a coordinator needs to be opened again. It has secrets.
type state struct {
	Listen      string       `json:"listen,omitempty"` // of the embedded server
	Token       string       `json:"token,omitempty"`
	Certificate []byte       `json:"certificate,omitempty"`
	TLSKey      []byte       `json:"tls_key,omitempty"`
	Key         []byte       `json:"key"` // private, for frames
	Runs        []unfinished `json:"runs,omitempty"`
	private     *ecdh.PrivateKey
}

// unfinished is a run whose stream is there.
type unfinished struct {
	ID     string  `json:"id"`
	Agents []entry `json:"agents"` // in the order of their numbers
}

func stateFile(dir string) string { return filepath.Join(dir, "coordinator.json") }

// openState reads the state of a directory, or makes one.
func openState(dir string) (*state, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	s := &state{}
	b, err := os.ReadFile(stateFile(dir))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		key, err := newKey()
		if err != nil {
			return nil, err
		}
		s.Key, s.Token = key.Bytes(), randomName(16)
		if s.Certificate, s.TLSKey, err = newCertificate(); err != nil {
			return nil, err
		}
	case err != nil:
		return nil, err
	default:
		if err := json.Unmarshal(b, s); err != nil {
			return nil, fmt.Errorf("%s is damaged: %w. Remove the directory", stateFile(dir), err)
		}
	}
	s.private, err = ecdh.X25519().NewPrivateKey(s.Key)
	if err != nil {
		return nil, fmt.Errorf("%s is damaged: %w. Remove the directory", stateFile(dir), err)
	}
	return s, nil
}

// save replaces the file as a whole.
func (s *state) save(dir string) error {
	return replace.File(stateFile(dir), encode(s), 0o600, false)
}
