package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/permit"
)

type config struct {
	rounds     int
	operations int
	workers    int
	only       string
	server     string // of the part waiting; "" is all
	seconds    int    // length of the part device
}

func main() {
	permit.Assume(permit.All)
	if role := os.Getenv(roleVariable); role != "" {
		exit(playRole(role, os.Args[1:]))
	}
	var c config
	flag.IntVar(&c.rounds, "rounds", 5, "rounds over all clients; the result is the median")
	flag.IntVar(&c.operations, "operations", 100_000, "operations of each client per round")
	flag.IntVar(&c.workers, "workers", 16, "workers, threads or connections of each client")
	flag.StringVar(&c.only, "only", "", "run one part only: "+strings.Join(partNames(), ", "))
	flag.StringVar(&c.server, "server", "", "use one server only in the part waiting: immediate, slow, mongod")
	flag.IntVar(&c.seconds, "seconds", 20, "duration in seconds of the part device")
	flag.Parse()
	ctx, stop := interrupted()
	defer stop()
	exit(run(ctx, os.Stdout, c))
}

// interrupted is a context that ends with Ctrl-C and SIGTERM: the running part then ends and removes its files. A
// second signal ends this process at once; the next process removes what it left (see [scratchIn]).
func interrupted() (context.Context, context.CancelFunc) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	return ctx, stop
}

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

type part struct {
	name string
	run  func(ctx context.Context, w io.Writer, c config) error
}

func parts() []part {
	return []part{
		{"speed", speed},
		{"waiting", waiting},
		{"start", startCost},
		{"agents", agentsGrowth},
		{"ledger", ledgerCost},
		{"observing", observingCost},
		{"device", deviceLatency},
	}
}

func partNames() []string {
	var names []string
	for _, p := range parts() {
		names = append(names, p.name)
	}
	return names
}

// run prints all parts, or the one of -only. If a part fails, the others are still printed, and run fails at the end.
func run(ctx context.Context, w io.Writer, c config) error {
	fmt.Fprintf(w, "%s, %s/%s, %d cores\n", runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU())
	var failed []string
	known := false
	for _, p := range parts() {
		if c.only != "" && c.only != p.name {
			continue
		}
		known = true
		if err := p.run(ctx, w, c); err != nil {
			fmt.Fprintf(w, "%s: not measured: %v\n", p.name, err)
			failed = append(failed, p.name)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	switch {
	case !known:
		return fmt.Errorf("unknown part %q: use one of %s", c.only, strings.Join(partNames(), ", "))
	case len(failed) > 0:
		return fmt.Errorf("not measured: %s", strings.Join(failed, ", "))
	}
	return nil
}

func ms(d time.Duration) float64 { return d.Seconds() * 1e3 }

func verdict(met bool) string {
	if met {
		return "met"
	}
	return "missed"
}
