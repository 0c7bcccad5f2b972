package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"path/filepath"
	"syscall"

	"github.com/plimsoll-bench/plimsoll/lab/host"
	"github.com/plimsoll-bench/plimsoll/lab/process"
)

// MongoSpec describes a mongod or mongos of a lab.
type MongoSpec struct {
	Name     string
	Role     string // one of the roles above
	Set      string // of members, shards, arbiters and config servers
	Sharded  bool   // an arbiter of a shard
	ConfigDB string // of routers: SET/HOST:PORT,…
	Host     host.Host
	Port     int    // 0: the host chooses
	DataDir  string // exists when the server is started; see [MongoNode.SetDataDir]
	LogDir   string // made if it does not exist; stays when the server moves to another host
	Programs MongoPrograms
	KeyFile  string // enables authentication of clients and members
	TLSDir   string // enables TLS with the certificates of [WriteCertificates]
	User     string // of the lab's own commands, after the user was created
	Password string
	Cache    int64 // bytes; 0: from the memory of the host, else mongod's default
	Sharing  int   // number of servers with data that share the memory of the host
	Volume   int64 // size of the data volume in bytes; 0: no limit
	// Parameters and Args of the user for servers of this role.
	Parameters map[string]string
	Args       []string
}

// MongoNode is a mongod or a mongos of a lab.
type MongoNode struct {
	placed
	spec    MongoSpec // changes under placed.starting and placed.mu
	socket  string    // for the localhost exception on a host whose address is not loopback
	clients mongoClients
}

var _ Node = (*MongoNode)(nil)

// NewMongoNode makes a node that does not run yet, and reserves its port.
func NewMongoNode(spec MongoSpec) (*MongoNode, error) {
	kind := "mongod"
	if spec.Role == MongoRouter {
		kind = "mongos"
	}
	n := &MongoNode{spec: spec, placed: placed{name: spec.Name, kind: kind, log: filepath.Join(spec.LogDir, kind+".out")}}
	return n, n.assignHost(spec.Host)
}

// assignHost chooses the port and the socket of the node on a host.
func (n *MongoNode) assignHost(at host.Host) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	port, socket := n.port, ""
	if n.spec.Port != 0 {
		port = n.spec.Port
	} else if n.host == nil || n.host.Address() != at.Address() {
		var err error
		if port, err = at.Port(); err != nil {
			return fmt.Errorf("cannot find a port for %s on %s: %w", n.name, at.Name(), err)
		}
	}
	if ip := net.ParseIP(at.Address()); n.spec.KeyFile != "" && ip != nil && !ip.IsLoopback() {
		socket = filepath.Join(at.Dir(), n.name+".sock")
		if len(socket) > longestSocketPath {
			return fmt.Errorf("the path %s is longer than the limit of sockets (%d bytes): use a directory with a shorter path for labs (--home)",
				socket, longestSocketPath)
		}
	}
	n.host, n.port, n.socket = at, port, socket
	return nil
}

// Role is one of the roles above.
func (n *MongoNode) Role() string { return n.spec.Role }

// Set is the name of the node's replica set.
func (n *MongoNode) Set() string { return n.spec.Set }

func (n *MongoNode) DataDir() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.spec.DataDir
}

// SetDataDir sets the data directory before the first start.
func (n *MongoNode) SetDataDir(dir string) {
	n.starting.Lock()
	defer n.starting.Unlock()
	n.mu.Lock()
	defer n.mu.Unlock()
	n.spec.DataDir = dir
}

// SetConfigDB sets the config servers of a router before a start.
func (n *MongoNode) SetConfigDB(at string) {
	n.starting.Lock()
	defer n.starting.Unlock()
	n.mu.Lock()
	defer n.mu.Unlock()
	n.spec.ConfigDB = at
}

// Logs returns the server's log, and its output, which has the errors about arguments.
func (n *MongoNode) Logs() []string {
	return []string{filepath.Join(n.spec.LogDir, n.kind+".log"), n.log}
}

func (n *MongoNode) Version() string { return n.spec.Programs.Version.Text }

// Release is the version in numbers.
func (n *MongoNode) Release() MongoVersion { return n.spec.Programs.Version }

func (n *MongoNode) Start(ctx context.Context) error {
	n.starting.Lock()
	defer n.starting.Unlock()
	path := n.spec.Programs.Mongod
	switch {
	case n.Status().Running:
		return fmt.Errorf("%s already runs", n.name)
	case n.spec.Role == MongoRouter:
		path = n.spec.Programs.Mongos
	case n.DataDir() == "":
		return fmt.Errorf("%s has no data directory", n.name)
	}
	if err := n.directories(); err != nil {
		return err
	}
	if n.socket != "" { // a killed server leaves its socket, on which the next one could not listen
		if err := os.Remove(n.socket); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("cannot remove the old socket of %s: %w", n.name, err)
		}
	}
	return n.launch(ctx, process.Spec{Role: n.name, Path: path, Args: n.arguments(), OpenFiles: MongoOpenFiles,
		Also: mongoEnvironment(n.Release())})
}

// directories makes the directories of logs and data for the owner only.
func (n *MongoNode) directories() error {
	if err := os.MkdirAll(n.spec.LogDir, 0o700); err != nil {
		return fmt.Errorf("cannot make the log directory of %s: %w", n.name, err)
	}
	if n.spec.DataDir == "" {
		return nil
	}
	if err := errors.Join(os.MkdirAll(n.spec.DataDir, 0o700), os.Chmod(n.spec.DataDir, 0o700)); err != nil {
		return fmt.Errorf("cannot make the data directory of %s: %w", n.name, err)
	}
	return nil
}

// DeleteData deletes all data of a member that does not run. At its next start, it copies those of another member.
func (n *MongoNode) DeleteData() error {
	dir := n.DataDir()
	list, err := os.ReadDir(dir)
	for _, e := range list {
		if e.Name() != "lost+found" { // the filesystem's own, where the directory is its root
			err = errors.Join(err, os.RemoveAll(filepath.Join(dir, e.Name())))
		}
	}
	return err
}

// Restored makes a server of its own for a copy of the node's data, as after the restore of a backup: outside of the
// set, with the writes that the copy has in its oplog, and read-only (manual: "recoverFromOplogAsStandalone").
func (n *MongoNode) Restored(dir string) (*MongoNode, error) {
	s := n.spec
	s.Name, s.Role, s.Set, s.DataDir, s.Host = s.Name+"-restored", MongoStandalone, "", dir, n.Host()
	s.Port = 0
	s.LogDir = filepath.Join(s.LogDir, "restored")
	if n.Role() != MongoStandalone {
		s.Parameters = maps.Clone(s.Parameters)
		if s.Parameters == nil {
			s.Parameters = map[string]string{}
		}
		s.Parameters["recoverFromOplogAsStandalone"] = "true"
	}
	return NewMongoNode(s)
}

// Stop ends the process with SIGTERM. A mongod then steps down, writes a checkpoint and ends.
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

func (n *MongoNode) Kill() error {
	n.clients.close()
	return n.placed.Kill()
}

// Move sets the host of the next Start. If the address changes, the replica set must be reconfigured.
func (n *MongoNode) Move(to host.Host) error {
	n.starting.Lock()
	defer n.starting.Unlock()
	if n.Status().Running {
		return fmt.Errorf("%s runs on %s: stop it before it moves to %s", n.name, n.Host().Name(), to.Name())
	}
	n.clients.close()
	return n.assignHost(to)
}
