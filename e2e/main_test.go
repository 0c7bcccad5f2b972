//go:build !race

package e2e

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/plimsoll-bench/plimsoll/internal/gobuild"
	"github.com/plimsoll-bench/plimsoll/lab/engine"
	"github.com/plimsoll-bench/plimsoll/lab/engine/enginetest"
)

// patience bounds all waits. It is long because other tests use the machine.
const patience = 10 * time.Minute

func TestMain(m *testing.M) {
	flag.Parse()
	if err := setTurns(); err != nil {
		panic(err)
	}
	code := m.Run()
	if err := endShared(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = max(code, 1)
	}
	os.Exit(code)
}

// shared is used by all tests: the program, a home directory with the engines of this machine, and one server of each
// engine. Each is made at its first use.
type shared struct {
	dir    string // temporary directory of the rest
	binary string
	home   string // PLIMSOLL_HOME of all commands
}

var setUp = sync.OnceValues(func() (shared, error) {
	dir, err := os.MkdirTemp("", "plimsoll-e2e-")
	if err != nil {
		return shared{}, err
	}
	s := shared{dir: dir, binary: filepath.Join(dir, "plimsoll"), home: filepath.Join(dir, "home")}
	if err := gobuild.Program(s.binary, "cmd/plimsoll"); err != nil {
		return s, err
	}
	if err := os.Mkdir(s.home, 0o755); err != nil {
		return s, err
	}
	installed, err := engine.DefaultHome(os.Getenv)
	if err != nil {
		return s, nil // no engine; enginetest prints a message
	}
	return s, os.Symlink(filepath.Join(installed, "engines"), filepath.Join(s.home, "engines"))
})

// sharedServers has the servers for all tests, by engine.
var sharedServers = map[string]func() (*server, error){
	engine.DocumentDB: sync.OnceValues(func() (*server, error) { return startServer(engine.DocumentDB) }),
	engine.Mongod:     sync.OnceValues(func() (*server, error) { return startServer(engine.Mongod) }),
}

// started lists all servers, so that all are stopped.
var started struct {
	sync.Mutex
	servers []*server
}

func endShared() error {
	started.Lock()
	defer started.Unlock()
	var errs []error
	for _, s := range started.servers {
		errs = append(errs, s.stop())
	}
	s, err := setUp()
	return errors.Join(append(errs, err, os.RemoveAll(s.dir))...)
}

func files(t *testing.T) shared {
	t.Helper()
	s, err := setUp()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// forEachServer runs a test on one server of each engine of this machine.
func forEachServer(t *testing.T, test func(t *testing.T, s *server)) {
	forEachEngine(t, func(t *testing.T, name string) {
		s, err := sharedServers[name]()
		if err != nil {
			t.Fatal(err)
		}
		test(t, s)
	})
}

// forEachEngine runs a test with the name of each engine of this machine.
func forEachEngine(t *testing.T, test func(t *testing.T, name string)) {
	t.Helper()
	if _, ok := enginetest.DocumentDB(t); ok {
		t.Run(engine.DocumentDB, func(t *testing.T) { test(t, engine.DocumentDB) })
	}
	if _, ok := enginetest.Mongod(t); ok {
		t.Run(engine.Mongod, func(t *testing.T) { test(t, engine.Mongod) })
	}
}

var databases atomic.Int64

// newDatabase returns a unique name.
func newDatabase(about ...string) string {
	name := strings.NewReplacer("-", "_", "/", "_", " ", "_").Replace(strings.Join(about, "_"))
	return fmt.Sprintf("e2e_%d_%s", databases.Add(1), name)
}

// dial connects the official driver.
func dial(uri string) (*mongo.Client, error) {
	return mongo.Connect(options.Client().ApplyURI(uri).SetServerSelectionTimeout(patience))
}

// hangUp closes the connections of a client. It never waits for a server that was killed.
func hangUp(c *mongo.Client) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_ = c.Disconnect(ctx)
}

// deadline returns a context that ends with the test or after [patience].
func deadline(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}
