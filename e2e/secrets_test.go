//go:build !race

package e2e

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"io/fs"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/plimsoll-bench/plimsoll/internal/notrun"
	"github.com/plimsoll-bench/plimsoll/lab/engine/enginetest"
)

// encodings are the forms in which a secret may be in a file.
func encodings(secret []byte) map[string][]byte {
	return map[string][]byte{
		"as it is": secret, "in hex": []byte(hex.EncodeToString(secret)),
		"in upper hex":    []byte(strings.ToUpper(hex.EncodeToString(secret))),
		"in base64":       []byte(strings.TrimRight(base64.StdEncoding.EncodeToString(secret), "=")),
		"in URL's base64": []byte(base64.RawURLEncoding.EncodeToString(secret)),
		"escaped":         []byte(url.QueryEscape(string(secret))),
		"path-escaped":    []byte(url.PathEscape(string(secret))),
	}
}

// findSecrets expects that no file below a directory has one of some secrets, except those that skip names.
func findSecrets(t *testing.T, dir string, secrets map[string][]byte, skip func(name string) bool) (files int) {
	t.Helper()
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || skip(name) {
			return err
		}
		files++
		text, err := os.ReadFile(name)
		for what, secret := range secrets {
			for how, encoded := range encodings(secret) {
				if bytes.Contains(text, encoded) {
					t.Errorf("%s has %s %s", name, what, how)
				}
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// TestKilledCommandsLeaveNoSecrets kills coordinators of a run, a study and a drill, with their agents, in the middle
// of the load. What they leave has no password, no token and no key. The keys are in the directory of the user only,
// which has no password either.
func TestKilledCommandsLeaveNoSecrets(t *testing.T) {
	inTurn(t, 60)
	binary, ok := enginetest.RealMongo(t)
	if !ok {
		notrun.Here(t, "secrets that killed commands leave: no real mongod, which has users")
		return
	}
	uri := enginetest.StartSet(t, binary, 1).URI
	client, err := dial(uri)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { hangUp(client) })
	const password = "op3n/s:same+%c0de"
	user := bson.D{{Key: "createUser", Value: "bench"}, {Key: "pwd", Value: password},
		{Key: "roles", Value: bson.A{"root"}}}
	if err := client.Database("admin").RunCommand(deadline(t), user).Err(); err != nil {
		t.Fatal(err)
	}
	at, err := url.Parse(uri)
	if err != nil {
		t.Fatal(err)
	}
	secret := "mongodb://bench:" + url.QueryEscape(password) + "@" + at.Host + "/?authSource=admin"
	file, dir := writeStudy(t, `
name: secrets
run:
  target: env:SECRET_URI
  workload: {name: a, records: 1000}
  load: {workers: 4, pace: 20, duration: 10m, clients: 2, place: manual}
factors:
  - path: load.workers
    levels: [4, 8]
trials: 1
canary: -1
`)
	for name, c := range map[string]struct {
		args []string
		out  string
	}{
		"run":   {ofAgents("--duration", "10m"), out},
		"study": {[]string{"study", "run", file, "--out", dir}, dir},
		"drill": {[]string{"drill", "env:SECRET_URI", "--external", "--agents", "2", "--threads", "4", "--rate", "60",
			"--duration", "10m", "--database", "drill", "--out", out}, out},
	} {
		t.Run(name, func(t *testing.T) { testKilledLeavesNoSecrets(t, secret, password, c.args, c.out) })
	}
}

func testKilledLeavesNoSecrets(t *testing.T, uri, password string, args []string, dir string) {
	if args[0] == "run" {
		args[1] = "env:SECRET_URI"
	}
	home := t.TempDir()
	c := startChanged(t, func(cmd *exec.Cmd) {
		cmd.Env = append(cmd.Env, "SECRET_URI="+uri, "PLIMSOLL_HOME="+home)
		f, err := os.Create(filepath.Join(cmd.Dir, "stderr"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Close() })
		cmd.Stderr = f
	}, args...)
	agents := startAgents(t, c, 2)
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(c.dir, dir)
	}
	c.until(t, "intervals in a record", func() bool {
		found := false
		_ = filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
			if err == nil && strings.HasPrefix(d.Name(), "intervals.") {
				info, err := d.Info()
				found = found || err == nil && info.Size() > 200
			}
			return nil
		})
		return found
	})
	for _, one := range append([]*command{c}, agents...) {
		one.signal(t, syscall.SIGKILL)
		one.wait(t)
	}
	said, err := os.ReadFile(filepath.Join(c.dir, "stderr"))
	if err != nil {
		t.Fatal(err)
	}
	secrets := map[string][]byte{"the password": []byte(password)}
	kept := findSecrets(t, filepath.Join(home, "coordinators"), secrets, func(string) bool { return false })
	secrets["the token"] = []byte(toStart.FindStringSubmatch(string(said))[1])
	states, err := filepath.Glob(filepath.Join(home, "coordinators", "*", "coordinator.json"))
	if err != nil || len(states) != 1 || kept < 2 {
		t.Fatalf("states %v, %d files, %v", states, kept, err)
	}
	if info, err := os.Stat(states[0]); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the state is %v, %v", info.Mode(), err)
	}
	text, err := os.ReadFile(states[0])
	var state struct {
		Key    []byte `json:"key"`
		Secret []byte `json:"secret"`
		TLSKey []byte `json:"tls_key"`
	}
	if err == nil {
		err = json.Unmarshal(text, &state)
	}
	if err != nil || len(state.Key) == 0 || len(state.Secret) == 0 || len(state.TLSKey) == 0 {
		t.Fatalf("the state: %v", err)
	}
	secrets["the key"], secrets["the secret"], secrets["the TLS key"] = state.Key, state.Secret, state.TLSKey
	left := findSecrets(t, c.dir, secrets, func(name string) bool { return filepath.Base(name) == "stderr" })
	if left += findSecrets(t, dir, secrets, func(string) bool { return false }); left == 0 {
		t.Error("the command left no files")
	}
	if n := findSecrets(t, agentsDir(t), secrets, func(string) bool { return false }); n == 0 {
		t.Error("the agents left no files")
	}
}
