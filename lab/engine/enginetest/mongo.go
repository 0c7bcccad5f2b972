package enginetest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/plimsoll-bench/plimsoll/internal/gobuild"
	"github.com/plimsoll-bench/plimsoll/internal/notrun"
	"github.com/plimsoll-bench/plimsoll/internal/permit"
	"github.com/plimsoll-bench/plimsoll/internal/scratch"
	"github.com/plimsoll-bench/plimsoll/lab/engine"
)

// mongoStandin is the program that plays mongod and mongos; its comment says how.
const mongoStandin = "lab/engine/testdata/mongo"

// RealMongoVar names a directory with a real mongod and mongos, on which the same tests run as on the stand-in.
const RealMongoVar = "PLIMSOLL_TEST_MONGOD"

// buildMongo builds the stand-in once. Its bytes are kept rather than a file, which nobody would remove.
var buildMongo = sync.OnceValues(func() (program []byte, err error) {
	dir, err := scratch.Make("", "plimsoll-mongo-", nil)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	path := filepath.Join(dir, "mongo")
	if err := gobuild.Program(path, mongoStandin); err != nil {
		return nil, err
	}
	return os.ReadFile(path)
})

// StandinMongo is [WriteStandin] in a directory of the test.
func StandinMongo(t testing.TB, version string, misbehave ...string) string {
	t.Helper()
	path, err := WriteStandin(t.TempDir(), version, misbehave...)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// WriteStandin writes a mongod and a mongos into a directory, which play a release and misbehave in the given ways, and
// returns the path of mongod. All servers that are started from it share what they know of each other.
func WriteStandin(dir, version string, misbehave ...string) (path string, err error) {
	program, err := buildMongo()
	if err != nil {
		return "", err
	}
	path = filepath.Join(dir, "mongod")
	// Another process writes the file: while this one had it open, a child that is just being started elsewhere could
	// hold it open too, and the kernel would refuse to execute it.
	cp := exec.Command("sh", "-c", `cat >"$0" && chmod 755 "$0"`, path)
	cp.Stdin = bytes.NewReader(program)
	if out, err := cp.CombinedOutput(); err != nil {
		return "", fmt.Errorf("cannot write the stand-in: %w: %s", err, out)
	}
	if err := os.Symlink("mongod", filepath.Join(dir, "mongos")); err != nil {
		return "", err
	}
	text, err := json.Marshal(map[string]any{"version": version, "misbehave": misbehave})
	if err != nil {
		return "", err
	}
	return path, os.WriteFile(filepath.Join(dir, "standin.json"), text, 0o600)
}

// RealMongo is the path of a real mongod: from the directory that [RealMongoVar] names, else from PATH.
func RealMongo(t testing.TB) (path string, ok bool) {
	t.Helper()
	if notrun.Left(t, "on a real mongod") {
		return "", false
	}
	if dir := os.Getenv(RealMongoVar); dir != "" {
		path = filepath.Join(dir, "mongod")
		if _, err := os.Stat(path); err != nil {
			t.Fatalf("%s=%s: %v", RealMongoVar, dir, err)
		}
		return path, true
	}
	path, err := exec.LookPath("mongod")
	if err != nil {
		notrun.Here(t, "on a real mongod: none is on PATH, and %s names no directory with one", RealMongoVar)
	}
	return path, err == nil
}

// HasTLS says whether a mongod was built with TLS. A test does without it on a real one that was not, and says so.
func HasTLS(t testing.TB, binary string) bool {
	t.Helper()
	ctx := permit.With(t.Context(), permit.Execute)
	programs, err := engine.FindMongo(ctx, t.TempDir(), binary, "", false)
	if err != nil {
		t.Fatal(err)
	}
	err = engine.TryMongo(ctx, programs, engine.MongoMember, nil, nil, true)
	refused := (*engine.Refusal)(nil)
	switch {
	case err == nil:
		return true
	case !errors.As(err, &refused) || refused.About != engine.AboutTLS:
		t.Fatal(err)
	}
	notrun.Here(t, "TLS on %s, which was built without it", binary)
	return false
}
