package record

import (
	"bytes"
	"compress/gzip"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/plimsoll-bench/plimsoll/internal/safeopen"
)

// packedType is the type of the PEM blocks of a packed record. Each block is a file of it.
const packedType = "PLIMSOLL RECORD FILE"

// PackFiles writes the files of a record as text that a log keeps, with other lines before and after it.
func PackFiles(w io.Writer, dir string) error {
	for _, name := range append(Files(), SumsFile) {
		text, err := safeopen.ReadFile(dir, name, safeopen.MaxDocument)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		var packed bytes.Buffer
		z := gzip.NewWriter(&packed)
		if _, err := z.Write(text); err != nil {
			return err
		}
		if err := z.Close(); err != nil {
			return err
		}
		block := pem.Block{Type: packedType, Headers: map[string]string{"Name": name}, Bytes: packed.Bytes()}
		if err := pem.Encode(w, &block); err != nil {
			return err
		}
	}
	return nil
}

// UnpackFiles writes the files of a packed record into a new directory. Other lines of the text are ignored. The text
// may come from anybody: only names of a record's files are accepted. Opening the record verifies its checksums.
func UnpackFiles(text []byte, dir string) error {
	if err := Vacant(dir); err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	names := append(Files(), SumsFile)
	found := false
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		name := block.Headers["Name"]
		if block.Type != packedType || !slices.Contains(names, name) {
			continue
		}
		z, err := gzip.NewReader(bytes.NewReader(block.Bytes))
		if err != nil {
			return fmt.Errorf("%s is damaged: %w", name, err)
		}
		content, err := io.ReadAll(io.LimitReader(z, safeopen.MaxDocument))
		if err != nil {
			return fmt.Errorf("%s is damaged: %w", name, err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o644); err != nil {
			return err
		}
		found = true
	}
	if !found {
		return errors.New("it has no record")
	}
	return nil
}
