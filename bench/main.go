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
)

// config is what a user can choose.
type config struct {
	rounds     int
	operations int
	workers    int
	only       string
	server     string // of the part waiting
	seconds    int    // length of the timed figures
}

func main() {
	if role := os.Getenv(roleVariable); role != "" {
		exit(playRole(role, os.Args[1:]))
	}
	var c config
	flag.IntVar(&c.rounds, "rounds", 5, "rounds over all clients; the median counts")
	flag.IntVar(&c.operations, "operations", 100_000, "operations of each client per round")
	flag.IntVar(&c.workers, "workers", 16, "workers, threads or connections of each client")
	flag.StringVar(&c.only, "only", "", "one part: "+strings.Join(partNames(), ", "))
	flag.StringVar(&c.server, "server", "", "one server of the part waiting: immediate, slow, mongod")
	flag.IntVar(&c.seconds, "seconds", 20, "length of the parts that run for a time")
	flag.Parse()
	ctx, stop := interrupted()
	defer stop()
	exit(run(ctx, os.Stdout, c))
}

// interrupted is a context that ends with Ctrl-C and SIGTERM: what is being measured then ends and removes what it made. The
// second signal ends this process at once; what is left then is removed by the next one.
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

// part is one section of the output.
type part struct {
	name string
	run  func(ctx context.Context, w io.Writer, c config) error
}

func parts() []part {
	return []part{
		{"speed", speed},
		{"waiting", waiting},
		{"mongod", mongodSpeed},
		{"start", startUp},
		{"memory", memory},
		{"binary", binarySize},
		{"lateness", lateness},
		{"accuracy", accuracy},
		{"report", reportCost},
		{"study", studyCost},
		{"serve", serveCost},
		{"lab", labCost},
		{"ledger", ledgerCost},
		{"audit", auditSpeed},
		{"outage", outageError},
		{"disk", diskPeers},
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

// run prints all parts, or the one that was asked for. A part that fails does not keep the others from
// being printed, but the run fails.
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
		return fmt.Errorf("there is no part %q: choose one of %s", c.only, strings.Join(partNames(), ", "))
	case len(failed) > 0:
		return fmt.Errorf("not measured: %s", strings.Join(failed, ", "))
	}
	return nil
}

// verdict says whether a figure reaches its goal.
func verdict(met bool) string {
	if met {
		return "met"
	}
	return "missed"
}
