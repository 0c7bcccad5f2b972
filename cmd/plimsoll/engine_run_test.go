package main

import (
	"bufio"
	"bytes"
	"errors"
	"io/fs"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/plimsoll-bench/plimsoll/internal/childproc"
	"github.com/plimsoll-bench/plimsoll/internal/permit"
	"github.com/plimsoll-bench/plimsoll/lab/engine"
	"github.com/plimsoll-bench/plimsoll/lab/engine/enginetest"
	"github.com/plimsoll-bench/plimsoll/lab/process"
)

// ownServer is an engine with a home directory and a data directory.
type ownServer struct {
	home, data string
	args       []string // of engine run
}

// forEachOwnServer runs a test on the stand-in and on every real engine of this machine.
func forEachOwnServer(t *testing.T, test func(t *testing.T, o ownServer)) {
	mongod := func(t *testing.T, binary string) {
		test(t, ownServer{t.TempDir(), filepath.Join(t.TempDir(), "data"), []string{engine.Mongod, "--binary", binary}})
	}
	t.Run("stand-in", func(t *testing.T) { mongod(t, enginetest.StandinMongo(t, "8.0.12")) })
	if binary, ok := enginetest.RealMongo(t); ok {
		t.Run("mongod", func(t *testing.T) { mongod(t, binary) })
	}
	if e, ok := enginetest.DocumentDB(t); ok {
		t.Run(engine.DocumentDB, func(t *testing.T) {
			inst, err := e.Installed(permit.With(t.Context(), permit.All))
			if err != nil {
				t.Fatal(err)
			}
			home := enginetest.Home(t, filepath.Dir(filepath.Dir(inst.Path)))
			test(t, ownServer{home, filepath.Join(t.TempDir(), "data"), []string{engine.DocumentDB}})
		})
	}
}

// running is a plimsoll with a server in the foreground.
type running struct {
	cmd    *exec.Cmd
	stderr bytes.Buffer
	uri    string
}

// run starts the server, and waits for its address or its end. The process ends with the test.
func (o ownServer) run(t *testing.T, args ...string) *running {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	r := &running{cmd: exec.Command(self, append(append([]string{"engine", "run"}, o.args...), args...)...)}
	r.cmd.Args[0] = "plimsoll"
	r.cmd.Env, r.cmd.Stderr = append(os.Environ(), "PLIMSOLL_HOME="+o.home), &r.stderr
	out, err := r.cmd.StdoutPipe()
	if err == nil {
		err = childproc.Start(r.cmd)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.cmd.Process.Kill() }) // it may have ended
	line, _ := bufio.NewReader(out).ReadString('\n')
	r.uri = strings.TrimSpace(line)
	return r
}

// end waits for the end and checks the exit code.
func (r *running) end(t *testing.T, code int) {
	t.Helper()
	if _ = r.cmd.Wait(); r.cmd.ProcessState.ExitCode() != code {
		t.Fatalf("engine run ended with %v, want the exit code %d\n%s", r.cmd.ProcessState, code, &r.stderr)
	}
}

func (r *running) interrupt(t *testing.T) {
	t.Helper()
	if err := r.cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	r.end(t, 0)
}

// documents inserts one document and returns how many there are.
func documents(t *testing.T, uri string) (n int64, err error) {
	t.Helper()
	o := options.Client().ApplyURI(uri).SetServerSelectionTimeout(time.Minute).SetRetryWrites(false)
	c, err := mongo.Connect(o)
	if err != nil {
		return 0, err
	}
	defer func() { _ = c.Disconnect(t.Context()) }()
	coll := c.Database("test").Collection("people")
	if _, err := coll.InsertOne(t.Context(), bson.M{"name": "Ada"}); err != nil {
		return 0, err
	}
	return coll.CountDocuments(t.Context(), bson.M{})
}

// With access control and TLS (where the server has it) only the user gets in, and no file has the password. Kept data
// take a new port, a new password and a start without access control. Two servers cannot have the same data.
func TestEngineRun(t *testing.T) {
	t.Parallel()
	forEachOwnServer(t, func(t *testing.T, o ownServer) {
		secret := filepath.Join(t.TempDir(), "password")
		if err := os.WriteFile(secret, []byte("l0vel4ce"), 0o600); err != nil {
			t.Fatal(err)
		}
		args := []string{"--data", o.data, "--auth", "--user", "ada"}
		if o.args[0] == engine.DocumentDB || enginetest.HasTLS(t, o.args[2]) {
			args = append(args, "--tls")
		}
		r := o.run(t, append(args, "--password-file", secret)...)
		if n, err := documents(t, r.uri); err != nil || n != 1 {
			t.Fatalf("%d documents at %s, error %v\n%s", n, r.uri, err, &r.stderr)
		}
		if _, err := documents(t, strings.Replace(r.uri, "ada:l0vel4ce@", "", 1)); err == nil {
			t.Error("a client without a user got in")
		}
		second := o.run(t, "--data", o.data)
		if second.end(t, 1); !strings.Contains(second.stderr.String(), "is in use by another server") {
			t.Errorf("a second server on the same data: %s", &second.stderr)
		}
		checkNoFileHas(t, "l0vel4ce", o.home, o.data)
		r.interrupt(t)
		checkNoLab(t, o)
		r = o.run(t, args...)
		if _, err := documents(t, strings.Replace(r.uri, "//", "//ada:l0vel4ce@", 1)); err == nil {
			t.Error("the password of the first start opens the second one")
		}
		if n, err := documents(t, r.uri); err != nil || n != 2 {
			t.Errorf("%d documents with a new password on kept data, error %v", n, err)
		}
		r.interrupt(t)
		port, err := engine.FreePort()
		if err != nil {
			t.Fatal(err)
		}
		at := strconv.Itoa(port)
		r = o.run(t, "--data", o.data, "--port", at)
		if n, err := documents(t, r.uri); err != nil || n != 3 || !strings.Contains(r.uri, "127.0.0.1:"+at) {
			t.Errorf("%d documents without access control at %s, error %v", n, r.uri, err)
		}
		r.interrupt(t)
	})
}

// checkNoFileHas looks for a secret in all regular files of directories. The stand-in writes down what it was told.
func checkNoFileHas(t *testing.T, secret string, dirs ...string) {
	t.Helper()
	for _, dir := range dirs {
		err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() || d.Name() == "conversation.ndjson" {
				return nil // a file of a running server may go
			}
			if text, err := os.ReadFile(name); err == nil && bytes.Contains(text, []byte(secret)) {
				t.Errorf("%s has the password", name)
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
}

func checkNoLab(t *testing.T, o ownServer) {
	t.Helper()
	if left, err := filepath.Glob(filepath.Join(o.home, "labs", "*")); err != nil || len(left) > 0 {
		t.Errorf("left are %v, error %v", left, err)
	}
}

// When plimsoll is killed, its server dies too. 'engine clean' removes the rest, but no server that runs.
func TestEngineRunKilled(t *testing.T) {
	t.Parallel()
	forEachOwnServer(t, func(t *testing.T, o ownServer) {
		r, other := o.run(t, "--data", o.data), o.run(t)
		if err := r.cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = r.cmd.Wait() // it was killed
		env, stdout, stderr := engineEnvironment(o.home, "engine", "clean")
		if code := mainRun(t.Context(), env); code != exitSuccess || strings.Count(stdout.String(), ": removed\n") != 1 ||
			strings.Count(stdout.String(), ": in use, not removed\n") != 1 {
			t.Errorf("engine clean ended with %d and printed %s%s", code, stdout, stderr)
		}
		dead, err := url.Parse(r.uri)
		if err != nil {
			t.Fatal(err)
		}
		if c, err := net.Dial("tcp", dead.Host); err == nil {
			_ = c.Close()
			t.Error("the server of a killed plimsoll answers")
		}
		if _, err := documents(t, other.uri); err != nil {
			t.Errorf("after engine clean another server says %v", err)
		}
		other.interrupt(t)
		checkNoLab(t, o)
		if r = o.run(t, "--data", o.data); r.uri == "" {
			t.Fatalf("no start on the data of a killed server: %s", &r.stderr)
		}
		r.interrupt(t)
	})
}

// The end of a server is the end of the command, with the end of the log.
func TestEngineRunServerExits(t *testing.T) {
	t.Parallel()
	forEachOwnServer(t, func(t *testing.T, o ownServer) {
		r := o.run(t)
		env, stdout, stderr := engineEnvironment(o.home, "lab", "list")
		if code := mainRun(t.Context(), env); code != exitSuccess || !strings.Contains(stdout.String(), "engine-") {
			t.Errorf("the list of labs ended with %d: %s%s", code, stdout, stderr)
		}
		for _, pid := range childrenOf(t, r.cmd.Process.Pid) {
			if p, err := os.FindProcess(pid); err == nil {
				_ = p.Kill() // one of several may end with another
			}
		}
		if r.end(t, 1); !strings.Contains(r.stderr.String(), "the server exited") {
			t.Errorf("it said %s", &r.stderr)
		}
		checkNoLab(t, o)
	})
}

func childrenOf(t *testing.T, pid int) []int {
	t.Helper()
	pids := process.Descendants(pid)
	if len(pids) == 0 {
		t.Fatal(errors.New("the command has no children"))
	}
	return pids
}
