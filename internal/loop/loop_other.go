//go:build !linux

package loop

import (
	"errors"
	"net"
	"time"
)

// Supported reports whether there are loops on this system.
const Supported = false

var errUnsupported = errors.New("there are no event loops on this system")

// Loop does not exist here.
type Loop struct{}

// Task does not exist here.
type Task struct{ timer }

// Conn does not exist here.
type Conn struct{ net.Conn }

// New fails.
func New(time.Time) (*Loop, error) { return nil, errUnsupported }

// Go, Run and the methods of tasks are never called, because there is no loop.
func (*Loop) Go(func(*Task)) *Task { return nil }

// Run does nothing.
func (*Loop) Run() {}

// Park does nothing.
func (*Task) Park(int64) bool { return false }

// Wake does nothing.
func (*Task) Wake() {}

// Waited is true.
func (*Task) Waited() bool { return true }

// Yield does nothing.
func (*Task) Yield() {}

// Offload runs f.
func (*Task) Offload(f func()) { f() }

// Adopt fails.
func (*Task) Adopt(net.Conn) (*Conn, error) { return nil, errUnsupported }

// TryRead reads nothing.
func (*Conn) TryRead([]byte) (int, error) { return 0, errUnsupported }
