package faultfs

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/wait"
)

// Client controls the disks of a running [Serve]. Its methods may be called from several goroutines. Each returns when
// the command is in effect.
type Client struct {
	socket string
}

// Dial returns a client of the faultfs at a socket, if it answers.
func Dial(ctx context.Context, socket string) (*Client, error) {
	c := &Client{socket}
	r, err := c.send(ctx, request{Do: "hello"})
	if err != nil {
		return nil, err
	}
	if r.Version != protocolVersion {
		return nil, fmt.Errorf("the faultfs at %s has version %d of the protocol, this plimsoll has version %d. "+
			"Use the plimsoll that started it", socket, r.Version, protocolVersion)
	}
	return c, nil
}

// DialWait is Dial for a faultfs that was just started: it retries until ctx ends.
func DialWait(ctx context.Context, socket string) (*Client, error) {
	var last error // of the attempts, not that ctx has ended
	for {
		c, err := Dial(ctx, socket)
		if err == nil {
			return c, nil
		}
		if last == nil || ctx.Err() == nil {
			last = err
		}
		if wait.Sleep(ctx, 10*time.Millisecond) != nil {
			return nil, last
		}
	}
}

// Create makes a disk of a size in bytes, a multiple of 512, which reads as zeros. It is a file of this name in the
// mount. cache may be nil.
func (c *Client) Create(ctx context.Context, name string, size int64, d Device, cache *Cache) error {
	_, err := c.send(ctx, request{Do: "create", Disk: name, Size: size, Device: &d, Cache: cache})
	return err
}

// Remove deletes a disk and its content. It fails if the disk is open, for example by a loop device. A disk that does
// not exist is no error.
func (c *Client) Remove(ctx context.Context, name string) error {
	_, err := c.send(ctx, request{Do: "remove", Disk: name})
	return err
}

// Set adds a fault to a disk. It affects requests that arrive after Set has returned.
func (c *Client) Set(ctx context.Context, name string, f Fault) error {
	_, err := c.send(ctx, request{Do: "set", Disk: name, Fault: &f})
	return err
}

// Clear removes all faults of some kinds, or all faults if no kind is given; from all disks if the name is "". Requests
// that hang continue. The counters of hits stay.
func (c *Client) Clear(ctx context.Context, name string, kinds ...string) error {
	_, err := c.send(ctx, request{Do: "clear", Disk: name, Kinds: kinds})
	return err
}

// Cut cuts the power of a disk, or of all disks at the same moment if the name is "". The disk discards writes that
// were not flushed, and is dead until [Client.Restore].
func (c *Client) Cut(ctx context.Context, name string, p PowerCut) error {
	_, err := c.send(ctx, request{Do: "cut", Disk: name, Cut: &p})
	return err
}

// Restore restores the power of a disk, or of all disks if the name is "". Detach loop devices before, because the
// kernel's cache does not match the content of the disk any more.
func (c *Client) Restore(ctx context.Context, name string) error {
	_, err := c.send(ctx, request{Do: "restore", Disk: name})
	return err
}

// Stats returns the counters of a disk since it was made or loaded.
func (c *Client) Stats(ctx context.Context, name string) (Stats, error) {
	r, err := c.send(ctx, request{Do: "stats", Disk: name})
	if err != nil {
		return Stats{}, err
	}
	if len(r.Stats) != 1 {
		return Stats{}, fmt.Errorf("the faultfs at %s answered with %d disks instead of 1", c.socket, len(r.Stats))
	}
	return r.Stats[0], nil
}

// List returns all disks, ordered by name.
func (c *Client) List(ctx context.Context) ([]Stats, error) {
	r, err := c.send(ctx, request{Do: "list"})
	return r.Stats, err
}

// send sends one request over a connection of its own, so that a call that waits does not block others, and a canceled
// call leaves nothing half read.
func (c *Client) send(ctx context.Context, q request) (reply, error) {
	var r reply
	conn, err := (&net.Dialer{}).DialContext(ctx, "unix", c.socket)
	if ctx.Err() != nil {
		return r, fmt.Errorf("faultfs: %s %s was canceled: %w", q.Do, q.Disk, context.Cause(ctx))
	}
	if err != nil {
		return r, fmt.Errorf("no faultfs answers at %s: %w. Is `plimsoll faultfs` running?", c.socket, err)
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
		return r, fmt.Errorf("faultfs: %s %s was canceled: %w", q.Do, q.Disk, context.Cause(ctx))
	case err != nil:
		return r, fmt.Errorf("faultfs at %s: no answer to %s: %w", c.socket, q.Do, err)
	case r.Error != "":
		return r, errors.New(r.Error)
	}
	return r, nil
}
