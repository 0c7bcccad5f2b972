//go:build !race

package e2e

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/plimsoll-bench/plimsoll/internal/childproc"
)

// server is a server of `plimsoll engine run`.
type server struct {
	engine string
	uri    string
	client *mongo.Client
	cmd    *exec.Cmd
	stderr *bytes.Buffer
	ended  bool
}

// startServer starts a server and waits for its address on standard output.
func startServer(engine string, args ...string) (*server, error) {
	f, err := setUp()
	if err != nil {
		return nil, err
	}
	s := &server{engine: engine, stderr: new(bytes.Buffer)}
	s.cmd = exec.Command(f.binary, append([]string{"engine", "run", engine}, args...)...)
	s.cmd.Env = append(os.Environ(), "PLIMSOLL_HOME="+f.home)
	s.cmd.Dir, s.cmd.Stderr = f.dir, s.stderr
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := childproc.Start(s.cmd); err != nil {
		return nil, err
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		err = errors.Join(err, s.cmd.Wait())
		return nil, fmt.Errorf("plimsoll engine run %s printed no address: %w\n%s", engine, err, s.stderr)
	}
	go func() { _, _ = io.Copy(io.Discard, out) }()
	started.Lock()
	started.servers = append(started.servers, s)
	started.Unlock()
	s.uri = strings.TrimSpace(line)
	s.client, err = dial(s.uri)
	return s, err
}

// stop ends a server with Ctrl-C, unless it has exited before.
func (s *server) stop() error {
	if s.ended {
		return nil
	}
	s.ended = true
	hangUp(s.client)
	if err := s.cmd.Process.Signal(os.Interrupt); err != nil {
		return err
	}
	if err := s.cmd.Wait(); err != nil {
		return fmt.Errorf("plimsoll engine run %s ended with %w\n%s", s.engine, err, s.stderr)
	}
	return nil
}

// kill kills the program; the server dies with it.
func (s *server) kill(t *testing.T) {
	t.Helper()
	s.ended = true
	if err := s.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	var exit *exec.ExitError
	if err := s.cmd.Wait(); !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		t.Fatalf("the killed server ended with %v", err)
	}
	hangUp(s.client)
}

// waitExit waits until the program detects that its server has died, and exits with an error.
func (s *server) waitExit(t *testing.T) {
	t.Helper()
	s.ended = true
	hangUp(s.client)
	var exit *exec.ExitError
	if err := s.cmd.Wait(); !errors.As(err, &exit) || exit.ExitCode() != 1 || !strings.Contains(s.stderr.String(), "the server exited") {
		t.Errorf("the program of a dead server ended with %v\n%s", err, s.stderr)
	}
}

// count returns how many documents a collection has.
func (s *server) count(t *testing.T, db, collection string) int64 {
	t.Helper()
	n, err := s.client.Database(db).Collection(collection).CountDocuments(deadline(t), bson.D{})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// dump returns all documents of a collection, ordered by _id.
func (s *server) dump(t *testing.T, db, collection string) []bson.Raw {
	t.Helper()
	ctx := deadline(t)
	cursor, err := s.client.Database(db).Collection(collection).Find(ctx, bson.D{})
	if err != nil {
		t.Fatal(err)
	}
	var docs []bson.Raw
	if err := cursor.All(ctx, &docs); err != nil {
		t.Fatal(err)
	}
	sortByID(docs)
	return docs
}
