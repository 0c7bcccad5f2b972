package engine_test

import (
	"bufio"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/writeconcern"

	"github.com/plimsoll-bench/plimsoll/lab/engine"
	"github.com/plimsoll-bench/plimsoll/lab/engine/enginetest"
	"github.com/plimsoll-bench/plimsoll/lab/process"
)

// candidate is an engine that the common tests run on.
type candidate struct {
	name   string
	engine engine.Engine
	home   string
	binary string // of mongod, empty: the installed one
}

// forEachEngine runs a test on the stand-in and on every real engine of this machine.
func forEachEngine(t *testing.T, test func(t *testing.T, c candidate)) {
	t.Run("stand-in", func(t *testing.T) {
		home := t.TempDir()
		e, err := engine.ByName(home, engine.Mongod)
		if err != nil {
			t.Fatal(err)
		}
		test(t, candidate{name: engine.Mongod, engine: e, home: home, binary: enginetest.StandinMongo(t, "8.0.12")})
	})
	if binary, ok := enginetest.RealMongo(t); ok {
		t.Run("mongod", func(t *testing.T) {
			home := t.TempDir()
			e, err := engine.ByName(home, engine.Mongod)
			if err != nil {
				t.Fatal(err)
			}
			test(t, candidate{name: engine.Mongod, engine: e, home: home, binary: binary})
		})
	}
	if e, ok := enginetest.DocumentDB(t); ok {
		t.Run("documentdb", func(t *testing.T) {
			test(t, candidate{name: engine.DocumentDB, engine: e, home: homeOf(t, e)})
		})
	}
}

// homeOf makes another home with the engines of e's.
func homeOf(t *testing.T, e engine.Engine) string {
	t.Helper()
	inst, err := e.Installed(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	dir, _, ok := strings.Cut(inst.Path, "/engines/")
	if !ok {
		return t.TempDir() // on PATH
	}
	return enginetest.Home(t, dir)
}

// gone fails unless the processes end within a while.
func gone(t *testing.T, pids map[int]uint64) {
	t.Helper()
	if len(pids) == 0 {
		t.Fatal("no processes to look for")
	}
	for deadline := time.Now().Add(10 * time.Minute); ; time.Sleep(20 * time.Millisecond) {
		left := 0
		for pid, born := range pids {
			if process.Alive(pid, born) {
				left++
			}
		}
		if left == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d of %d processes are still there", left, len(pids))
		}
	}
}

// born notes the start times of processes.
func born(pids []int) map[int]uint64 {
	m := map[int]uint64{}
	for _, pid := range pids {
		if start, err := process.StartTime(pid); err == nil {
			m[pid] = start
		}
	}
	return m
}

func TestServer(t *testing.T) {
	t.Parallel() // it mostly waits for a server
	forEachEngine(t, func(t *testing.T, c candidate) {
		s := enginetest.Start(t, c.engine, engine.StartOptions{Binary: c.binary})
		ctx := t.Context()
		if !s.Status().Running || s.Version() == "" || s.Engine() != c.name {
			t.Errorf("status %+v, version %q, engine %q", s.Status(), s.Version(), s.Engine())
		}
		if set, err := s.Settings(ctx); err != nil || len(set) == 0 {
			t.Errorf("settings %v, error %v", set, err)
		}
		coll := dial(t, s.URI()).Database("test").Collection("people")
		if _, err := coll.InsertOne(ctx, bson.M{"_id": 1, "name": "Ada"}); err != nil {
			t.Fatal(err)
		}
		var got bson.M
		if err := coll.FindOne(ctx, bson.M{"_id": 1}).Decode(&got); err != nil || got["name"] != "Ada" {
			t.Errorf("found %v, error %v", got, err)
		}
		pids, run := born(s.Pids()), filepath.Dir(s.Logs()[0])
		if err := s.Stop(ctx); err != nil {
			t.Error(err)
		}
		gone(t, pids)
		select {
		case <-s.Ended():
		default:
			t.Error("the server was stopped and does not say that it has ended")
		}
		if _, err := os.Stat(run); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s is left: %v", run, err)
		}
	})
}

func TestKillKeepsData(t *testing.T) {
	t.Parallel() // it mostly waits for a server
	forEachEngine(t, func(t *testing.T, c candidate) {
		dir := filepath.Join(t.TempDir(), "data")
		opts := engine.StartOptions{DataDir: dir, Binary: c.binary}
		s := enginetest.Start(t, c.engine, opts)
		if _, err := c.engine.Start(t.Context(), opts); err == nil || !strings.Contains(err.Error(), "in use") {
			t.Errorf("a second server on the same data: %v", err)
		}
		acknowledged := writeUntilKilled(t, s)
		again := enginetest.Start(t, c.engine, opts)
		n, err := dial(t, again.URI()).Database("test").Collection("acks").CountDocuments(t.Context(), bson.M{})
		if err != nil || n < acknowledged || n > acknowledged+1 { // the last insert has no answer
			t.Errorf("%d of %d acknowledged writes are there, error %v", n, acknowledged, err)
		}
	})
}

// writeUntilKilled inserts the ids 0, 1, … one after the other, kills the server amid that, and
// returns how many inserts were acknowledged.
func writeUntilKilled(t *testing.T, s engine.Server) int64 {
	t.Helper()
	coll := dial(t, s.URI()).Database("test").Collection("acks", options.Collection().SetWriteConcern(writeconcern.Majority()))
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	pids := born(s.Pids())
	killed := make(chan error, 1)
	for n := int64(0); ; n++ {
		if n == 200 {
			go func() {
				defer cancel() // the client would look for another server
				killed <- s.Kill()
			}()
		}
		if _, err := coll.InsertOne(ctx, bson.M{"_id": n}); err != nil {
			if n < 200 {
				t.Fatal(err)
			}
			if err := <-killed; err != nil {
				t.Error(err)
			}
			gone(t, pids)
			return n
		}
	}
}

// When Plimsoll is killed, its servers die with it, and a later cleanup removes the rest.
func TestKilledPlimsollLeavesNothing(t *testing.T) {
	t.Parallel() // it mostly waits for a server
	forEachEngine(t, func(t *testing.T, c candidate) {
		binary := c.binary
		if binary == "" {
			binary = "-"
		}
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), helperVar+"="+c.home+"\n"+c.name+"\n"+binary)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		line, err := bufio.NewReader(out).ReadString('\n')
		if err != nil || strings.HasPrefix(line, "error") {
			_ = cmd.Process.Kill()
			t.Fatalf("the helper said %q: %v", line, err)
		}
		checkInUse(t, c.home)
		var pids []int
		for _, word := range regexp.MustCompile(`\b[0-9]+\b`).FindAllString(line[strings.Index(line, "["):], -1) {
			pid, _ := strconv.Atoi(word)
			pids = append(pids, pid)
		}
		servers := born(pids)
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait() // it was killed
		gone(t, servers)
		removed, err := cleanup(c.home)
		if err != nil || len(removed) != 1 || removed[0].InUse || !removed[0].Temporary {
			t.Errorf("cleanup removed %+v, error %v", removed, err)
		}
		if left, err := os.ReadDir(filepath.Join(c.home, "run")); err != nil || len(left) != 0 {
			t.Errorf("left are %v, error %v", left, err)
		}
	})
}

// cleanup cleans a home up and returns what it did about servers. The engines are those of the machine, whose
// installation may have been killed earlier.
func cleanup(home string) ([]engine.Removed, error) {
	removed, err := engine.Cleanup(home)
	return slices.DeleteFunc(removed, func(r engine.Removed) bool { return r.DataDir == "" }), err
}

// checkInUse makes sure that a cleanup leaves a living Plimsoll's server alone.
func checkInUse(t *testing.T, home string) {
	t.Helper()
	removed, err := cleanup(home)
	if err != nil || len(removed) != 1 || !removed[0].InUse {
		t.Errorf("cleanup beside a living server did %+v, error %v", removed, err)
	}
}

func TestEndedByItself(t *testing.T) {
	t.Parallel() // it mostly waits for a server
	forEachEngine(t, func(t *testing.T, c candidate) {
		s := enginetest.Start(t, c.engine, engine.StartOptions{Binary: c.binary})
		p, err := os.FindProcess(s.Status().Processes[0].PID)
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Kill(); err != nil {
			t.Fatal(err)
		}
		<-s.Ended()
		if st := s.Status(); st.Running || !strings.Contains(st.Processes[0].Exit, "killed") {
			t.Errorf("status %+v", st)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
		defer cancel()
		if err := s.Wait(ctx); err == nil {
			t.Error("a server whose first process was killed is said to be usable")
		}
	})
}
