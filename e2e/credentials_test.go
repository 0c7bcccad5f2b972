//go:build !race

package e2e

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// checkNoCredentials searches for passwords in the output and the files of a command.
func checkNoCredentials(t *testing.T, e ended, secrets ...string) {
	t.Helper()
	texts := map[string]string{"standard output": e.stdout, "standard error": e.stderr}
	err := filepath.WalkDir(e.dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(name)
		texts[name] = string(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range texts {
		for _, secret := range secrets {
			if strings.Contains(text, secret) {
				t.Errorf("%s holds the password:\n%s", name, text)
			}
		}
	}
}
