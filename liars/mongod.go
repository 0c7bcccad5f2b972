package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/plimsoll-bench/plimsoll/internal/childproc"
	"github.com/plimsoll-bench/plimsoll/lab/engine"
	"github.com/plimsoll-bench/plimsoll/lab/engine/enginetest"
)

// standinVersion is the release that the stand-in plays where no real mongod is.
const standinVersion = "5.0.31"

// mongod is a replica set of one member on loopback, which all trials of a family share.
type mongod struct {
	address string
	about   string // the program and its version
	real    bool   // not the stand-in
	client  *mongo.Client
	process *exec.Cmd

	mu   sync.Mutex
	free []string // databases that no trial uses
	made int
}

// startMongod starts a real mongod if the directory [enginetest.RealMongoVar] or PATH has one, otherwise the stand-in.
func startMongod(ctx context.Context, c config) (m *mongod, err error) {
	dir, err := os.MkdirTemp(c.scratch, "mongod")
	if err != nil {
		return nil, err
	}
	m = &mongod{}
	program, err := m.program(dir)
	if err != nil {
		return nil, err
	}
	port, err := engine.FreePort()
	if err != nil {
		return nil, err
	}
	data := filepath.Join(dir, "data")
	if err := os.Mkdir(data, 0o700); err != nil {
		return nil, err
	}
	m.address = "127.0.0.1:" + strconv.Itoa(port)
	args := []string{"--replSet", "rs0", "--bind_ip", "127.0.0.1", "--port", strconv.Itoa(port), "--dbpath", data,
		"--logpath", filepath.Join(dir, "log")}
	if m.real {
		args = append(args, "--wiredTigerCacheSizeGB", "0.5", "--setParameter", "diagnosticDataCollectionEnabled=false")
	}
	m.process = exec.Command(program, args...)
	if err := childproc.Start(m.process); err != nil {
		return nil, fmt.Errorf("start %s: %w", program, err)
	}
	if err := m.initiate(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("start %s: %w", program, err), m.stop())
	}
	return m, nil
}

func (m *mongod) program(dir string) (path string, err error) {
	if from := os.Getenv(enginetest.RealMongoVar); from != "" {
		path, m.real = filepath.Join(from, "mongod"), true
	} else if path, err = exec.LookPath("mongod"); err == nil {
		m.real = true
	} else if path, err = enginetest.WriteStandin(dir, standinVersion); err != nil {
		return "", err
	}
	out, err := exec.Command(path, "--version").Output()
	if err != nil {
		return "", fmt.Errorf("%s --version: %w", path, err)
	}
	first, _, _ := strings.Cut(string(out), "\n")
	m.about = "mongod " + strings.TrimPrefix(first, "db version v")
	if !m.real {
		m.about = "the stand-in of mongod for tests"
	}
	return path, nil
}

// startAtMost bounds the start of a server.
const startAtMost = time.Minute

// initiate makes the server a replica set and waits for its primary.
func (m *mongod) initiate(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startAtMost)
	defer cancel()
	one, err := mongo.Connect(options.Client().ApplyURI("mongodb://" + m.address + "/?directConnection=true").
		SetServerSelectionTimeout(startAtMost))
	if err != nil {
		return err
	}
	defer func() { _ = one.Disconnect(ctx) }() // it has done its work
	err = one.Database("admin").RunCommand(ctx, bson.D{{Key: "replSetInitiate", Value: bson.D{{Key: "_id", Value: "rs0"},
		{Key: "members", Value: bson.A{bson.D{{Key: "_id", Value: 0}, {Key: "host", Value: m.address}}}}}}}).Err()
	if err != nil {
		return err
	}
	m.client, err = mongo.Connect(options.Client().ApplyURI("mongodb://" + m.address + "/?replicaSet=rs0").
		SetServerSelectionTimeout(startAtMost))
	if err != nil {
		return err
	}
	return m.client.Ping(ctx, nil)
}

func (m *mongod) stop() error {
	if m.client != nil {
		_ = m.client.Disconnect(context.Background()) // the process ends next
	}
	_ = m.process.Process.Signal(syscall.SIGKILL)
	_ = m.process.Wait() // killed, and its data are removed
	return nil
}

// database is the name of a database that no other trial uses until done is called. Trials leave it empty, because a
// server makes and drops collections much more slowly than it removes documents.
func (m *mongod) database() (name string, done func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if n := len(m.free); n > 0 {
		name, m.free = m.free[n-1], m.free[:n-1]
	} else {
		m.made++
		name = fmt.Sprintf("liars_%d", m.made)
	}
	return name, func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.free = append(m.free, name)
	}
}

// empty removes all documents of some collections.
func (m *mongod) empty(ctx context.Context, database string, collections ...string) error {
	for _, name := range collections {
		if _, err := m.client.Database(database).Collection(name).DeleteMany(ctx, bson.D{}); err != nil {
			return err
		}
	}
	return nil
}
