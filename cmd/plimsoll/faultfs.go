package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/lab/faultfs"
)

func newFaultfsCommand(env *environment) *cobra.Command {
	var o faultfs.Options
	cmd := &cobra.Command{
		Use:   "faultfs --dir DATA --mount DIR --socket PATH",
		Short: "Serve virtual disks that can fail, lose power and be slow",
		Long: `Serve virtual disks that can fail, lose power and be slow, until Ctrl-C or SIGTERM.

Each disk is a file in the mount directory. Put a loop device above it, and below a real filesystem
the disk then returns errors, hangs, lies or loses what was not flushed, as 'plimsoll faultfs ctl'
tells it. It needs root and Linux with FUSE. See docs/faultfs.md.

Exit codes: 0 ended, 1 it failed or its disks were in use to the end, 2 usage.`,
		Example: `  plimsoll faultfs --dir /var/tmp/disks --mount /mnt/disks --socket /run/disks.sock
  plimsoll faultfs ctl --socket /run/disks.sock create a --size 10GiB --class nvme
  losetup --find --show --direct-io=on /mnt/disks/a`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return serveDisks(cmd.Context(), env, o) },
	}
	cmd.Flags().StringVar(&o.Data, "dir", "", "where the contents of the disks are kept")
	cmd.Flags().StringVar(&o.Mount, "mount", "", "where the disks appear; an empty directory")
	cmd.Flags().StringVar(&o.Socket, "socket", "", "the control socket, at most 107 characters")
	cmd.AddCommand(newFaultfsControlCommand(env), newFaultfsClassesCommand(env))
	return cmd
}

func serveDisks(ctx context.Context, env *environment, o faultfs.Options) error {
	if o.Data == "" || o.Mount == "" || o.Socket == "" {
		return usageError("give --dir, --mount and --socket")
	}
	signals, stop := env.signals()
	defer stop()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-signals:
			cancel()
		case <-ctx.Done():
		}
	}()
	o.Log = log.New(env.stderr, "plimsoll: ", 0)
	o.Ready = func() { fmt.Fprintf(env.stdout, "disks are in %s, their control at %s\n", o.Mount, o.Socket) }
	o.Restart = func() error { return syscall.Exec("/proc/self/exe", os.Args, os.Environ()) }
	return withExit(exitFailure, faultfs.Serve(ctx, o))
}

func newFaultfsClassesCommand(env *environment) *cobra.Command {
	return &cobra.Command{
		Use:   "classes",
		Short: "List the device classes, with their figures and where these are from",
		Args:  noArguments,
		RunE: func(*cobra.Command, []string) error {
			w := tabwriter.NewWriter(env.stdout, 0, 0, 2, ' ', 0)
			fmt.Fprintln(w, "class\tread\twrite\tflush\tsequential\tread/s\twrite/s\tat once\twhen power fails")
			for _, c := range faultfs.Classes() {
				d := c.Device
				cut := "loses what was not flushed"
				if d.Protected {
					cut = "keeps what it acknowledged"
				}
				fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%d\t%s\n", c.Name, brief(d.ReadLatency), brief(d.WriteLatency),
					brief(d.FlushLatency), brief(d.SequentialLatency), figure.Bytes(d.ReadRate), figure.Bytes(d.WriteRate), d.Parallel, cut)
			}
			if err := w.Flush(); err != nil {
				return err
			}
			for _, c := range faultfs.Classes() {
				fmt.Fprintf(env.stdout, "\n%s: %s.\n  %s\n", c.Name, c.About, c.Source)
			}
			return nil
		},
	}
}

// brief is a latency of a device, where 0 is none.
func brief(d time.Duration) string {
	if d == 0 {
		return "-"
	}
	return figure.Duration(d)
}
