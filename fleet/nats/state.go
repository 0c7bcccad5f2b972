package nats

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/plimsoll-bench/plimsoll/fleet"
	"github.com/plimsoll-bench/plimsoll/internal/replace"
	"github.com/plimsoll-bench/plimsoll/internal/safeopen"
)

// state is what a coordinator needs to be opened again. It has secrets, so it is never part of a record.
type state struct {
	identity
	Listen      string       `json:"listen,omitempty"` // of the embedded server
	Certificate []byte       `json:"certificate,omitempty"`
	TLSKey      []byte       `json:"tls_key,omitempty"`
	Runs        []unfinished `json:"runs,omitempty"`
}

// unfinished is a run whose stream is there.
type unfinished struct {
	ID     string  `json:"id"`
	Agents []entry `json:"agents"` // in the order of their numbers
}

// entry is an agent of a run.
type entry struct {
	fleet.Facts
	Key []byte `json:"key"` // public, of its process
}

func (e entry) id() string { return idOf(e.Key) }

const stateFile = "coordinator.json"

// openState reads the state of a directory, or makes one. The file of the identity, if it is given, has the one of
// other coordinators of this user.
func openState(dir, identityFile string) (*state, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	s := &state{}
	err := readSecrets(dir, stateFile, s)
	if errors.Is(err, fs.ErrNotExist) {
		if s.identity, err = openIdentity(identityFile); err != nil {
			return nil, err
		}
		s.Certificate, s.TLSKey, err = newCertificate()
		return s, err
	}
	if err == nil {
		err = s.load()
	}
	if err != nil {
		return nil, fmt.Errorf("%s is damaged: %w. Remove the directory", filepath.Join(dir, stateFile), err)
	}
	return s, nil
}

// openIdentity reads an identity, or makes one. Without a file it is a new one.
func openIdentity(file string) (i identity, err error) {
	if file == "" {
		return newIdentity()
	}
	err = readSecrets(filepath.Dir(file), filepath.Base(file), &i)
	if errors.Is(err, fs.ErrNotExist) {
		if i, err = newIdentity(); err != nil {
			return i, err
		}
		return i, replace.File(file, encode(i), 0o600, false)
	}
	if err == nil {
		err = i.load()
	}
	if err != nil {
		return i, fmt.Errorf("%s is damaged: %w. Remove it, and give agents the new token", file, err)
	}
	return i, nil
}

// maxSecrets bounds a file: 10,000 agents of some hundred bytes.
const maxSecrets = 64 << 20

func readSecrets(dir, name string, into any) error {
	b, err := safeopen.ReadFile(dir, name, maxSecrets)
	if err != nil {
		return err
	}
	return json.Unmarshal(b, into)
}

// save replaces the file as a whole.
func (s *state) save(dir string) error {
	return replace.File(filepath.Join(dir, stateFile), encode(s), 0o600, false)
}
