// Package fleettest is the conformance suite of links: what package fleet relies on, whatever carries the frames.
package fleettest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/plimsoll-bench/plimsoll/fleet"
)

// Pair is a link and the wire of its agent, in this process.
type Pair struct {
	Link  fleet.Link
	Agent fleet.Wire
}

const (
	// many is the number of frames of the longest exchange, many times what a link has in flight.
	many = 5_000
	// largest is the size of the largest frame. A NATS server takes messages of 1 MiB.
	largest = 4 << 20
)

// Run tests pairs that connect makes. A pair ends with its test.
func Run(t *testing.T, connect func(t *testing.T) Pair) {
	for name, test := range map[string]func(*testing.T, Pair){
		"order": testOrder, "many": testMany, "large": testLarge, "closed by the coordinator": testCoordinatorCloses,
		"closed by the agent": testAgentCloses, "closed twice": testClosedTwice, "broken": testBroken,
	} {
		t.Run(name, func(t *testing.T) { test(t, connect(t)) })
	}
}

// frame is a frame with a number.
func frame(n int) []byte { return []byte(fmt.Sprintf(`{"n":%d}`, n)) }

// send sends n frames and closes the wire.
func send(w fleet.Wire, n int) {
	for i := range n {
		w.Send(frame(i))
	}
	w.Close()
}

// expect receives n frames with the numbers from 0, and then the end.
func expect(w fleet.Wire, n int) error {
	for i := range n {
		got, err := w.Receive()
		if err != nil {
			return fmt.Errorf("frame %d of %d: %w", i, n, err)
		}
		if want := frame(i); !bytes.Equal(got, want) {
			return fmt.Errorf("received %s, want %s", got, want)
		}
	}
	if got, err := w.Receive(); !errors.Is(err, io.EOF) {
		return fmt.Errorf("after the last of %d frames: %q, %w", n, got, err)
	}
	return nil
}

// exchange sends n frames in each direction at the same time. The agent ends the exchange, because a process that is an
// agent takes nothing after its own end.
func exchange(t *testing.T, p Pair, n int) {
	t.Helper()
	arrived := make(chan error)
	go func() {
		for i := range n {
			p.Agent.Send(frame(i))
		}
		arrived <- expect(p.Agent, n)
		p.Agent.Close()
	}()
	go send(p.Link, n)
	if err := <-arrived; err != nil {
		t.Error(err)
	}
	if err := expect(p.Link, n); err != nil {
		t.Error(err)
	}
	<-p.Link.Closed()
	<-p.Agent.Closed()
}

func testOrder(t *testing.T, p Pair) { exchange(t, p, 1000) }

func testMany(t *testing.T, p Pair) { exchange(t, p, many) }

// Frames may be large: an order has the workload file of its run.
func testLarge(t *testing.T, p Pair) {
	var sent [][]byte
	for size := 1 << 10; size <= largest; size *= 2 {
		b, err := json.Marshal(strings.Repeat("plimsoll", size/8)[2:])
		if err != nil {
			t.Fatal(err)
		}
		sent = append(sent, b)
	}
	for name, way := range map[string]struct{ from, to fleet.Wire }{"down": {p.Link, p.Agent}, "up": {p.Agent, p.Link}} {
		for _, b := range sent {
			way.from.Send(b)
		}
		for _, want := range sent {
			got, err := way.to.Receive()
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if !bytes.Equal(got, want) {
				t.Errorf("%s: received %d other bytes, want %d", name, len(got), len(want))
			}
		}
	}
	p.Link.Close()
	p.Agent.Close()
}

// The agent receives everything that was sent before the coordinator closed the link, and can respond afterwards.
func testCoordinatorCloses(t *testing.T, p Pair) {
	send(p.Link, 10)
	if err := expect(p.Agent, 10); err != nil {
		t.Error(err)
	}
	send(p.Agent, 10)
	if err := expect(p.Link, 10); err != nil {
		t.Error(err)
	}
	<-p.Link.Closed()
	<-p.Agent.Closed()
}

func testAgentCloses(t *testing.T, p Pair) {
	send(p.Agent, 10)
	if err := expect(p.Link, 10); err != nil {
		t.Error(err)
	}
	p.Link.Close()
	<-p.Agent.Closed()
	<-p.Link.Closed()
}

// Closing again changes nothing, and frames that are sent later are dropped.
func testClosedTwice(t *testing.T, p Pair) {
	for _, way := range []struct{ from, to fleet.Wire }{{p.Link, p.Agent}, {p.Agent, p.Link}} {
		send(way.from, 3)
		way.from.Close()
		way.from.Send(frame(99))
		if err := expect(way.to, 3); err != nil {
			t.Error(err)
		}
	}
}

// A broken link ends the receiving on both sides.
func testBroken(t *testing.T, p Pair) {
	p.Link.Send(frame(0))
	if _, err := p.Agent.Receive(); err != nil {
		t.Fatal(err)
	}
	p.Link.Break()
	if got, err := p.Link.Receive(); err == nil || errors.Is(err, io.EOF) {
		t.Errorf("received %s, %v from a broken link", got, err)
	}
	if got, err := p.Agent.Receive(); err == nil {
		t.Errorf("the agent received %s after its link was broken", got)
	}
}
