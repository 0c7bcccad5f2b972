package main

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/plimsoll-bench/plimsoll/internal/childproc"
	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/run"
	"github.com/plimsoll-bench/plimsoll/store/null"
)

func newCalibrateCommand(env *environment) *cobra.Command {
	var duration time.Duration
	var format string
	cmd := &cobra.Command{
		Use:   "calibrate",
		Short: "Measure the highest rate of this machine's load generator",
		Long: `Measure the highest rate of this machine's load generator. The target is a responder in a separate process
on loopback. It answers at once and stores nothing.

The result is stored. Later runs that come near this rate get the warning client-limited, because the
load generator, not the target, limits their throughput.`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return calibrate(cmd.Context(), env, duration, format) },
	}
	cmd.Flags().DurationVar(&duration, "duration", 3*time.Second, "measured time of each client")
	formatFlag(cmd.Flags(), &format, "result", "text", "json")
	return cmd
}

func calibrate(ctx context.Context, env *environment, duration time.Duration, format string) error {
	if duration < 100*time.Millisecond {
		return usageError("--duration: %v is too short; give at least 100ms", duration)
	}
	home, err := homeDir(env)
	if err != nil {
		return err
	}
	ctx, stop := interruptible(ctx, env)
	defer stop()
	uri, end, err := startResponder(ctx)
	if err != nil {
		return err
	}
	defer end()
	machine := record.NewEnvironment(nil)
	c := run.Ceiling{Measured: env.now().UTC(), Tool: tool().Version, CPU: machine.CPU, Cores: machine.Cores,
		Clients: map[string]run.ClientCeiling{}}
	for _, client := range []string{run.ClientWire, run.ClientDriver} {
		fmt.Fprintf(env.stderr, "calibrating client %s for %v\n", client, duration)
		if c.Clients[client], err = run.Calibrate(ctx, client, run.Calibration{Target: uri, Duration: duration}); err != nil {
			return fmt.Errorf("cannot calibrate the client %s: %w", client, err)
		}
	}
	if err := c.Write(home); err != nil {
		return err
	}
	if format == "json" {
		return printJSON(env.stdout, c)
	}
	return printCeiling(env.stdout, c)
}

func printCeiling(w io.Writer, c run.Ceiling) error {
	fmt.Fprintf(w, "%s, %s cores\n\n", cmp.Or(c.CPU, "unknown processor"), figure.Significant(c.Cores))
	t := table{}
	t.row("client", "CPU per operation", "ceiling", "reached with the responder")
	for _, name := range []string{run.ClientWire, run.ClientDriver} {
		x := c.Clients[name]
		t.row(name, figure.Duration(time.Duration(x.PerOperation)), figure.Rate(x.Rate)+"/s", figure.Rate(x.Reached)+"/s")
	}
	t.write(w, "")
	fmt.Fprintln(w, "\nThe ceiling is cores divided by CPU time per operation: half reads, half updates, documents of 1 KB.\n"+
		"Runs near the ceiling get the warning client-limited from now on.")
	nextStep(w, "plimsoll run --workload a", "on the embedded store")
	return nil
}

// startResponder starts this program again as a responder, because the CPU time of the client must not include that of
// the responder. The responder exits with end, and also when this process dies and its standard input closes.
func startResponder(ctx context.Context) (uri string, end func(), err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("cannot start the responder: %w", err)
		}
	}()
	self, err := os.Executable()
	if err != nil {
		return "", nil, err
	}
	child := childproc.CommandContext(ctx, self, "null-responder")
	child.Args[0] = "plimsoll" // the name in the list of processes
	in, err := child.StdinPipe()
	if err != nil {
		return "", nil, err
	}
	out, err := child.StdoutPipe()
	if err != nil {
		return "", nil, err
	}
	if err := child.Start(); err != nil {
		return "", nil, err
	}
	end = func() { _ = in.Close(); _ = child.Wait() }
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		end()
		return "", nil, fmt.Errorf("it exited without printing its address (%v)", err)
	}
	return strings.TrimSpace(line), end, nil
}

// newResponderCommand is the command that [startResponder] runs.
func newResponderCommand(env *environment) *cobra.Command {
	return &cobra.Command{
		Use:    "null-responder",
		Short:  "Answer MongoDB's protocol on loopback without storing anything, until standard input closes",
		Hidden: true,
		Args:   noArguments,
		RunE: func(*cobra.Command, []string) error {
			r, err := null.Listen(null.Options{})
			if err != nil {
				return err
			}
			defer r.Close()
			fmt.Fprintln(env.stdout, r.URI())
			_, err = io.Copy(io.Discard, env.stdin)
			return err
		},
	}
}
