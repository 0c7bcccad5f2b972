package main

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/plimsoll-bench/plimsoll/load"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
	storage "github.com/plimsoll-bench/plimsoll/store"
	"github.com/plimsoll-bench/plimsoll/store/null"
	"github.com/plimsoll-bench/plimsoll/store/wire"
	"github.com/plimsoll-bench/plimsoll/workload"
)

// clientFamily is the check of the load generator. A trial runs a client against a responder that logs its own times,
// each in a process of its own. The client is starved if p99 until its workers continued exceeds the responder's own by
// more than 10 %.
func clientFamily() family {
	return family{name: "client", verdict: "`plimsoll run`: the load generator is not the limit", parallel: 1, rows: []row{
		{name: "quota", lie: "a control group gives the client 5 ms of processor time in 100 ms", goal: atLeast(0.99),
			small: 2, full: 60, try: starved(setting{workers: 16, quota: 5 * time.Millisecond})},
		{name: "competitors", lie: "four busy programs share the client's only core", goal: atLeast(0.99),
			small: 2, full: 60, try: starved(setting{workers: 16, competitors: 4})},
		{name: "one-busy-loop", lie: "64 workers read documents of 200 KB", goal: atLeast(0.99),
			small: 2, full: 60, try: starved(setting{workers: 64, document: 200 << 10, mean: time.Millisecond})},
		{name: "calm", honest: "16 workers read documents of 1 KB in 5 ms", goal: atMost(0.01),
			full: 100, try: unaffected(setting{workers: 16})},
		{name: "slow-network", honest: "the same through a network that adds 20 ms", goal: atMost(0.01),
			full: 40, try: unaffected(setting{workers: 16, network: 20 * time.Millisecond})},
	}, notFound: []string{
		"a slow network between client and target: its time is part of the service time",
		"a hypervisor that stops the whole machine: the kernel does not see packets during the run",
		"processor time that is missing between the reading of the clock and the sending of a request",
		"a wall clock that is set during the run: the arrival of answers in flight is discarded if it is before the " +
			"request (a test of store/wire); it is not set here, because that would affect the whole machine",
	}}
}

// setting is what a client of a trial has to do, and with what.
type setting struct {
	workers     int
	document    int           // bytes; 1 KiB if zero
	mean        time.Duration // of exponential service times; 5 ms if zero
	quota       time.Duration // processor time in 100 ms; 0 is no limit
	competitors int           // on the same core
	network     time.Duration // that each way takes in addition, half of it in each direction
}

// starved is a trial of a client without processor time.
func starved(s setting) func(context.Context, *trial) (answer, error) {
	return func(ctx context.Context, t *trial) (answer, error) {
		got, err := s.play(ctx, t)
		if err != nil || got.Noticed < got.own*11/10 {
			return notPlanted, err
		}
		return got.answer(), nil
	}
}

// unaffected is a trial of a client with enough processor time. Where other programs delay the client it is none.
func unaffected(s setting) func(context.Context, *trial) (answer, error) {
	return func(ctx context.Context, t *trial) (answer, error) {
		got, err := s.play(ctx, t)
		// The two relays of the network need time, too.
		if err != nil || got.Noticed > (got.own+s.network)*12/10 || got.Median > (got.ownMedian+s.network)*12/10 {
			return notPlanted, err
		}
		return got.answer(), nil
	}
}

// clientResult is what a client process says of its run.
type clientResult struct {
	Stated   time.Duration `json:"stated"` // p99
	Noticed  time.Duration `json:"noticed"`
	Median   time.Duration `json:"median"`   // noticed
	Findings []string      `json:"findings"` // about the client: warnings and worse

	own, ownMedian time.Duration // p99 and median by the responder
}

func (r clientResult) answer() answer {
	if len(r.Findings) > 0 {
		return accused
	}
	return cleared
}

// play runs the client and its responder.
func (s setting) play(ctx context.Context, t *trial) (r clientResult, err error) {
	mean, size := cmp.Or(s.mean, 5*time.Millisecond), cmp.Or(s.document, 1<<10)
	responder, err := startRole(ctx, nil, roleResponder, strconv.FormatUint(t.seed, 10), mean.String(), strconv.Itoa(size))
	if err != nil {
		return r, err
	}
	defer responder.stop()
	addr, err := responder.line()
	if err != nil {
		return r, err
	}
	if s.network > 0 {
		far, err := (&network{each: s.network / 2}).to(ctx, addr)
		if err != nil {
			return r, err
		}
		defer far.Close()
		addr = far.Addr().String()
	}
	var pin []string
	if s.competitors > 0 {
		taskset, err := exec.LookPath("taskset")
		if err != nil {
			return r, notHere("there is no taskset")
		}
		pin = []string{taskset, "-c", "0"}
	}
	for range s.competitors {
		busy, err := startRole(ctx, pin, roleSpinner)
		if err != nil {
			return r, err
		}
		defer busy.stop()
	}
	client, err := startRole(ctx, pin, roleLoad, addr, strconv.Itoa(s.workers))
	if err != nil {
		return r, err
	}
	defer client.stop()
	if s.quota > 0 {
		remove, err := limitProcessor(client.cmd.Process.Pid, s.quota)
		if err != nil {
			return r, err
		}
		defer func() { client.stop(); remove() }()
	}
	text, err := client.line()
	if err != nil {
		return r, fmt.Errorf("the client said nothing: %w", err)
	}
	client.stop()
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		return r, err
	}
	_ = responder.in.Close()
	if text, err = responder.line(); err != nil {
		return r, err
	}
	_, err = fmt.Sscan(text, (*int64)(&r.own), (*int64)(&r.ownMedian))
	t.say("p99: %v by the responder, %v stated, %v until workers continued; %v", r.own, r.Stated, r.Noticed, r.Findings)
	return r, err
}

// roleVariable has the role of a child: this program starts itself again for clients and responders.
const roleVariable = "PLIMSOLL_LIARS_ROLE"

const (
	roleResponder = "responder"
	roleLoad      = "load"
	roleSpinner   = "spinner"
)

// child is a process in a role. It ends with its standard input.
type child struct {
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  *bufio.Reader
	once sync.Once
}

func startRole(ctx context.Context, before []string, role string, args ...string) (*child, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, err
	}
	words := append(append(before, exe), args...)
	c := &child{cmd: exec.CommandContext(ctx, words[0], words[1:]...)}
	c.cmd.Env = append(os.Environ(), roleVariable+"="+role)
	c.cmd.Stderr = os.Stderr
	if c.in, err = c.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	pipe, err := c.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	c.out = bufio.NewReader(pipe)
	return c, c.cmd.Start()
}

func (c *child) line() (string, error) {
	text, err := c.out.ReadString('\n')
	return strings.TrimSpace(text), err
}

func (c *child) stop() {
	c.once.Do(func() {
		_ = c.in.Close()
		_ = c.cmd.Process.Kill() // its result has been read, or is not wanted
		_ = c.cmd.Wait()
	})
}

func playRole(role string, args []string) error {
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin) // ends with the parent
		cancel()
	}()
	switch {
	case role == roleResponder && len(args) == 3:
		return playResponder(ctx, args[0], args[1], args[2])
	case role == roleLoad && len(args) == 2:
		return playLoad(ctx, args[0], args[1])
	case role == roleSpinner:
		for ctx.Err() == nil {
		}
		return nil
	}
	return fmt.Errorf("unknown role %q with %d arguments", role, len(args))
}

// playResponder prints its address, and at its end p99 and the median of its own times in nanoseconds.
func playResponder(ctx context.Context, seed, mean, size string) error {
	n, err1 := strconv.ParseUint(seed, 10, 64)
	d, err2 := time.ParseDuration(mean)
	bytes, err3 := strconv.Atoi(size)
	ln, err4 := net.Listen("tcp", "127.0.0.1:0")
	if err := errors.Join(err1, err2, err3, err4); err != nil {
		return err
	}
	own, mu := measure.NewHistogram(), sync.Mutex{}
	fmt.Println(ln.Addr())
	err := null.Serve(ctx, ln, null.Options{Service: null.Exponential(n, d), Document: bytes,
		Observe: func(_ uint64, arrived, answered time.Time) {
			mu.Lock()
			defer mu.Unlock()
			own.Record(int64(answered.Sub(arrived)))
		}})
	fmt.Println(own.Quantile(0.99), own.Quantile(0.5))
	return err
}

// playLoad reads for a second and prints a clientResult.
func playLoad(ctx context.Context, addr, workers string) error {
	n, err := strconv.Atoi(workers)
	if err != nil {
		return err
	}
	w, err := workload.Open(workload.Spec{Name: "c", Records: 1000, Seed: 1})
	if err != nil {
		return err
	}
	st, err := wire.Open(ctx, storage.Config{Target: "mongodb://" + addr + "/?directConnection=true", Database: "liars",
		Sessions: n, Timeout: 20 * time.Second})
	if err != nil {
		return err
	}
	defer st.Close()
	s := &clientSink{sum: measure.NewSummary(load.Dims(w, false), load.PhaseMeasure)}
	if _, err := load.Run(ctx, load.Config{Workers: n, Duration: time.Second}, w, st, s); err != nil {
		return err
	}
	all, err := s.sum.All()
	if err != nil {
		return err
	}
	r := clientResult{
		Stated:  time.Duration(all.Service.Quantile(0.99)),
		Noticed: time.Duration(s.sum.Noticed.Quantile(0.99)),
		Median:  time.Duration(s.sum.Noticed.Quantile(0.5))}
	for _, f := range measure.Judge(s.sum, measure.Circumstances{Cores: record.NewEnvironment(nil).Cores}) {
		if strings.HasPrefix(f.ID, "client-") && f.Severity != measure.Note {
			r.Findings = append(r.Findings, f.ID)
		}
	}
	return json.NewEncoder(os.Stdout).Encode(r)
}

type clientSink struct{ sum *measure.Summary }

func (s *clientSink) Interval(iv *measure.Interval) error {
	if iv.Phase == load.PhaseDrain {
		return s.sum.AddTail(iv)
	}
	return s.sum.Add(iv)
}

func (s *clientSink) Event(measure.Event) error { return nil }
