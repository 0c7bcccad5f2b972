package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/wiremessage"

	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/store/null"
)

// The goals of wire on a server that answers late, as shares of the C loop's figures.
const (
	leastThroughput = 0.92
	mostCPU         = 1.3
)

// The service times of the slow server in microseconds: exponential, cut at both ends.
const (
	slowMean  = 500
	slowLeast = 50
	slowMost  = 5000
)

// openShare is the rate of an open loop, as a share of the C loop's throughput in a closed loop.
const openShare = 0.6

// messageCount is the number of different messages that the C loop sends in turn: the server then has the same work for
// both.
const messageCount = 4096

// waiting compares wire with the C loop on servers that answer late. An immediate responder hides the cost of waiting,
// because most replies arrive before the client waits for them.
func waiting(ctx context.Context, w io.Writer, c config) error {
	dir, err := scratchIn("")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	p := buildPeers(ctx, dir)
	if p.cloopErr != nil || p.slowErr != nil {
		return p.report(w)
	}
	messages := filepath.Join(dir, "messages")
	if err := saveMessages(ctx, messages); err != nil {
		return err
	}
	fmt.Fprintf(w, "\nPoint reads on servers that answer late: wire relative to the C loop, median of %d rounds "+
		"(goals: throughput ≥ %.2f ×, processor time per operation ≤ %.2f ×)\n", c.rounds, leastThroughput, mostCPU)
	for _, s := range waitingServers(dir, p, messages) {
		if !strings.HasPrefix(s.name, c.server) {
			continue
		}
		if err := s.compare(ctx, w, c, p, messages); err != nil {
			return err
		}
	}
	return nil
}

type waitingServer struct {
	name  string
	start func(ctx context.Context) (addr string, stop func(), err error)
}

func waitingServers(dir string, p peers, messages string) []waitingServer {
	list := []waitingServer{
		{"immediate responder", startResponder},
		{fmt.Sprintf("slow responder (%d µs to %d ms)", slowLeast, slowMost/1000),
			func(ctx context.Context) (string, func(), error) { return startSlow(ctx, p.slow, dir, messages) }},
	}
	if path := mongodPath(); path != "" {
		list = append(list, waitingServer{"mongod", func(ctx context.Context) (string, func(), error) {
			return startMongod(ctx, path, dir)
		}})
	}
	return list
}

func (s waitingServer) compare(ctx context.Context, w io.Writer, c config, p peers, messages string) error {
	addr, stop, err := s.start(ctx)
	if err != nil {
		return fmt.Errorf("%s: %w", s.name, err)
	}
	defer stop()
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(t, "\n%s\tC ops/s\twire ops/s\t×\t\tC µs/op\twire µs/op\t×\t\t\n", s.name)
	for _, workers := range []int{16, 64, 512} {
		rate := 0.0
		for _, loop := range []string{"closed", "open"} {
			d := duel{addr: addr, messages: messages, cloop: p.cloop, workers: workers, operations: c.operations, rate: rate}
			r, err := d.rounds(ctx, c.rounds)
			if err != nil {
				return fmt.Errorf("%s, %d workers: %w", s.name, workers, err)
			}
			rate = openShare * measure.Median(r.rate[0])
			throughput, processor := medianRatio(r.rate), medianRatio(r.cpu)
			fmt.Fprintf(t, "%d workers, %s loop\t%.0f\t%.0f\t%.2f\t%s\t%.1f\t%.1f\t%.2f\t%s\t\n", workers, loop,
				measure.Median(r.rate[0]), measure.Median(r.rate[1]), throughput, verdict(throughput >= leastThroughput),
				measure.Median(r.cpu[0]), measure.Median(r.cpu[1]), processor, verdict(processor <= mostCPU))
		}
	}
	return t.Flush()
}

// duel compares the C loop with wire in one setting.
type duel struct {
	addr, messages, cloop string
	workers, operations   int
	rate                  float64 // of an open loop, 0 for a closed one
}

// duelRounds holds the figures of each round: [0] of the C loop, [1] of wire.
type duelRounds struct {
	rate [2][]float64 // operations per second
	cpu  [2][]float64 // µs per operation
}

// medianRatio is the median of the ratios within the rounds.
func medianRatio(v [2][]float64) float64 {
	var ratios []float64
	for i := range v[0] {
		ratios = append(ratios, v[1][i]/v[0][i])
	}
	return measure.Median(ratios)
}

func (d duel) rounds(ctx context.Context, n int) (duelRounds, error) {
	var r duelRounds
	for round := range n {
		for turn := range 2 {
			who := (turn + round) % 2 // alternating, so that a drift of the machine affects both alike
			cmd, err := d.command(ctx, who)
			if err != nil {
				return r, err
			}
			var o outcome
			if err := runJSON(cmd, &o); err != nil {
				return r, err
			}
			if o.Failed > 0 {
				return r, fmt.Errorf("%d of %d operations failed", o.Failed, o.Operations)
			}
			r.rate[who] = append(r.rate[who], float64(o.Operations)/o.Seconds)
			r.cpu[who] = append(r.cpu[who], o.CPUMicros)
		}
	}
	return r, nil
}

// command runs the C loop (0) or wire (1).
func (d duel) command(ctx context.Context, who int) (*exec.Cmd, error) {
	if who == 1 {
		return child(ctx, roleClient, job{Addr: d.addr, Client: clientWire, Operation: "read", Workers: d.workers,
			Operations: int64(d.operations), Rate: d.rate})
	}
	host, port, err := net.SplitHostPort(d.addr)
	args := []string{host, port, d.messages, strconv.Itoa(d.workers), strconv.Itoa(d.operations)}
	if d.rate > 0 {
		args = append(args, strconv.FormatFloat(d.rate, 'f', 1, 64))
	}
	return exec.CommandContext(ctx, d.cloop, args...), err
}

// saveMessages writes the messages of point reads that wire sends into one file.
func saveMessages(ctx context.Context, path string) error {
	all, err := captureMessages(ctx, "read", messageCount)
	if err != nil {
		return fmt.Errorf("capture messages of wire: %w", err)
	}
	return os.WriteFile(path, slices.Concat(all...), 0o600)
}

// startSlow starts the slow responder with the replies of the immediate one.
func startSlow(ctx context.Context, program, dir, messages string) (addr string, stop func(), err error) {
	r, err := null.Listen(null.Options{})
	if err != nil {
		return "", nil, err
	}
	defer r.Close()
	reads, err := os.ReadFile(messages)
	if err != nil {
		return "", nil, err
	}
	find := reads[:binary.LittleEndian.Uint32(reads)]
	files := []string{strconv.Itoa(slowMean), strconv.Itoa(slowLeast), strconv.Itoa(slowMost)}
	for i, request := range [][]byte{command("hello"), oldGreeting(), find, command("ping")} {
		reply, err := exchange(r.Addr(), request)
		if err != nil {
			return "", nil, fmt.Errorf("get reply %d of the responder: %w", i, err)
		}
		file := filepath.Join(dir, fmt.Sprintf("reply%d", i))
		if err := os.WriteFile(file, reply, 0o600); err != nil {
			return "", nil, err
		}
		files = append(files, file)
	}
	return startServer(exec.CommandContext(ctx, program, files...))
}

// exchange sends one message and returns the whole reply.
func exchange(addr string, request []byte) ([]byte, error) {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	if _, err := conn.Write(request); err != nil {
		return nil, err
	}
	head := make([]byte, 4)
	if _, err := io.ReadFull(conn, head); err != nil {
		return nil, err
	}
	reply := append(head, make([]byte, max(binary.LittleEndian.Uint32(head), 16)-4)...)
	_, err = io.ReadFull(conn, reply[4:])
	return reply, err
}

// command is an OP_MSG with {NAME: 1, $db: "admin"}.
func command(name string) []byte {
	at, msg := wiremessage.AppendHeaderStart(nil, 1, 0, wiremessage.OpMsg)
	msg = wiremessage.AppendMsgFlags(msg, 0)
	msg = wiremessage.AppendMsgSectionType(msg, wiremessage.SingleDocument)
	msg = append(msg, bsoncore.NewDocumentBuilder().AppendInt32(name, 1).AppendString("$db", "admin").Build()...)
	return bsoncore.UpdateLength(msg, at, int32(len(msg)))
}

// oldGreeting is the OP_QUERY with {isMaster: 1} that drivers send first.
func oldGreeting() []byte {
	//lint:ignore SA1019 drivers greet old servers with this message
	at, msg := wiremessage.AppendHeaderStart(nil, 1, 0, wiremessage.OpQuery)
	msg = wiremessage.AppendQueryFlags(msg, 0)
	msg = wiremessage.AppendQueryFullCollectionName(msg, "admin.$cmd")
	msg = wiremessage.AppendQueryNumberToSkip(msg, 0)
	msg = wiremessage.AppendQueryNumberToReturn(msg, -1)
	msg = append(msg, bsoncore.NewDocumentBuilder().AppendInt32("isMaster", 1).Build()...)
	return bsoncore.UpdateLength(msg, at, int32(len(msg)))
}
