package command

import (
	"path/filepath"
	"testing"

	"github.com/plimsoll-bench/plimsoll/internal/redact"
)

// The directories of a shell are no credentials, so the path of a script below them is shown. Credentials of commands
// are hidden.
func TestEnvironmentOfAShell(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("PWD", dir)
	t.Setenv("OLDPWD", filepath.Dir(dir))
	t.Setenv("TOKENIZERS_PARALLELISM", "parallel")
	t.Setenv("MYSQL_PWD", "wmpf83hs")
	t.Setenv("VAULT_TOKEN", "hvs.abcdefgh")
	t.Setenv("STORE", "mongodb://plimsoll:geheim99@127.0.0.1/")
	var known redact.Known
	learnEnvironment(&known)
	text := dir + "/kill.sh m1 parallel"
	if got := known.Hide(text); got != text {
		t.Errorf("%s became %s", text, got)
	}
	for _, secret := range []string{"wmpf83hs", "hvs.abcdefgh", "geheim99"} {
		if got := known.Hide("kill.sh " + secret); got != "kill.sh "+redact.Hidden {
			t.Errorf("it shows %s", got)
		}
	}
}
