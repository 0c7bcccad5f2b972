// Package engine finds, installs, starts and stops the servers of an engine: mongod, or documentdb
// (PostgreSQL with the DocumentDB extension behind the FerretDB gateway).
//
// A [Node] is one process with its data directory and its logs, on a host of a lab. Other packages of the lab build
// replica sets, hosts and volumes. This package generates no load and prints nothing.
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
