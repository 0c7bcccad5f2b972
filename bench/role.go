package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/plimsoll-bench/plimsoll/lab/process"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/store/null"
)

// roleVariable has the role of a child: this program starts itself again for every client and responder, because
// processor time and memory are known for whole processes only.
const roleVariable = "PLIMSOLL_BENCH_ROLE"

const (
	roleResponder = "responder"
	roleClient    = "client"
	roleStart     = "start"
)

func playRole(role string, args []string) error {
	var arg string
	if len(args) > 0 {
		arg = args[0]
	}
	switch role {
	case roleResponder:
		return playResponder(arg)
	case roleClient:
		return playClient(arg)
	case roleStart:
		return playStart()
	case roleCoordinator:
		var agents int
		if err := json.Unmarshal([]byte(arg), &agents); err != nil {
			return err
		}
		return playCoordinator(agents)
	case roleAgents:
		var args crowdArgs
		if err := json.Unmarshal([]byte(arg), &args); err != nil {
			return err
		}
		return playAgents(args)
	case roleFaults:
		var base string
		if err := json.Unmarshal([]byte(arg), &base); err != nil {
			return err
		}
		return playFaults(base)
	}
	return fmt.Errorf("unknown role %q", role)
}

// timing has the service times of a responder. The zero value answers at once.
type timing struct {
	Seed      uint64        `json:"seed"`
	Mean      time.Duration `json:"mean"` // of exponential service times
	StallFrom time.Duration `json:"stall_from"`
	StallTo   time.Duration `json:"stall_to"`
	Document  int           `json:"document"` // size in bytes; 0 for those of YCSB
	Observe   bool          `json:"observe"`  // print the quantiles of the responder's own times at the end
}

func (t timing) options() null.Options {
	o := null.Options{Document: t.Document}
	if t.Mean > 0 {
		o.Service = null.Exponential(t.Seed, t.Mean)
	}
	if t.StallTo > 0 {
		o.Stalls = []null.Window{{From: t.StallFrom, To: t.StallTo}}
	}
	return o
}

// playResponder answers until standard input ends.
func playResponder(arg string) error {
	var t timing
	if err := json.Unmarshal([]byte(arg), &t); err != nil {
		return err
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("open a loopback port: %w", err)
	}
	fmt.Println(ln.Addr())
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin) // ends with the parent
		cancel()
	}()
	o := t.options()
	if !t.Observe {
		return null.Serve(ctx, ln, o)
	}
	own, mu := measure.NewHistogram(), sync.Mutex{}
	o.Observe = func(_ uint64, arrived, answered time.Time) {
		mu.Lock()
		defer mu.Unlock()
		own.Record(int64(answered.Sub(arrived)))
	}
	if err := null.Serve(ctx, ln, o); err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(read(own))
}

func startResponder(ctx context.Context, t timing) (addr string, stop func(), err error) {
	cmd, err := child(ctx, roleResponder, t)
	if err != nil {
		return "", nil, err
	}
	return startServer(cmd)
}

// startObserved starts a responder that logs its own times. stop returns their quantiles, by [quantiles].
func startObserved(ctx context.Context, t timing) (addr string, stop func() ([]int64, error), err error) {
	t.Observe = true
	cmd, err := child(ctx, roleResponder, t)
	if err != nil {
		return "", nil, err
	}
	addr, out, end, err := startTalker(cmd)
	return addr, func() (own []int64, err error) {
		err = end(func() error { return json.NewDecoder(out).Decode(&own) })
		return own, err
	}, err
}

// startServer starts a program that prints its host:port and ends with its standard input.
func startServer(cmd *exec.Cmd) (addr string, stop func(), err error) {
	addr, _, end, err := startTalker(cmd)
	return addr, func() { _ = end(func() error { return nil }) }, err
}

// startTalker is startServer for a program that prints more at its end, which last reads from out.
func startTalker(cmd *exec.Cmd) (addr string, out *bufio.Reader, end func(last func() error) error, err error) {
	in, err := cmd.StdinPipe()
	if err != nil {
		return "", nil, nil, err
	}
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		return "", nil, nil, err
	}
	if err := cmd.Start(); err != nil {
		return "", nil, nil, fmt.Errorf("start a responder: %w", err)
	}
	end = func(last func() error) error {
		_ = in.Close()
		err := last()
		return cmp.Or(err, cmd.Wait())
	}
	out = bufio.NewReader(pipe)
	line, err := out.ReadString('\n')
	if err != nil {
		_ = end(func() error { return nil })
		return "", nil, nil, fmt.Errorf("read the address that the responder prints: %w", err)
	}
	return strings.TrimSpace(line), out, end, nil
}

// child returns this program in a role, with arg as JSON.
func child(ctx context.Context, role string, arg any) (*exec.Cmd, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(arg)
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, exe, string(text))
	cmd.Env = append(os.Environ(), roleVariable+"="+role)
	cmd.Stderr = os.Stderr
	return cmd, nil
}

// processorTime is the processor time of a running process until now, to a hundredth of a second.
func processorTime(pid int) (time.Duration, error) {
	seconds, _, ok := process.CPUSeconds(pid)
	if !ok {
		return 0, fmt.Errorf("the processor time of process %d cannot be read", pid)
	}
	return time.Duration(seconds * float64(time.Second)).Round(10 * time.Millisecond), nil
}

func runJSON(cmd *exec.Cmd, into any) error {
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("%s: %w: %s", cmd.Path, err, bytes.TrimSpace(stderr.Bytes()))
	}
	if err := json.Unmarshal(out, into); err != nil {
		return fmt.Errorf("%s printed %q: %w", cmd.Path, out, err)
	}
	return nil
}
