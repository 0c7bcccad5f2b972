// Package engine finds, installs, starts and stops one server of an engine: mongod, or documentdb
// (PostgreSQL with the DocumentDB extension behind the FerretDB gateway).
//
// A server is the processes behind one MongoDB address, their data directory and their logs. A journal names
// everything that a server uses before it is made, so that [Cleanup] can remove what a killed Plimsoll left. Other
// packages of the lab build replica sets, hosts and volumes. This package generates no load and prints nothing.
package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/nearest"
	"github.com/plimsoll-bench/plimsoll/lab/process"
)

// The names of the engines.
const (
	DocumentDB = "documentdb"
	Mongod     = "mongod"
	// None means a lab of hosts and volumes without servers. It cannot be installed or started.
	None = "none"
)

// Engine is one kind of server software.
type Engine interface {
	// Name returns the name that users write.
	Name() string
	// Installed returns the newest installation. If there is none, the error wraps [ErrNotInstalled] and says how to
	// install the engine.
	Installed(ctx context.Context) (Installation, error)
	// Install installs the engine in the home directory, if it is not installed yet. It reports each step to progress,
	// which may be nil, as a line without a line feed.
	Install(ctx context.Context, opts InstallOptions, progress func(string)) error
	// Start starts one server and returns when its processes run; [Server.Wait] waits until it is usable. If the start
	// fails, no process is left, and the error ends with the last lines of the log.
	Start(ctx context.Context, opts StartOptions) (Server, error)
}

// Server is one running server. Its methods may be called from several goroutines.
type Server interface {
	// ID is unique in a home directory.
	ID() string
	Engine() string
	// URI is the address for clients. It includes the password if the server was started with a user, so it must not
	// appear in logs or error messages.
	URI() string
	DataDir() string
	// Logs returns the log files, the most important one first.
	Logs() []string
	// Wait returns when a write and a read have succeeded, or with an error if a process of the server has ended or
	// ctx ends.
	Wait(ctx context.Context) error
	Status() Status
	// Pids returns the ids of all running processes of the server and their children.
	Pids() []int
	// Ended is closed when the first process of the server has ended.
	Ended() <-chan struct{}
	// Version is the version of the software at its start: "8.0.12", or "PostgreSQL 18.6 …".
	Version() string
	// Settings reads the settings with an effect on durability and speed from the running server.
	Settings(ctx context.Context) (map[string]string, error)
	// Kill sends SIGKILL to all processes and waits for their end. Data, logs and journal stay.
	Kill() error
	// Stop ends the server cleanly, and removes its journal and temporary data. If ctx ends first, Stop kills the
	// processes that still run and returns an error. After [Server.Kill] it only removes files.
	Stop(ctx context.Context) error
}

// Installation describes an engine on this machine.
type Installation struct {
	Engine    string            `json:"engine"`
	Version   string            `json:"version"`            // one line for people
	Versions  map[string]string `json:"versions,omitempty"` // of its parts, by name
	Path      string            `json:"path"`               // the installation's directory, or the executable
	Source    string            `json:"source"`             // URL, file, or "PATH"
	Installed time.Time         `json:"installed,omitzero"` // zero if Plimsoll did not install it
}

// InstallOptions are the options of an installation. The zero value is right for most machines.
type InstallOptions struct {
	// Mirror is the source of packages or archives. documentdb: the URL of a Debian mirror; default: the mirror of this
	// machine's apt, or debootstrap's default. mongod: a directory, or its URL, with archives; default: MongoDB's
	// download site.
	Mirror string
	// Suite is the Debian suite of documentdb's root directory; default: testing, and sid if testing's packages cannot be
	// installed.
	Suite string
	// Gateway is a FerretDB executable; default: build one with the Go tool.
	Gateway string
	// Version is the mongod release, such as 8.0.21, or a series, such as 8.0, for its newest patch; default: 8.0.
	Version string
	// Feed is a URL or file with the list of mongod's releases; default: MongoDB's list.
	Feed string
	// Archive is a file or URL of a mongod archive (.tgz); default: the archive of Version.
	Archive string
	// SHA256 is the checksum of the mongod archive in hexadecimal. With it no signature is needed.
	SHA256 string
	// Key is a file with the OpenPGP key that signed the mongod archive; default: MongoDB's key for the release.
	Key string
	// Platform is the platform part of the mongod archive's name, such as debian12; default: this machine's.
	Platform string
}

// StartOptions are the options of one server. The zero value starts a temporary server on a free port.
type StartOptions struct {
	// DataDir is made if it does not exist; default: a temporary directory that Stop removes. A directory with other
	// files than this engine's data is refused.
	DataDir string
	// Port is the port on 127.0.0.1; default: a free one.
	Port int
	// SynchronousCommit is documentdb's durability level, PostgreSQL's synchronous_commit: on, off, local, remote_write
	// or remote_apply; default: on.
	SynchronousCommit string
	// Connections limits the PostgreSQL sessions of documentdb's gateway; default: 64.
	Connections int
	// Standalone starts mongod without a replica set: without majority, transactions, change streams and oplog.
	// Default: a replica set of one member.
	Standalone bool
	// User enables access control: clients must authenticate as this user with SCRAM-SHA-256. Default: every user of
	// this machine may connect.
	User string
	// Password is User's; default: a new one for every start. [Server.URI] includes it.
	Password string
	// TLS makes the server accept only connections with TLS. Its certificate is for loopback and temporary;
	// [Server.URI] names the file with the CA.
	TLS bool
	// CacheGB is mongod's WiredTiger cache in GiB; default: mongod's default.
	CacheGB float64
	// Parameters are settings of the server by name: PostgreSQL's for documentdb, setParameter's for mongod.
	Parameters map[string]string
	// Binary is the mongod to start; default: the newest installed one, then the one on PATH.
	Binary string
	// Args are further arguments for mongod, after all others.
	Args []string
}

// Status is the state of a server's processes.
type Status struct {
	Running   bool // all processes run
	Processes []ProcessStatus
}

// ProcessStatus is the state of one process of a server.
type ProcessStatus = process.Status

// ErrNotInstalled is returned if an engine is not on this machine.
var ErrNotInstalled = errors.New("not installed")

// ErrNeedsRoot is returned if an operation needs root.
var ErrNeedsRoot = errors.New("needs root")

// All returns all engines. home is the directory of installations and servers.
func All(home string) []Engine {
	return []Engine{&documentDB{home: layout{home}}, &mongod{home: layout{home}}}
}

// ByName returns an engine of [All] by its name.
func ByName(home, name string) (Engine, error) {
	var known []string
	for _, e := range All(home) {
		if e.Name() == name {
			return e, nil
		}
		known = append(known, e.Name())
	}
	return nil, fmt.Errorf("unknown engine %q%s (known: %s)", name, nearest.DidYouMean(name, known),
		strings.Join(known, ", "))
}

// report calls progress if it is not nil.
func report(progress func(string), format string, a ...any) {
	if progress != nil {
		progress(fmt.Sprintf(format, a...))
	}
}
