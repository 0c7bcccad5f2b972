// Package mac recognizes what this user wrote. A message authentication code (HMAC-SHA256) with a key that only this
// user can read is stored beside a value; a copy that somebody else wrote or changed has no valid code.
//
// A code does not prove when or where a value was written, and it does not hide the value.
package mac

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/plimsoll-bench/plimsoll/internal/safeopen"
)

// KeyFile is the file with the key in the directory of [Open].
const KeyFile = "record-key"

// Key is a secret of one user. A nil key makes no codes and accepts none.
type Key struct{ bytes [32]byte }

// Open reads the key of a directory. It makes the key, and the directory, at the first use. It refuses a key that
// other users can read.
func Open(dir string) (*Key, error) {
	path := filepath.Join(dir, KeyFile)
	text, err := safeopen.ReadSecret(path)
	if errors.Is(err, fs.ErrNotExist) {
		if err := create(dir, path); err != nil {
			return nil, fmt.Errorf("cannot make the key of your records: %w", err)
		}
		text, err = safeopen.ReadSecret(path)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read the key of your records: %w", err)
	}
	k := &Key{}
	b, err := hex.DecodeString(strings.TrimSpace(text))
	if err != nil || len(b) != len(k.bytes) {
		return nil, fmt.Errorf("%s is not a key of records. Remove it; the next command makes another one", path)
	}
	copy(k.bytes[:], b)
	return k, nil
}

// create makes a key unless another process has just made one. The file appears with its whole content.
func create(dir, path string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, ".key-") // mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	var k Key
	_, _ = rand.Read(k.bytes[:]) // never fails
	_, err = f.WriteString(hex.EncodeToString(k.bytes[:]) + "\n")
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Link(f.Name(), path); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

// Code returns the code of a value as hexadecimal digits; "" without a key. kind separates values of different
// purposes. The value counts as it is in JSON.
func (k *Key) Code(kind string, v any) (string, error) {
	if k == nil {
		return "", nil
	}
	text, err := canonical(v)
	if err != nil {
		return "", err
	}
	h := hmac.New(sha256.New, k.bytes[:])
	h.Write([]byte(kind + "\x00"))
	h.Write(text)
	return hex.EncodeToString(h.Sum(nil)), nil
}

// Valid says whether a code is that of a value.
func (k *Key) Valid(kind string, v any, code string) bool {
	want, err := k.Code(kind, v)
	return k != nil && err == nil && hmac.Equal([]byte(want), []byte(code))
}

// canonical is the JSON of a value after it was read once, because reading changes the types of numbers.
func canonical(v any) ([]byte, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	var tree any
	if err := json.Unmarshal(text, &tree); err != nil {
		return nil, err
	}
	return json.Marshal(tree)
}
