package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"text/tabwriter"

	"github.com/plimsoll-bench/plimsoll/measure"
)

// The clients that are compared, in the order of a round.
const (
	peerC        = "C loop"
	clientWire   = "wire"
	clientDriver = "driver"
	peerYCSB     = "go-ycsb"
)

// figures holds one figure of every round, by client.
type figures map[string][]float64

func (f figures) median(client string) float64 { return measure.Median(f[client]) }

// speed compares the processor time of a point read and of an update between clients. Each round measures all clients,
// so that a disturbance of the machine affects all of them.
func speed(ctx context.Context, w io.Writer, c config) error {
	dir, err := scratchIn("")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	peers := buildPeers(ctx, dir)
	addr, stop, err := startResponder(ctx)
	if err != nil {
		return err
	}
	defer stop()
	fmt.Fprintf(w, "\nClient CPU per operation (user + system, µs): %d workers, %d operations, median of %d rounds\n",
		c.workers, c.operations, c.rounds)
	for _, operation := range []string{"read", "update"} {
		b := comparison{c: c, addr: addr, operation: operation, peers: peers, dir: dir}
		if err := b.capture(ctx); err != nil {
			return err
		}
		f, err := b.measure(ctx, []string{peerC, clientWire, clientDriver, peerYCSB})
		if err != nil {
			return err
		}
		printSpeed(w, operation, f)
	}
	return peers.report(w)
}

// comparison is the comparison for one operation.
type comparison struct {
	c         config
	addr      string
	operation string
	peers     peers
	dir       string
}

// message is the file with the message for the C loop.
func (b comparison) message() string { return filepath.Join(b.dir, b.operation+".msg") }

// capture saves the message that wire sends for the operation.
func (b comparison) capture(ctx context.Context) error {
	all, err := captureMessages(ctx, b.operation, 1)
	if err != nil {
		return fmt.Errorf("capture a message of wire: %w", err)
	}
	return os.WriteFile(b.message(), all[0], 0o600)
}

// measure runs the clients in turn and returns their processor time per operation. A peer that could not be built has
// none.
func (b comparison) measure(ctx context.Context, clients []string) (cpu figures, err error) {
	cpu = figures{}
	for range b.c.rounds {
		for _, client := range clients {
			cmd, err := b.command(ctx, client)
			if err != nil {
				return nil, err
			}
			if cmd == nil {
				continue
			}
			var o outcome
			if err := runJSON(cmd, &o); err != nil {
				return nil, err
			}
			allowed := int64(0)
			if client == peerYCSB { // go-ycsb sometimes reads a key that it did not load
				allowed = o.Operations / 1000
			}
			if o.Failed > allowed {
				return nil, fmt.Errorf("%s: %d of %d operations failed", client, o.Failed, o.Operations)
			}
			cpu[client] = append(cpu[client], o.CPUMicros)
		}
	}
	return cpu, nil
}

// command returns the command of one client, nil for a peer that could not be built.
func (b comparison) command(ctx context.Context, client string) (*exec.Cmd, error) {
	n, workers := strconv.Itoa(b.c.operations), strconv.Itoa(b.c.workers)
	switch client {
	case peerC:
		if b.peers.cloopErr != nil {
			return nil, nil
		}
		host, port, err := net.SplitHostPort(b.addr)
		return exec.CommandContext(ctx, b.peers.cloop, host, port, b.message(), workers, n), err
	case peerYCSB:
		if b.peers.goycsbErr != nil {
			return nil, nil
		}
		return exec.CommandContext(ctx, b.peers.goycsb, "-uri", "mongodb://"+b.addr+"/?directConnection=true&w=1",
			"-op", b.operation, "-operations", n, "-threads", workers), nil
	}
	return child(ctx, roleClient, job{
		Addr: b.addr, Client: client, Operation: b.operation, Workers: b.c.workers, Operations: int64(b.c.operations),
	})
}

func printSpeed(w io.Writer, operation string, f figures) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(t, "\n%s\tµs/op\tmin–max\t× C loop\t× driver\t× go-ycsb\t\n", operation)
	for _, client := range []string{peerC, clientWire, clientDriver, peerYCSB} {
		if len(f[client]) == 0 {
			fmt.Fprintf(t, "%s\tnot built\t\t\t\t\t\n", client)
			continue
		}
		fmt.Fprintf(t, "%s\t%.2f\t%s\t", client, f.median(client), span(f[client]))
		for _, to := range []string{peerC, clientDriver, peerYCSB} {
			fmt.Fprintf(t, "%s\t", ratio(f.median(client), f.median(to)))
		}
		fmt.Fprintln(t)
	}
	_ = t.Flush()
	for _, g := range []struct {
		to   string
		most float64 // processor time of wire over that of the peer
		text string
	}{
		{peerC, 1.25, "1.25 ×"},
		{clientDriver, 1.0 / 3, "1/3 of"},
		{peerYCSB, 1.0 / 4, "1/4 of"},
	} {
		if len(f[g.to]) == 0 {
			fmt.Fprintf(w, "  goal: wire ≤ %s %s: not measured\n", g.text, g.to)
			continue
		}
		got := f.median(clientWire) / f.median(g.to)
		fmt.Fprintf(w, "  goal: wire ≤ %s %s: %s (%.2f)\n", g.text, g.to, verdict(got <= g.most), got)
	}
}

func span(values []float64) string {
	return fmt.Sprintf("%.1f–%.1f", slices.Min(values), slices.Max(values))
}

func ratio(a, b float64) string {
	if b == 0 {
		return "–"
	}
	return fmt.Sprintf("%.2f", a/b)
}
