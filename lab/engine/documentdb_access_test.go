package engine_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/plimsoll-bench/plimsoll/lab/engine"
	"github.com/plimsoll-bench/plimsoll/lab/engine/enginetest"
)

// A user and a certificate: only they get in, only the address knows the password, and the next start on
// the same data makes both anew.
func TestDocumentDBAccess(t *testing.T) {
	t.Parallel() // it mostly waits for a server
	e, ok := enginetest.DocumentDB(t)
	if !ok {
		return
	}
	dir := filepath.Join(t.TempDir(), "data")
	first := enginetest.Start(t, e, engine.StartOptions{DataDir: dir, User: "ada", Password: "l0vel4ce", TLS: true})
	if _, err := dial(t, first.URI()).Database("test").Collection("c").InsertOne(t.Context(), bson.M{"_id": 1}); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(first.URI(), "ada:l0vel4ce@") || !strings.Contains(first.URI(), "tls=true&tlsCAFile=") {
		t.Errorf("the address is %s", first.URI())
	}
	_, err := dial(t, strings.Replace(first.URI(), "ada:l0vel4ce@", "",
		1)).Database("test").Collection("c").CountDocuments(t.Context(), bson.M{})
	if err == nil || !strings.Contains(err.Error(), "requires authentication") {
		t.Errorf("without a user: %v", err)
	}
	checkArguments(t, first, "l0vel4ce")
	if err := first.Kill(); err != nil {
		t.Fatal(err)
	}
	checkFiles(t, filepath.Dir(first.Logs()[0]), "l0vel4ce")
	checkFiles(t, dir, "l0vel4ce")
	again := enginetest.Start(t, e, engine.StartOptions{DataDir: dir, User: "ada"})
	if n, err := dial(t, again.URI()).Database("test").Collection("c").CountDocuments(t.Context(), bson.M{}); err != nil ||
		n != 1 {
		t.Errorf("%d documents, error %v", n, err)
	}
	_, hosts, _ := strings.Cut(again.URI(), "@")
	if err := dial(t, "mongodb://ada:l0vel4ce@"+hosts).Ping(t.Context(), nil); err == nil {
		t.Error("the password of the first start opens the second one")
	}
}

// checkArguments looks for a password in what every user can see of a server's processes.
func checkArguments(t *testing.T, s engine.Server, password string) {
	t.Helper()
	for _, pid := range s.Pids() {
		line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		if err != nil && !errors.Is(err, fs.ErrNotExist) { // a session of PostgreSQL may have ended
			t.Fatal(err)
		}
		if bytes.Contains(line, []byte(password)) {
			t.Errorf("process %d shows the password: %q", pid, line)
		}
	}
}

// checkFiles looks for a password in all files of a directory, which nobody else can enter.
func checkFiles(t *testing.T, dir, password string) {
	t.Helper()
	if fi, err := os.Stat(dir); err != nil || fi.Mode().Perm() != 0o700 {
		t.Errorf("%s: %v, error %v", dir, fi.Mode(), err)
	}
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		text, err := os.ReadFile(name)
		if bytes.Contains(text, []byte(password)) {
			t.Errorf("%s holds the password", name)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}
