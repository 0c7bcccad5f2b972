package main

import (
	"context"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
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

// delayed is a network to addr: each direction takes so much longer, and keeps its order.
func delayed(ctx context.Context, addr string, each time.Duration) (net.Listener, error) {
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
			go slowly(far, near, each)
			go slowly(near, far, each)
		}
	}()
	return ln, nil
}

// slowly copies from one connection to another one, later.
func slowly(to, from net.Conn, later time.Duration) {
	type piece struct {
		at   time.Time
		data []byte
	}
	pieces := make(chan piece, 1000)
	go func() {
		defer close(pieces)
		for {
			b := make([]byte, 64<<10)
			n, err := from.Read(b)
			if n > 0 {
				pieces <- piece{time.Now().Add(later), b[:n]}
			}
			if err != nil {
				return
			}
		}
	}()
	for p := range pieces {
		time.Sleep(time.Until(p.at))
		if _, err := to.Write(p.data); err != nil {
			break
		}
	}
	_ = to.Close()
	_, _ = io.Copy(io.Discard, from) // ends the reader
}
