// Package host makes the failure domains of a lab: hosts with an address, limits and processes, which can lose power,
// be cut off and be paused.
//
// A plain host is a set of processes of this user on loopback. It has no limits and no link of its own. A power failure
// is SIGKILL, and a pause is SIGSTOP, to all processes that were started on the host, their descendants and process
// groups. Ports are reserved by locked files below Home, so that labs that start at the same time never use the same
// port. The kernel unlocks the files if a lab is killed.
//
// An isolated host is a network namespace with an address from the benchmarking range 198.18.0.0/15 (RFC 2544), and a
// control group that limits cores, memory (with page cache, without swap) and I/O. A bridge in a namespace of its own
// connects the hosts of a lab. The machine has the first address of the lab's network. Its interface has the network in
// its name (plm18-5 is 198.18.5.0/24), so that two labs cannot use the same network. Networks that overlap addresses or
// routes of the machine are not used. A host cannot reach any other network. The namespaces have names in
// /run/plimsoll/netns: use nsenter --net=/run/plimsoll/netns/NAME.
//
// A power failure first takes the link down and then kills the group, so connections hang instead of being reset. Cuts
// are rules of nftables in the host's namespace, which TCP sees as packet loss. A slow link is a token bucket at both
// ends of the cable. Control groups of version 1, of version 2, and of both side by side are supported. The controllers
// of version 2 are enabled for groups below the root, and stay enabled. Groups of version 1 do not limit buffered
// writes that the kernel writes back later. A killed group is replaced by a new one, because the kernel kills every
// process that enters it.
//
// Other packages decide which servers run on a host and what happens to their data. Resources are in the lab's journal
// before they are made, with a random part in their names. A control group, namespace or interface is removed only if
// it is the one in the journal. Firewall rules and cables of hosts end with their namespaces and are not in the
// journal.
package host

import (
	"context"
	"errors"
	"math"
	"runtime"
	"strconv"

	"github.com/plimsoll-bench/plimsoll/lab/process"
	"github.com/plimsoll-bench/plimsoll/record"
)

// The modes of hosts.
const (
	Plain    = "plain"
	Isolated = "isolated"
)

// The states of a host.
const (
	On     = "on"
	Off    = "off"
	Paused = "paused"
)

// ErrUnsupported says that this kind of host does not support a request. The error that wraps it says which kind does.
var ErrUnsupported = errors.New("not possible on this kind of host")

var ErrOff = errors.New("the host is powered off")

// Limits of a host; zero is no limit.
type Limits struct {
	Cores   float64 // of processor time per second
	Memory  int64   // bytes, with page cache
	Network int64   // bytes per second, in each direction
}

// goShare is the share of a host's memory that its Go programs use together before they collect garbage more often.
const goShare = 0.8

// ForGo returns environment variables that apply the limits to a Go program, such as a gateway, which otherwise uses
// the processors and the memory of the machine. programs is how many Go programs share the host: each may use all
// cores, and an equal part of 80 % of the memory.
func (l Limits) ForGo(programs int) []string {
	var env []string
	if l.Cores > 0 {
		env = append(env, "GOMAXPROCS="+strconv.Itoa(int(math.Ceil(min(l.Cores, float64(runtime.NumCPU()))))))
	}
	if l.Memory > 0 {
		env = append(env, "GOMEMLIMIT="+strconv.FormatInt(int64(goShare*float64(l.Memory))/int64(max(programs, 1)), 10))
	}
	return env
}

// IOLimit limits the I/O of a host to one block device; zero is unlimited.
type IOLimit struct {
	Device                string // such as /dev/loop3
	ReadBytes, WriteBytes int64  // per second
	Reads, Writes         int64  // operations per second
}

// Direction is the direction of the packets that a cut drops, seen from the host.
type Direction string

// The directions.
const (
	Both Direction = "both"
	In   Direction = "in"  // packets to the host
	Out  Direction = "out" // packets from the host
)

// Host is one failure domain. Its methods may be called from several goroutines.
type Host interface {
	Name() string
	Role() string
	Mode() string
	// Address is the IP address on which its servers listen: 127.0.0.1 for a plain host.
	Address() string
	// Dir is a directory for sockets, logs and temporary files, which survives a power failure.
	Dir() string
	Limits() Limits

	// Start starts a process on the host, in its namespace and groups. The process ends with the lab's supervisor at the
	// latest. The error wraps [ErrOff] or [ErrPaused] in these states.
	Start(ctx context.Context, s process.Spec) (*process.Process, error)
	// Run runs a program on the host to its end, or until ctx ends.
	Run(ctx context.Context, s process.Spec) (output []byte, err error)
	// Port reserves a port on Address that is free and that no other lab has reserved.
	Port() (int, error)

	State() string
	// Cuts are the hosts from which it is cut off, "*" for all.
	Cuts() []string
	// PowerOff kills all processes at once and takes the link down. PowerOn brings the link back and starts no process.
	PowerOff(ctx context.Context) error
	PowerOn(ctx context.Context) error
	// Pause suspends all processes of the host; Resume continues them.
	Pause(ctx context.Context) error
	Resume(ctx context.Context) error
	// Cut drops all packets between the host and another one, or all others and this machine if other is nil. Connections
	// hang, as after pulling a cable. Mend reverts the cut of the pair, or the one from all others; both may exist at the
	// same time. Plain hosts return [ErrUnsupported].
	Cut(ctx context.Context, other Host, d Direction) error
	Mend(ctx context.Context, other Host) error
	// Slow limits the link to rate bytes per second; 0 restores the limit of the specification.
	Slow(ctx context.Context, rate int64) error
	// Throttle limits its processes to so many cores together; 0 restores the limit of the specification. Plain hosts
	// return [ErrUnsupported].
	Throttle(ctx context.Context, cores float64) error
	// Limit limits I/O to block devices. Plain hosts return [ErrUnsupported].
	Limit(ctx context.Context, limits []IOLimit) error

	// Usage is what the host has used since it was powered on.
	Usage() (record.LabUsage, error)
	// Close kills the processes of the host and removes its resources.
	Close(ctx context.Context) error
}
