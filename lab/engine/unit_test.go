package engine

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/plimsoll-bench/plimsoll/internal/replace"
	"github.com/plimsoll-bench/plimsoll/lab/process"
)

func TestAptMirror(t *testing.T) {
	for _, c := range []struct{ name, file, text, want string }{
		{"deb822", "etc/apt/sources.list.d/debian.sources",
			"Types: deb\n# http://mirror.example/archive/debian/20250520T000000Z\nURIs: http://mirror.example/debian\nSuites: bookworm\n", "http://mirror.example/debian"},
		{"one line", "etc/apt/sources.list",
			"#deb http://old.example/debian x main\ndeb [arch=amd64] https://mirror.example/pub/debian/ bookworm main\n", "https://mirror.example/pub/debian"},
		{"security only", "etc/apt/sources.list", "deb http://mirror.example/debian-security bookworm-security main\n", ""},
		{"dated archive", "etc/apt/sources.list", "deb http://mirror.example/archive/debian/ bookworm main\n", ""},
		{"another system", "etc/apt/sources.list", "deb http://mirror.example/ubuntu noble main\n", ""},
		{"a switched-off file", "etc/apt/sources.list.d/debian.sources.disabled", "URIs: http://mirror.example/debian\n", ""},
	} {
		if got := aptMirror(fstest.MapFS{c.file: {Data: []byte(c.text)}}); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func TestDefaultHome(t *testing.T) {
	for _, c := range []struct {
		env  map[string]string
		want string
	}{
		{map[string]string{"PLIMSOLL_HOME": "/srv/p", "XDG_DATA_HOME": "/x", "HOME": "/h"}, "/srv/p"},
		{map[string]string{"XDG_DATA_HOME": "/x", "HOME": "/h"}, "/x/plimsoll"},
		{map[string]string{"XDG_DATA_HOME": "relative", "HOME": "/h"}, "/h/.local/share/plimsoll"},
		{nil, ""},
	} {
		got, err := DefaultHome(func(name string) string { return c.env[name] })
		if got != c.want || (err != nil) != (c.want == "") {
			t.Errorf("%v: %q, error %v, want %q", c.env, got, err, c.want)
		}
	}
}

func TestWriteJSONReplaces(t *testing.T) {
	name := filepath.Join(t.TempDir(), "state.json")
	for _, want := range []string{"one", "two"} {
		var got string
		if err := errors.Join(replace.JSON(name, want, true), readJSON(name, &got)); err != nil || got != want {
			t.Errorf("read %q, error %v, want %q", got, err, want)
		}
	}
	if entries, _ := os.ReadDir(filepath.Dir(name)); len(entries) != 1 {
		t.Errorf("%d files are left", len(entries))
	}
	if err := replace.JSON(name, func() {}, true); err == nil {
		t.Error("a function was written as JSON")
	}
}

// A start that was killed while it marked a new data directory does not keep the next one from it.
func TestDataDirectoryOfAKilledStart(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "."+engineFile+".123"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(markData(dir), markData(dir)); err != nil {
		t.Error(err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("the directory has %v, %v", entries, err)
	}
}

func TestRunTellsLastLines(t *testing.T) {
	_, err := process.Run(t.Context(), process.Spec{Role: "speaker", Path: "/bin/sh",
		Args: []string{"-c", "seq 100; exit 3"}}, &process.LockedWriter{W: &strings.Builder{}})
	if err == nil || !strings.Contains(err.Error(), "speaker failed: exit status 3") || !strings.HasSuffix(err.Error(), "| 99\n  | 100") ||
		strings.Contains(err.Error(), "| 85\n") {
		t.Errorf("error %v", err)
	}
}
