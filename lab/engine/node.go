package engine

import (
	"context"

	"github.com/plimsoll-bench/plimsoll/lab/host"
)

// Node is one server of a cluster on a host of a lab: a PostgreSQL, an etcd, a gateway, a mongod or a mongos. It can
// be started again, also on another host. Its methods may be called from several goroutines.
type Node interface {
	// Name is unique in the lab. Kind is "postgres", "etcd", "gateway", "mongod" or "mongos".
	Name() string
	Kind() string
	Host() host.Host
	// Address is host:port.
	Address() string
	// DataDir is empty for a node without data.
	DataDir() string
	// Logs returns the log files, the most important one first.
	Logs() []string
	// Version is the version of the server software.
	Version() string

	// Start starts the process and returns when it runs. Wait returns when it answers. If the process has ended or ctx
	// ends, the error of Wait ends with the last lines of its log.
	Start(ctx context.Context) error
	Wait(ctx context.Context) error
	// Stop ends the process cleanly, and kills it if ctx ends first. Kill kills it and its children. Both keep data and
	// logs, and do nothing if the process does not run.
	Stop(ctx context.Context) error
	Kill() error
	// Pause sends SIGSTOP to the process and its children, Resume sends SIGCONT.
	Pause() error
	Resume() error
	// Pids returns the ids of the process and its children. Ended is closed when the last started process has ended; it
	// is nil before the first start.
	Status() Status
	Pids() []int
	Ended() <-chan struct{}
	// Settings reads the settings with an effect on durability and speed from the running server.
	Settings(ctx context.Context) (map[string]string, error)
	// Move sets the host of the next Start, with the same data. The node must not run.
	Move(to host.Host) error
}
