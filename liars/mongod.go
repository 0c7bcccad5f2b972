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
	m.process = exec.Command(program, "--replSet", "rs0", "--bind_ip", "127.0.0.1", "--port", strconv.Itoa(port), "--dbpath", data,
		"--logpath", filepath.Join(dir, "log"))
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

// drop removes the database of a trial.
func (m *mongod) drop(ctx context.Context, database string) error {
	return m.client.Database(database).Drop(ctx)
}
