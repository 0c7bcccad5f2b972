package main

import (
	"context"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"
)

// limitProcessor gives a process so much processor time in 100 ms, by a control group of version 1 or 2 that remove
// removes after the process has ended.
func limitProcessor(pid int, quota time.Duration) (remove func(), err error) {
	const root = "/sys/fs/cgroup"
	parent, limit := filepath.Join(root, "cpu"), "cpu.cfs_quota_us"
	value := strconv.FormatInt(quota.Microseconds(), 10)
	if _, err := os.Stat(filepath.Join(root, "cgroup.controllers")); err == nil {
		parent, limit, value = root, "cpu.max", value+" 100000"
	}
	dir := filepath.Join(parent, "plimsoll-liars-"+strconv.Itoa(pid))
	if err := os.Mkdir(dir, 0o755); err != nil {
		return nil, notHere("no control group can be made")
	}
	remove = func() {
		for range 100 { // until the kernel has removed the process
			if os.Remove(dir) == nil {
				return
			}
			time.Sleep(10 * time.Millisecond)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, limit), []byte(value), 0o644); err != nil {
		remove()
		return nil, notHere("control groups have no quota")
	}
	return remove, os.WriteFile(filepath.Join(dir, "cgroup.procs"), []byte(strconv.Itoa(pid)), 0o644)
}

// network is a network to a server: each direction takes so much longer and keeps its order, and answers have so many
// bytes per second, of all connections together; 0 for any number.
type network struct {
	each time.Duration
	rate float64

	mu   sync.Mutex
	free time.Time // when the last answer has passed
}

func (n *network) to(ctx context.Context, addr string) (net.Listener, error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	go func() {
		for {
			near, err := ln.Accept()
			if err != nil {
				return
			}
			far, err := (&net.Dialer{}).DialContext(ctx, "tcp", addr)
			if err != nil {
				_ = near.Close()
				continue
			}
			go n.carry(far, near, false)
			go n.carry(near, far, true)
		}
	}()
	return ln, nil
}

// pass is when bytes of an answer have passed.
func (n *network) pass(bytes int) time.Time {
	n.mu.Lock()
	defer n.mu.Unlock()
	if now := time.Now(); n.free.Before(now) {
		n.free = now
	}
	n.free = n.free.Add(time.Duration(float64(bytes) / n.rate * float64(time.Second)))
	return n.free
}

// carry copies from one connection to another one, later.
func (n *network) carry(to, from net.Conn, answers bool) {
	type piece struct {
		at   time.Time
		data []byte
	}
	pieces := make(chan piece, 1000)
	go func() {
		defer close(pieces)
		for {
			b := make([]byte, 64<<10)
			size, err := from.Read(b)
			if size > 0 {
				pieces <- piece{time.Now().Add(n.each), b[:size]}
			}
			if err != nil {
				return
			}
		}
	}()
	for p := range pieces {
		time.Sleep(time.Until(p.at))
		if answers && n.rate > 0 {
			time.Sleep(time.Until(n.pass(len(p.data))))
		}
		if _, err := to.Write(p.data); err != nil {
			break
		}
	}
	_ = to.Close()
	_, _ = io.Copy(io.Discard, from) // ends the reader
}
