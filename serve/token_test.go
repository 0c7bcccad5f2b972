package serve

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestTokenFile(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string, mode os.FileMode) string {
		name = filepath.Join(dir, name)
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(name, mode); err != nil {
			t.Fatal(err)
		}
		return name
	}
	pipe := filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		file("good", testToken+"\n", 0o600):                  "",
		file("read-only", testToken, 0o400):                  "",
		file("windows", testToken+"\r\n", 0o600):             "",
		file("group", testToken, 0o640):                      "chmod 600",
		file("others", testToken, 0o604):                     "chmod 600",
		file("writable", testToken, 0o602):                   "chmod 600",
		file("empty", "\n", 0o600):                           "0 characters",
		file("short", "secret-abc", 0o600):                   "at least 16",
		file("lines", testToken+"\n"+testToken+"\n", 0o600):  "more than one line",
		file("spaces", testToken+" "+testToken, 0o600):       "spaces",
		file("binary", testToken+"\x00", 0o600):              "special characters",
		file("long", strings.Repeat("secret", 1<<20), 0o600): "more than 4096 bytes",
		filepath.Join(dir, "missing"):                        "no such file",
		dir:                                                  "not a regular file",
		pipe:                                                 "not a regular file",
		"/dev/zero":                                          "not a regular file",
	} {
		token, err := ReadToken(name)
		switch {
		case want == "" && (err != nil || token != testToken):
			t.Errorf("%s: %q, %v", name, token, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want) || token != ""):
			t.Errorf("%s: %q, %v, want an error with %q", name, token, err, want)
		case err != nil && (strings.Contains(err.Error(), testToken) || strings.Contains(err.Error(), "secret")):
			t.Errorf("%s: the error repeats the token: %v", name, err)
		}
	}
}
