// Package engine finds, installs, starts and stops one server of an engine: mongod, or documentdb
// (PostgreSQL with the DocumentDB extension behind the FerretDB gateway).
//
// A server is the processes that together answer at one MongoDB address, their data directory and
// their logs. Everything a server uses is written down in a journal before it is made, so that
// [Cleanup] can remove what a killed Plimsoll left behind. Replica sets, hosts and volumes are built
// out of servers by other rooms of the lab; no load is generated here and nothing is printed.
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
	// None is no server at all: a lab of hosts and volumes. It cannot be installed or started.
	None = "none"
)

// Engine is one kind of server software.
type Engine interface {
	// Name is the name that users write.
	Name() string
	// Installed finds the newest installation. The error wraps [ErrNotInstalled] if there is none
	// and says how to get one.
	Installed(ctx context.Context) (Installation, error)
	// Install puts the engine into the home directory. What is installed already is left alone. It
	// tells progress, in lines without a line feed, what it does; progress may be nil.
	Install(ctx context.Context, opts InstallOptions, progress func(string)) error
	// Start starts one server and returns when its processes run; [Server.Wait] waits until it is
	// usable. A start that fails leaves no process behind, and its error ends with the last lines of the log.
	Start(ctx context.Context, opts StartOptions) (Server, error)
}

// Server is one running server. Its methods may be called from several goroutines.
type Server interface {
	// ID names the server in the journal; it is unique in a home directory.
	ID() string
	// Engine is the engine's name.
	Engine() string
	// URI is where clients connect. It holds the password if the server was started with a user, so it
	// belongs neither in logs nor in error messages.
	URI() string
	// DataDir is the directory with the server's data.
	DataDir() string
	// Logs are the log files, the most telling one first.
	Logs() []string
	// Wait returns when a write and a read have succeeded, or with an error if a process of the
	// server has ended or ctx is done.
	Wait(ctx context.Context) error
	// Status says which processes there are and whether they run.
	Status() Status
	// Pids are the ids of all processes of the server that are alive, children included.
	Pids() []int
	// Ended is closed when the first process of the server has ended, for whatever reason.
	Ended() <-chan struct{}
	// Version is the server software as it was started: "8.0.12", or "PostgreSQL 18.6 …".
	Version() string
	// Settings reads the settings that decide about durability and speed from the running server.
	Settings(ctx context.Context) (map[string]string, error)
	// Kill ends all processes at once with SIGKILL, as a power failure would, and waits until they
	// are gone. Data, logs and journal stay.
	Kill() error
	// Stop ends the server cleanly and removes its journal, and its data if they were temporary. If
	// ctx ends first, what still runs is killed and the error says so. Stop after [Server.Kill] only removes.
	Stop(ctx context.Context) error
}

// Installation is an engine as it is on this machine.
type Installation struct {
	Engine    string            `json:"engine"`
	Version   string            `json:"version"`            // one line for people
	Versions  map[string]string `json:"versions,omitempty"` // of its parts, by name
	Path      string            `json:"path"`               // the installation's directory, or the executable
	Source    string            `json:"source"`             // where it came from
	Installed time.Time         `json:"installed,omitzero"` // zero if Plimsoll did not install it
}

// InstallOptions are the choices of an installation. The zero value suits most machines.
type InstallOptions struct {
	// Mirror is where packages or archives are taken from. documentdb: the URL of a Debian mirror;
	// default: the one that this machine's apt uses, or debootstrap's own. mongod: a local directory
	// or the URL of one with the archives of the engine; default: MongoDB's download site.
	Mirror string
	// Suite is the Debian suite of the root that documentdb lives in; default: sid, and testing
	// where sid's packages cannot be installed.
	Suite string
	// Gateway is a ready FerretDB executable, instead of building one with the Go tool.
	Gateway string
	// Version is the mongod release, such as 8.0.21, or a series, such as 8.0, for its newest patch; default: 8.0.
	Version string
	// Feed is the list of mongod's releases, a URL or file; default: MongoDB's own.
	Feed string
	// Archive is a mongod archive (.tgz), as a file or URL, instead of one named by Version.
	Archive string
	// SHA256 is the mongod archive's checksum in hexadecimal. It takes the place of the archive's signature.
	SHA256 string
	// Key is the file with the OpenPGP key that signed the mongod archive; default: MongoDB's key for the release.
	Key string
	// Platform is the platform part of the mongod archive's name, such as debian12; default: this machine's.
	Platform string
}

// StartOptions are the choices for one server. The zero value starts a throw-away server on a free port.
type StartOptions struct {
	// DataDir is where the data live, made if it does not exist; default: a temporary directory that
	// Stop removes. A directory that holds anything else than this engine's data is refused.
	DataDir string
	// Port is the port clients connect to on 127.0.0.1; default: a free one.
	Port int
	// SynchronousCommit is documentdb's durability level: on, off, local, remote_write or
	// remote_apply; default: on. See PostgreSQL's setting of that name.
	SynchronousCommit string
	// Connections is how many PostgreSQL sessions documentdb's gateway may open; default: 64.
	Connections int
	// Standalone makes mongod a bare server: no majority, transactions, change streams or oplog. Default: a replica set
	// of one member.
	Standalone bool
	// User switches access control on: clients have to be this user, by SCRAM-SHA-256.
	// Default: everybody on this machine may connect.
	User string
	// Password is User's; default: a new one for every start. [Server.URI] holds it.
	Password string
	// TLS makes the server accept connections with TLS only. Its certificate is for loopback and thrown
	// away with the server; [Server.URI] names the file with the authority.
	TLS bool
	// CacheGB is mongod's WiredTiger cache in GiB; default: mongod's own choice.
	CacheGB float64
	// Parameters are settings of the server by name: PostgreSQL's for documentdb, setParameter's for mongod.
	Parameters map[string]string
	// Binary is the mongod to start; default: the newest installed one, then the one on PATH.
	Binary string
	// Args are further arguments for mongod, after all others.
	Args []string
}

// Status is the state of a server's processes at one moment.
type Status struct {
	Running   bool // all processes run
	Processes []ProcessStatus
}

// ProcessStatus is the state of one process that was started for a server.
type ProcessStatus = process.Status

// ErrNotInstalled says that an engine is not on this machine.
var ErrNotInstalled = errors.New("not installed")

// ErrNeedsRoot says that something can only be done as root.
var ErrNeedsRoot = errors.New("needs root")

// All returns every engine there is, with home as the directory they are installed and run in.
func All(home string) []Engine {
	return []Engine{&documentDB{home: layout{home}}, &mongod{home: layout{home}}}
}

// ByName finds an engine by its name.
func ByName(home, name string) (Engine, error) {
	var known []string
	for _, e := range All(home) {
		if e.Name() == name {
			return e, nil
		}
		known = append(known, e.Name())
	}
	return nil, fmt.Errorf("unknown engine %q%s (known: %s)", name, nearest.DidYouMean(name, known), strings.Join(known, ", "))
}

// tell calls progress if there is one.
func tell(progress func(string), format string, a ...any) {
	if progress != nil {
		progress(fmt.Sprintf(format, a...))
	}
}
