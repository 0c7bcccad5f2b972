// Package host makes the failure domains of a lab: places with an address, limits and processes, that can lose power,
// be cut off and be paused.
//
// A plain host is processes of this user on loopback. It has no limits and no link of its own. Losing power is SIGKILL
// and being paused is SIGSTOP to everything that was started on it, with descendants and process groups. Its ports are
// promised by locked files below Home, so that labs that start at once never get the same; the kernel gives the lock
// back if a lab is killed.
//
// An isolated host is a network namespace with an address from the benchmarking range 198.18.0.0/15 (RFC 2544), and a
// control group that limits cores, memory (page cache included, no swap) and I/O. The hosts of a lab are connected by
// a bridge, which stands in a namespace of its own; the machine has the first address of the lab's network, on an
// interface whose name has the network in it (plm18-5 is 198.18.5.0/24), so that two labs cannot take the same. What
// addresses and routes of the machine use is left out. There is no way from a host to any other network. The
// namespaces have names in /run/plimsoll/netns: nsenter --net=/run/plimsoll/netns/NAME looks into one.
//
// Losing power first takes the link away and then kills the group, so that nobody is told: connections hang. Cuts are
// rules of nftables in the namespace of the host; TCP takes them for loss. A slow link is a token bucket at both ends of
// the cable. Control groups of version 1, version 2 and both side by side are used as they are found; the controllers
// of version 2 are switched on for groups below the root if they are not, and stay on. Buffered writes that the kernel
// does later are not limited by groups of version 1. A group that was killed is replaced by a new one, because the
// kernel kills what enters it.
//
// Which servers stand on a host and what becomes of their data is decided elsewhere. Everything is written into the
// lab's journal before it is made, with names that have a random part; a control group, a namespace or an interface is
// only removed if it is the one that was written down. The firewall's rules and the cables of the hosts end with their
// namespaces and are not written down.
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

// ErrUnsupported says that this kind of host cannot do what was asked for; the error around it says which can.
var ErrUnsupported = errors.New("not possible on this kind of host")

// ErrOff says that a host has no power.
var ErrOff = errors.New("the host is powered off")

// Limits are what a host may use; zero is as much as the machine has.
type Limits struct {
	Cores   float64 // of processor time per second
	Memory  int64   // bytes, page cache included
	Network int64   // bytes per second, in each direction
}

// goShare is how much of a host's memory its programs of Go take together before they collect garbage more eagerly.
const goShare = 0.8

// ForGo tells programs written in Go, as gateways are, what they may use: they see the processors and the memory of the
// machine otherwise. It is the environment of one of so many programs that share the host: each may use all cores, and an
// equal part of 80 % of the memory.
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

// IOLimit bounds what a host does to one block device; zero is unlimited.
type IOLimit struct {
	Device                string // such as /dev/loop3
	ReadBytes, WriteBytes int64  // per second
	Reads, Writes         int64  // operations per second
}

// Direction is the way in which a link is cut or slowed, seen from the host itself.
type Direction string

// The directions.
const (
	Both Direction = "both"
	In   Direction = "in"  // nothing reaches the host
	Out  Direction = "out" // nothing leaves it
)

// Host is one failure domain. Its methods may be called from several goroutines.
type Host interface {
	Name() string
	Role() string
	Mode() string
	// Address is the IP address that its servers listen on: 127.0.0.1, or one of its own that stays with the host.
	Address() string
	// Dir is a directory of the host's own for sockets, logs and temporary files; it survives a power failure.
	Dir() string
	Limits() Limits

	// Start starts a process on the host, in its namespace and groups; it ends with the lab's supervisor at the
	// latest. It fails with [ErrOff] on a host without power.
	Start(ctx context.Context, s process.Spec) (*process.Process, error)
	// Run runs a program on the host to its end, for at most as long as ctx.
	Run(ctx context.Context, s process.Spec) (output []byte, err error)
	// Port finds a port on Address that nothing in any lab or on this host listens on or was promised.
	Port() (int, error)

	// State is "on", "off" or "paused", and Cuts are the hosts that it does not reach.
	State() string
	Cuts() []string
	// PowerOff ends everything on the host at once and takes its link away. PowerOn gives both back; nothing is
	// started again.
	PowerOff(ctx context.Context) error
	PowerOn(ctx context.Context) error
	// Pause stops all processes of the host where they are; Resume lets them go on.
	Pause(ctx context.Context) error
	Resume(ctx context.Context) error
	// Cut drops all packets between the host and another one, or all others including this machine if other is nil.
	// Connections are not reset: they hang, as with a cable that was pulled. Mend undoes the cuts of the pair, or
	// the one from all others; each can be there beside the others. Plain hosts return [ErrUnsupported].
	Cut(ctx context.Context, other Host, d Direction) error
	Mend(ctx context.Context, other Host) error
	// Slow limits the link to rate bytes per second; 0 gives back what the specification says.
	Slow(ctx context.Context, rate int64) error
	// Limit bounds I/O to block devices. Plain hosts return [ErrUnsupported].
	Limit(ctx context.Context, limits []IOLimit) error

	// Usage is what the host used since it was powered on.
	Usage() (record.LabUsage, error)
	// Close removes what the host made; its processes are ended.
	Close(ctx context.Context) error
}
