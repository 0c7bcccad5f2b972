package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"text/tabwriter"
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

// startMongod starts a mongod on loopback and loads the records of the clients. used is the processor time of the
// mongod until now.
func startMongod(ctx context.Context, program, dir string) (
	addr string, used func() time.Duration, stop func(), err error) {
	data, err := os.MkdirTemp(dir, "mongod")
	if err != nil {
		return "", nil, nil, err
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, nil, err
	}
	addr = ln.Addr().String()
	_ = ln.Close() // mongod takes the port; another program is unlikely to take it in between
	_, port, _ := net.SplitHostPort(addr)
	cmd := exec.CommandContext(ctx, program, "--dbpath", data, "--bind_ip", "127.0.0.1", "--port", port,
		"--wiredTigerCacheSizeGB", "1", "--nounixsocket", "--logpath", filepath.Join(data, "log"))
	if err := childproc.Start(cmd); err != nil {
		return "", nil, nil, fmt.Errorf("start %s: %w", program, err)
	}
	used = func() time.Duration {
		took, _ := processorTime(cmd.Process.Pid)
		return took
	}
	stop = func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait() // its data are removed, so its exit code does not matter
	}
	if err := fillMongod(ctx, addr); err != nil {
		stop()
		return "", nil, nil, fmt.Errorf("load %s: %w", addr, err)
	}
	return addr, used, stop, nil
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

// The goals of workload A on one mongod: throughput of wire over that of the peer.
const (
	leastOverYCSB = 1.7
	leastOverJava = 2.5
)

// mongodSpeed compares clients under workload A on a real mongod on the same machine.
func mongodSpeed(ctx context.Context, w io.Writer, c config) error {
	path := mongodPath()
	if path == "" {
		fmt.Fprintf(w, "\nWorkload A on mongod: not measured, because no mongod is on PATH and %s names none\n", mongodVariable)
		return nil
	}
	dir, err := scratchIn("")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	p := buildPeers(ctx, dir)
	addr, used, stop, err := startMongod(ctx, path, dir)
	if err != nil {
		return err
	}
	defer stop()
	if p.goycsbErr == nil { // its keys differ from ours, so its records are in the same collection
		b := comparison{c: c, addr: addr, operation: "load", peers: p}
		cmd, err := b.command(ctx, peerYCSB)
		if err != nil {
			return err
		}
		var o outcome
		if err := runJSON(cmd, &o); err != nil {
			return fmt.Errorf("load the records of go-ycsb: %w", err)
		}
	}
	home := os.Getenv(javaVariable)
	if home != "" {
		b := comparison{c: c, addr: addr}
		if _, err := b.java(ctx, home, "-load"); err != nil {
			return fmt.Errorf("load the records of YCSB: %w", err)
		}
	}
	fmt.Fprintf(w, "\nWorkload A (half reads, half updates, w:1) on one mongod on this machine, median of %d rounds "+
		"(goals: wire ≥ %.1f × go-ycsb, ≥ %.1f × YCSB)\n", c.rounds, leastOverYCSB, leastOverJava)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(t, "workers\tclient\tops/s\tmin–max\tµs/op\tserver µs/op\twire ×\t\t\n")
	for _, workers := range []int{16, 64} {
		b := comparison{c: c, addr: addr, operation: mixed, peers: p, dir: dir, server: used, serverCPU: figures{}}
		b.c.workers = workers
		clients := []string{clientWire, clientDriver, peerYCSB, peerJava}
		f, rates, err := b.measure(ctx, clients)
		if err != nil {
			return err
		}
		for _, client := range clients {
			switch {
			case client == peerJava && home == "":
				fmt.Fprintf(t, "%d\t%s\tnot measured: %s names no YCSB\t\t\t\t\t\t\n", workers, client, javaVariable)
				continue
			case len(rates[client]) == 0:
				fmt.Fprintf(t, "%d\t%s\tnot built\t\t\t\t\t\t\n", workers, client)
				continue
			}
			over, met := rates.median(clientWire)/rates.median(client), ""
			switch client {
			case peerYCSB:
				met = verdict(over >= leastOverYCSB)
			case peerJava:
				met = verdict(over >= leastOverJava)
			}
			fmt.Fprintf(t, "%d\t%s\t%.0f\t%s\t%.1f\t%.1f\t%.2f\t%s\t\n", workers, client, rates.median(client),
				span(rates[client]), f.median(client), b.serverCPU.median(client), over, met)
		}
	}
	if err := t.Flush(); err != nil {
		return err
	}
	return p.report(w)
}
