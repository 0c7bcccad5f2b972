package arrival

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// pair is a wrapped TCP connection over loopback, and its other end.
func pair(t *testing.T) (ours *Conn, theirs net.Conn) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	nc, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	if theirs, err = ln.Accept(); err != nil {
		t.Fatal(err)
	}
	ours, ok := Wrap(nc).(*Conn)
	if !ok {
		t.Fatal("the arrival is unknown here")
	}
	t.Cleanup(func() { _, _ = ours.Close(), theirs.Close() })
	// The kernel begins to stamp soon after the first socket wants it.
	for tries := 0; ours.Arrived().IsZero(); tries++ {
		if tries == 1000 {
			t.Fatal("the kernel does not stamp packets")
		}
		time.Sleep(time.Millisecond)
		_, _ = theirs.Write([]byte("x"))
		if _, err := ours.Read(make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
	}
	return ours, theirs
}

// untilReadable waits until data are in the socket.
func untilReadable(t *testing.T, c *Conn) {
	t.Helper()
	err := c.raw.Control(func(fd uintptr) {
		for {
			p := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
			if n, err := unix.Poll(p, 10_000); err != unix.EINTR {
				if n != 1 {
					t.Errorf("no data arrived: %v", err)
				}
				return
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
}

// slack is the most by which the wall clock and the monotonic clock may drift apart within a test.
const slack = time.Millisecond

// TestArrivalIsThatOfTheKernel: data that wait for a reader arrived before it came.
func TestArrivalIsThatOfTheKernel(t *testing.T) {
	ours, theirs := pair(t)
	for range 3 {
		before := time.Now()
		if _, err := theirs.Write([]byte("ping")); err != nil {
			t.Fatal(err)
		}
		untilReadable(t, ours)
		after := time.Now()
		time.Sleep(20 * time.Millisecond) // the reader has no time
		n, err := ours.Read(make([]byte, 64))
		if n != 4 || err != nil {
			t.Fatalf("read %d bytes, %v", n, err)
		}
		if at := ours.Arrived(); at.Before(before.Add(-slack)) || at.After(after.Add(slack)) {
			t.Errorf("arrived %v after the write began; it was there after %v", at.Sub(before), after.Sub(before))
		}
	}
}

// TestDelayOfARequest: the delay of a reply is known by the number of its request, and no other.
func TestDelayOfARequest(t *testing.T) {
	ours, theirs := pair(t)
	message := make([]byte, headerLen)
	binary.LittleEndian.PutUint32(message[4:], 4711)
	if _, err := ours.Write(message); err != nil {
		t.Fatal(err)
	}
	if _, ok := Delay(4711); ok {
		t.Error("a request without a reply has a delay")
	}
	if _, err := theirs.Write(message); err != nil {
		t.Fatal(err)
	}
	untilReadable(t, ours)
	time.Sleep(20 * time.Millisecond)
	if _, err := ours.Read(make([]byte, 64)); err != nil {
		t.Fatal(err)
	}
	if d, ok := Delay(4711); !ok || d < 20*time.Millisecond-slack {
		t.Errorf("delay %v, %v", d, ok)
	}
	for _, other := range []int64{0, 4711 + int64(len(recent)), 4712} {
		if _, ok := Delay(other); ok {
			t.Errorf("request %d has a delay", other)
		}
	}
}

func TestReadsFailLikeThoseOfPackageNet(t *testing.T) {
	ours, theirs := pair(t)
	_ = ours.SetReadDeadline(time.Unix(1, 0))
	var timeout net.Error
	if _, err := ours.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) ||
		!errors.As(err, &timeout) || !timeout.Timeout() {
		t.Errorf("after the deadline: %v", err)
	}
	_ = ours.SetReadDeadline(time.Time{})
	_ = theirs.Close()
	if _, err := ours.Read(make([]byte, 1)); err != io.EOF {
		t.Errorf("after the end: %v", err)
	}
	if !ours.Arrived().IsZero() {
		t.Error("an end has an arrival")
	}
	_ = ours.Close()
	if _, err := ours.Read(make([]byte, 1)); !errors.Is(err, net.ErrClosed) {
		t.Errorf("after closing: %v", err)
	}
}

func TestReadsAllocateNothing(t *testing.T) {
	ours, theirs := pair(t)
	b := make([]byte, 64)
	if n := testing.AllocsPerRun(100, func() {
		_, _ = theirs.Write(b[:8])
		_, _ = ours.Read(b)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
