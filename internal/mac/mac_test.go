package mac

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

type value struct {
	Name   string
	Levels []any
}

func key(t *testing.T, dir string) *Key {
	t.Helper()
	k, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func TestCodes(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "home")
	mine, other := key(t, dir), key(t, t.TempDir())
	v := value{"a", []any{1, 2.5, uint64(1) << 40, "x", map[string]any{"b": 1, "a": nil}}}
	code, err := mine.Code("study", v)
	if err != nil {
		t.Fatal(err)
	}
	text, _ := json.Marshal(v)
	var read value
	if err := json.Unmarshal(text, &read); err != nil {
		t.Fatal(err)
	}
	if again := key(t, dir); !again.Valid("study", read, code) {
		t.Error("a value that was stored and read is not recognized with the stored key")
	}
	changed := read
	changed.Name = "b"
	for name, ok := range map[string]bool{
		"another user":  other.Valid("study", v, code),
		"another kind":  mine.Valid("suite", v, code),
		"another value": mine.Valid("study", changed, code),
		"no code":       mine.Valid("study", v, ""),
		"no key":        (*Key)(nil).Valid("study", v, ""),
	} {
		if ok {
			t.Errorf("%s: the code is accepted", name)
		}
	}
}

func TestKeyFile(t *testing.T) {
	dir := t.TempDir()
	key(t, dir)
	file := filepath.Join(dir, KeyFile)
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the key has the mode %v: %v", info.Mode(), err)
	}
	if names, _ := filepath.Glob(filepath.Join(dir, ".key-*")); len(names) > 0 {
		t.Errorf("%v is left", names)
	}
	if err := os.Chmod(file, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(dir); err == nil || !strings.Contains(err.Error(), "other users") {
		t.Errorf("a key that others can read: %v", err)
	}
	if err := os.WriteFile(file, []byte("short\n"), 0o600); err != nil || os.Chmod(file, 0o600) != nil {
		t.Fatal(err)
	}
	if _, err := Open(dir); err == nil || !strings.Contains(err.Error(), "not a key") {
		t.Errorf("a damaged key: %v", err)
	}
}

// Processes that begin at once have one key.
func TestKeyIsMadeOnce(t *testing.T) {
	dir := t.TempDir()
	var all sync.WaitGroup
	keys := make([]*Key, 8)
	for i := range keys {
		all.Go(func() { keys[i], _ = Open(dir) })
	}
	all.Wait()
	for _, k := range keys {
		if k == nil || *k != *keys[0] {
			t.Fatal("two keys were made")
		}
	}
}
