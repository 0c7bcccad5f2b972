package fleet_test

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"testing"

	"github.com/plimsoll-bench/plimsoll/fleet"
	"github.com/plimsoll-bench/plimsoll/fleet/fleettest"
)

// memoryLink is the link of two pipes in this process.
type memoryLink struct {
	fleet.Wire
	end func()
}

func (l *memoryLink) Facts() fleet.Facts { return fleet.Facts{Protocol: fleet.Protocol} }
func (l *memoryLink) Break()             { l.end() }

func TestMemoryLink(t *testing.T) {
	t.Parallel()
	fleettest.Run(t, func(*testing.T) fleettest.Pair {
		toAgent, fromCoordinator := io.Pipe()
		toCoordinator, fromAgent := io.Pipe()
		broken := errors.New("broken")
		return fleettest.Pair{Agent: fleet.Pipe(toAgent, fromAgent),
			Link: &memoryLink{fleet.Pipe(toCoordinator, fromCoordinator),
				func() { toAgent.CloseWithError(broken); toCoordinator.CloseWithError(broken) }}}
	})
}

// The process passes on what it reads and writes, so that its side of the link is in this process.
func TestProcessLink(t *testing.T) {
	t.Parallel()
	fleettest.Run(t, func(t *testing.T) fleettest.Pair {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		place, err := fleet.Processes(func(context.Context) *exec.Cmd {
			cmd := exec.Command(os.Args[0], l.Addr().String())
			cmd.Env = append(os.Environ(), fleet.RoleVariable+"=relay")
			return cmd
		})("")
		if err != nil {
			t.Fatal(err)
		}
		links, err := place.Place(t.Context(), 1, nil)
		if err != nil {
			t.Fatal(err)
		}
		conn, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		return fleettest.Pair{Link: links[0], Agent: fleet.Pipe(conn, writer{conn.(*net.TCPConn)})}
	})
}

// writer closes one direction of a connection.
type writer struct{ *net.TCPConn }

func (w writer) Close() error { return w.CloseWrite() }
