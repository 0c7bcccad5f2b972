package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/childproc"
	"github.com/plimsoll-bench/plimsoll/load"
	"github.com/plimsoll-bench/plimsoll/store"
)

// mongodVariable names a directory with a mongod, as for tests.
const mongodVariable = "PLIMSOLL_TEST_MONGOD"

// mongodPath is the path of a real mongod, "" if there is none.
func mongodPath() string {
	if dir := os.Getenv(mongodVariable); dir != "" {
		return filepath.Join(dir, "mongod")
	}
	path, err := exec.LookPath("mongod")
	if err != nil {
		return ""
	}
	return path
}

// startMongod starts a mongod on loopback and loads the records of the clients.
func startMongod(ctx context.Context, program, dir string) (addr string, stop func(), err error) {
	data, err := os.MkdirTemp(dir, "mongod")
	if err != nil {
		return "", nil, err
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	addr = ln.Addr().String()
	_ = ln.Close() // mongod takes the port; another program is unlikely to take it in between
	_, port, _ := net.SplitHostPort(addr)
	cmd := exec.CommandContext(ctx, program, "--dbpath", data, "--bind_ip", "127.0.0.1", "--port", port,
		"--wiredTigerCacheSizeGB", "1", "--nounixsocket", "--logpath", filepath.Join(data, "log"))
	if err := childproc.Start(cmd); err != nil {
		return "", nil, fmt.Errorf("start %s: %w", program, err)
	}
	stop = func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait() // its data are removed, so its exit code does not matter
	}
	if err := fillMongod(ctx, addr); err != nil {
		stop()
		return "", nil, fmt.Errorf("load %s: %w", addr, err)
	}
	return addr, stop, nil
}

// fillMongod waits until the server answers and loads the records.
func fillMongod(ctx context.Context, addr string) error {
	j := job{Addr: addr, Client: clientWire, Operation: "read", Workers: 4, Operations: 1}
	var st store.Store
	for deadline := time.Now().Add(time.Minute); ; {
		var err error
		if st, err = j.open(ctx); err == nil {
			break
		}
		if time.Now().After(deadline) || ctx.Err() != nil {
			return err
		}
		time.Sleep(50 * time.Millisecond)
	}
	defer st.Close()
	w, err := j.workload()
	if err != nil {
		return err
	}
	_, err = load.Fill(ctx, load.FillConfig{}, w, st, ignored{})
	return err
}
