package faultfs

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"time"
)

// Client controls the disks of a running [Serve]. It may be used by several goroutines. Every method returns after
// the command took effect, or with an error.
type Client struct {
	socket string
}

// Dial checks that a faultfs answers at a socket.
func Dial(ctx context.Context, socket string) (*Client, error) {
	c := &Client{socket}
	r, err := c.ask(ctx, request{Do: "hello"})
	if err != nil {
		return nil, err
	}
	if r.Version != protocolVersion {
		return nil, fmt.Errorf("the faultfs at %s speaks version %d of the protocol, this plimsoll speaks %d: use the plimsoll that started it", socket, r.Version, protocolVersion)
	}
	return c, nil
}

// DialWait is Dial for a faultfs that was just started: it tries again until the context ends.
func DialWait(ctx context.Context, socket string) (*Client, error) {
	var last error // what was wrong, rather than that the time is over
	for {
		c, err := Dial(ctx, socket)
		if err == nil {
			return c, nil
		}
		if last == nil || ctx.Err() == nil {
			last = err
		}
		select {
		case <-ctx.Done():
			return nil, last
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// Create makes a disk of a size in bytes, a multiple of 512, which reads as zeros. It appears in the mount as a file of this name. A
// cache may be nil.
func (c *Client) Create(ctx context.Context, name string, size int64, d Device, cache *Cache) error {
	_, err := c.ask(ctx, request{Do: "create", Disk: name, Size: size, Device: &d, Cache: cache})
	return err
}

// Remove deletes a disk and its content. A disk that is still open, by a loop device for instance, is refused.
// Removing one that does not exist succeeds.
func (c *Client) Remove(ctx context.Context, name string) error {
	_, err := c.ask(ctx, request{Do: "remove", Disk: name})
	return err
}

// Set adds a fault to a disk. From its return on, requests that arrive feel it.
func (c *Client) Set(ctx context.Context, name string, f Fault) error {
	_, err := c.ask(ctx, request{Do: "set", Disk: name, Fault: &f})
	return err
}

// Clear takes away all faults of some kinds, or all faults where none is given; of all disks, where the name is "".
// Requests that hang go on. The counters of hits stay.
func (c *Client) Clear(ctx context.Context, name string, kinds ...string) error {
	_, err := c.ask(ctx, request{Do: "clear", Disk: name, Kinds: kinds})
	return err
}

// Cut takes the power from a disk, or from all at the same moment where the name is "": writes that were not flushed
// are undone, and the disk is dead until [Client.Restore].
func (c *Client) Cut(ctx context.Context, name string, p PowerCut) error {
	_, err := c.ask(ctx, request{Do: "cut", Disk: name, Cut: &p})
	return err
}

// Restore gives a disk its power back, or all disks where the name is "". What the kernel above had cached is older
// or newer than what is on the disk now: detach loop devices before.
func (c *Client) Restore(ctx context.Context, name string) error {
	_, err := c.ask(ctx, request{Do: "restore", Disk: name})
	return err
}

// Stats returns what a disk did since it was made or served again.
func (c *Client) Stats(ctx context.Context, name string) (Stats, error) {
	r, err := c.ask(ctx, request{Do: "stats", Disk: name})
	if err != nil {
		return Stats{}, err
	}
	if len(r.Stats) != 1 {
		return Stats{}, fmt.Errorf("the faultfs at %s answered with %d disks instead of one", c.socket, len(r.Stats))
	}
	return r.Stats[0], nil
}

// List returns all disks, in the order of their names.
func (c *Client) List(ctx context.Context) ([]Stats, error) {
	r, err := c.ask(ctx, request{Do: "list"})
	return r.Stats, err
}

// Close ends the use of the client. The disks stay.
func (c *Client) Close() error { return nil }

// ask sends one request over a connection of its own, so that a call that waits does not hold up others and one that
// is given up leaves nothing half read.
func (c *Client) ask(ctx context.Context, q request) (reply, error) {
	var r reply
	conn, err := (&net.Dialer{}).DialContext(ctx, "unix", c.socket)
	if ctx.Err() != nil {
		return r, fmt.Errorf("faultfs: %s %s was given up: %w", q.Do, q.Disk, context.Cause(ctx))
	}
	if err != nil {
		return r, fmt.Errorf("no faultfs answers at %s: %w; is `plimsoll faultfs` running?", c.socket, err)
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	err = writeLine(conn, q)
	if err == nil {
		err = readLine(bufio.NewReader(conn), &r)
	}
	switch {
	case ctx.Err() != nil:
		return r, fmt.Errorf("faultfs: %s %s was given up: %w", q.Do, q.Disk, context.Cause(ctx))
	case err != nil:
		return r, fmt.Errorf("faultfs at %s: no answer to %s: %w", c.socket, q.Do, err)
	case r.Error != "":
		return r, errors.New(r.Error)
	}
	return r, nil
}
