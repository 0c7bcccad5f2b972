package engine

import (
	"context"

	"github.com/plimsoll-bench/plimsoll/lab/host"
)

// Node is one server process of a cluster on a host of a lab: a PostgreSQL, a gateway, a mongod or a mongos. Unlike a
// [Server] it can be started again, also on another host. Its methods may be called from several goroutines.
type Node interface {
	// Name is unique in the lab. Kind is "postgres", "gateway", "mongod" or "mongos".
	Name() string
	Kind() string
	Host() host.Host
	// Address is host:port where it listens.
	Address() string
	// DataDir is the directory with its data; empty for those that keep none.
	DataDir() string
	// Logs are its log files, the most telling one first.
	Logs() []string
	// Version is the server software.
	Version() string

	// Start starts the process and returns when it runs; Wait returns when it answers, or with an error that ends with
	// the last lines of its log if it has ended or ctx is done.
	Start(ctx context.Context) error
	Wait(ctx context.Context) error
	// Stop ends it cleanly, and kills it if ctx ends first. Kill ends it at once with all its children. Both leave data
	// and logs, and do nothing if it does not run.
	Stop(ctx context.Context) error
	Kill() error
	// Pause stops the process and its children where they are (SIGSTOP), Resume lets them go on.
	Pause() error
	Resume() error
	// Status says whether it runs, Pids are the ids of it and its children, Ended is closed when the process that was
	// started last has ended; it is nil before the first start.
	Status() Status
	Pids() []int
	Ended() <-chan struct{}
	// Settings reads the settings that decide about durability and speed from the running server.
	Settings(ctx context.Context) (map[string]string, error)
	// Move makes the next Start happen on another host, with the same data. The node must not run.
	Move(to host.Host) error
}
