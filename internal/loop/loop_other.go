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

// There are no loops, tasks and connections on this system, so nothing calls their methods.
type (
	Loop struct{}
	Task struct{ timer }
	Conn struct{ net.Conn }
)

// New fails.
func New(time.Time) (*Loop, error) { return nil, errUnsupported }

func (*Loop) Go(func(*Task)) *Task          { return nil }
func (*Loop) Run()                          {}
func (*Loop) Use() Use                      { return Use{} }
func (*Loop) Invite(*Task) bool             { return false }
func (*Task) Invited() bool                 { return false }
func (*Task) Move() bool                    { return false }
func (*Task) Park(int64) bool               { return false }
func (*Task) Wake()                         {}
func (*Task) Waited() bool                  { return true }
func (*Task) Yield()                        {}
func (*Task) Offload(f func())              { f() }
func (*Task) Adopt(net.Conn) (*Conn, error) { return nil, errUnsupported }
func (*Conn) TryRead([]byte) (int, error)   { return 0, errUnsupported }
func (*Conn) Arrived() time.Time            { return time.Time{} }
