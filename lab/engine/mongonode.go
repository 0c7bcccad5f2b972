package engine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/plimsoll-bench/plimsoll/lab/host"
	"github.com/plimsoll-bench/plimsoll/lab/process"
)

// MongoSpec says what a mongod or mongos of a lab is started as.
type MongoSpec struct {
	Name     string
	Role     string // one of the roles above
	Set      string // of members, shards, arbiters and config servers
	Sharded  bool   // an arbiter of a shard
	ConfigDB string // of routers: SET/HOST:PORT,…
	Host     host.Host
	DataDir  string // exists when the server is started; see [MongoNode.SetDataDir]
	LogDir   string // made if it does not exist; stays when the server moves to another host
	Programs MongoPrograms
	KeyFile  string // makes clients and members authenticate
	TLSDir   string // makes them speak TLS, with the certificates that [WriteCertificates] put there
	User     string // with which the lab itself asks, once the user was created
	Password string
	Cache    int64 // bytes; 0: from the memory of the host, else mongod's own choice
	Sharing  int   // how many servers with data share the memory of the host
	Volume   int64 // bytes of the volume that the data lie on; 0: without a limit of its own
	// Parameters and Args are what the user gave for servers of this role.
	Parameters map[string]string
	Args       []string
}

// MongoNode is a mongod or a mongos of a lab.
type MongoNode struct {
	spec MongoSpec

	mu      sync.Mutex
	host    host.Host
	port    int
	socket  string // for the localhost exception on a host whose address is not loopback
	proc    *process.Process
	paused  bool
	clients mongoClients
}

var _ Node = (*MongoNode)(nil)

// NewMongoNode makes a node that does not run yet, and finds its port.
func NewMongoNode(spec MongoSpec) (*MongoNode, error) {
	n := &MongoNode{spec: spec}
	return n, n.settle(spec.Host)
}

// settle chooses where the node listens on a host.
func (n *MongoNode) settle(at host.Host) error {
	port, socket := n.port, ""
	if n.host == nil || n.host.Address() != at.Address() {
		var err error
		if port, err = at.Port(); err != nil {
			return fmt.Errorf("%s finds no port on %s: %w", n.spec.Name, at.Name(), err)
		}
	}
	if ip := net.ParseIP(at.Address()); n.spec.KeyFile != "" && ip != nil && !ip.IsLoopback() {
		socket = filepath.Join(at.Dir(), n.spec.Name+".sock")
		if len(socket) > longestSocketPath {
			return fmt.Errorf("the path %s is longer than a socket's may be (%d bytes): keep labs in a directory with a shorter name (--home)", socket, longestSocketPath)
		}
	}
	n.host, n.port, n.socket = at, port, socket
	return nil
}

// Name is unique in the lab.
func (n *MongoNode) Name() string { return n.spec.Name }

// Kind is "mongod" or "mongos".
func (n *MongoNode) Kind() string {
	if n.spec.Role == MongoRouter {
		return "mongos"
	}
	return "mongod"
}

// Role is one of the roles above, and Set the replica set it belongs to.
func (n *MongoNode) Role() string { return n.spec.Role }

// Set is the replica set that the node belongs to.
func (n *MongoNode) Set() string { return n.spec.Set }

// Host is where it stands, or will be started next.
func (n *MongoNode) Host() host.Host {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.host
}

// Address is host:port where it listens.
func (n *MongoNode) Address() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return net.JoinHostPort(n.host.Address(), strconv.Itoa(n.port))
}

// DataDir is empty for a mongos.
func (n *MongoNode) DataDir() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.spec.DataDir
}

// SetDataDir says where the data are, before the first start.
func (n *MongoNode) SetDataDir(dir string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.spec.DataDir = dir
}

// SetConfigDB says where a router finds the config servers, before a start.
func (n *MongoNode) SetConfigDB(at string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.spec.ConfigDB = at
}

// Logs are the server's log and what it prints, which is where wrong arguments are complained about.
func (n *MongoNode) Logs() []string {
	return []string{filepath.Join(n.spec.LogDir, n.Kind()+".log"), filepath.Join(n.spec.LogDir, n.Kind()+".out")}
}

// Version is the release.
func (n *MongoNode) Version() string { return n.spec.Programs.Version.Text }

// Release is the release in numbers.
func (n *MongoNode) Release() MongoVersion { return n.spec.Programs.Version }

// Start starts the process and returns when it runs.
func (n *MongoNode) Start(ctx context.Context) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.proc != nil && n.proc.Running() {
		return fmt.Errorf("%s runs already, as process %d", n.spec.Name, n.proc.PID)
	}
	path := n.spec.Programs.Mongod
	if n.spec.Role == MongoRouter {
		path = n.spec.Programs.Mongos
	} else if n.spec.DataDir == "" {
		return fmt.Errorf("%s has no directory for its data", n.spec.Name)
	}
	if err := n.directories(); err != nil {
		return err
	}
	if n.socket != "" { // one that a killed server left keeps the next one from listening
		if err := os.Remove(n.socket); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("%s cannot use its socket: %w", n.spec.Name, err)
		}
	}
	out, err := os.OpenFile(n.Logs()[1], os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return fmt.Errorf("%s cannot keep its log: %w", n.spec.Name, err)
	}
	defer out.Close() // the process has its own
	proc, err := n.host.Start(ctx, process.Spec{Role: n.spec.Name, Path: path, Args: n.arguments(), Log: out,
		OpenFiles: MongoOpenFiles, Also: mongoEnvironment(n.Release())})
	if err != nil {
		return fmt.Errorf("%s does not start on %s: %w", n.spec.Name, n.host.Name(), err)
	}
	n.proc, n.paused = proc, false
	return nil
}

// directories makes those of the logs and the data; nobody else may read data.
func (n *MongoNode) directories() error {
	if err := os.MkdirAll(n.spec.LogDir, 0o700); err != nil {
		return fmt.Errorf("%s cannot keep its log: %w", n.spec.Name, err)
	}
	if n.spec.DataDir == "" {
		return nil
	}
	if err := errors.Join(os.MkdirAll(n.spec.DataDir, 0o700), os.Chmod(n.spec.DataDir, 0o700)); err != nil {
		return fmt.Errorf("%s cannot keep its data: %w", n.spec.Name, err)
	}
	return nil
}

// process is the one that was started last, nil before the first start.
func (n *MongoNode) process() *process.Process {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.proc
}

// Stop ends it with SIGTERM, at which mongod hands over, writes a checkpoint and ends.
func (n *MongoNode) Stop(ctx context.Context) error {
	n.clients.close()
	p := n.process()
	if p == nil || !p.Running() {
		return nil
	}
	if err := n.Resume(); err != nil { // a stopped process cannot end cleanly
		return err
	}
	return p.End(ctx, syscall.SIGTERM)
}

// Kill ends it at once.
func (n *MongoNode) Kill() error {
	n.clients.close()
	if p := n.process(); p != nil {
		p.Kill()
	}
	return nil
}

// Pause stops the process where it is, and returns when all its threads stand.
func (n *MongoNode) Pause() error {
	if err := n.signal(syscall.SIGSTOP, true); err != nil {
		return err
	}
	awaitStanding(n.Pids)
	return nil
}

// awaitStanding waits until no thread of the processes goes on, for a short time: one that waits for a disk stands later,
// before it does anything else.
func awaitStanding(pids func() []int) {
	for end := time.Now().Add(stopTime); time.Now().Before(end) && !standing(pids()); time.Sleep(time.Millisecond) {
	}
}

// stopTime bounds how long threads are waited for that have been told to stop.
const stopTime = 5 * time.Second

// standing says whether no thread of the processes goes on. The kernel tells each of them to stop, and one that runs on
// another core answers a question more. Where there is no /proc, nothing is known and nothing waited for.
func standing(pids []int) bool {
	for _, pid := range pids {
		tasks, _ := filepath.Glob(filepath.Join("/proc", strconv.Itoa(pid), "task", "*", "stat"))
		for _, file := range tasks {
			text, err := os.ReadFile(file)
			if err != nil {
				continue // the thread has ended
			}
			_, fields, _ := strings.Cut(string(text[bytes.LastIndexByte(text, ')')+1:]), " ")
			if fields != "" && !strings.Contains("TtZX", fields[:1]) {
				return false
			}
		}
	}
	return true
}

// Resume lets it go on.
func (n *MongoNode) Resume() error { return n.signal(syscall.SIGCONT, false) }

func (n *MongoNode) signal(s syscall.Signal, paused bool) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.proc == nil || !n.proc.Running() {
		if paused {
			return fmt.Errorf("%s does not run, so it cannot be paused", n.spec.Name)
		}
		return nil
	}
	for _, pid := range append(process.Descendants(n.proc.PID), n.proc.PID) {
		if err := syscall.Kill(pid, s); err != nil && !errors.Is(err, syscall.ESRCH) {
			return fmt.Errorf("cannot signal %s (process %d): %w", n.spec.Name, pid, err)
		}
	}
	n.paused = paused
	return nil
}

// IsPaused says whether it was stopped where it is.
func (n *MongoNode) IsPaused() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.paused && n.proc != nil && n.proc.Running()
}

// Status says whether it runs.
func (n *MongoNode) Status() Status {
	p := n.process()
	if p == nil {
		return Status{}
	}
	s := p.Status()
	return Status{Running: s.Running, Processes: []ProcessStatus{s}}
}

// Pids are the ids of it and its children.
func (n *MongoNode) Pids() []int {
	p := n.process()
	if p == nil || !p.Running() {
		return nil
	}
	return process.Family(p.PID)
}

// Ended is closed when the process that was started last has ended; nil before the first start.
func (n *MongoNode) Ended() <-chan struct{} {
	if p := n.process(); p != nil {
		return p.Done
	}
	return nil
}

// Move makes the next Start happen on another host. On a host with another address it listens on another one, which
// the replica set's configuration has to be told.
func (n *MongoNode) Move(to host.Host) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.proc != nil && n.proc.Running() {
		return fmt.Errorf("%s runs on %s: stop it before it moves to %s", n.spec.Name, n.host.Name(), to.Name())
	}
	n.clients.close()
	return n.settle(to)
}
