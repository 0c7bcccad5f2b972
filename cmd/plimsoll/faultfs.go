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

Each disk is a file in the mount directory. Attach a loop device to it and create a filesystem there. Then
use 'plimsoll faultfs ctl' to make the disk return errors, hang, lie, or lose data that was not flushed.
faultfs needs root and Linux with FUSE. See docs/faultfs.md.

Exit codes: 0 stopped, 1 other failure or disks still in use, 2 usage error.`,
		Example: `  plimsoll faultfs --dir /var/tmp/disks --mount /mnt/disks --socket /run/disks.sock
  plimsoll faultfs ctl --socket /run/disks.sock create a --size 10GiB --class nvme
  losetup --find --show --direct-io=on /mnt/disks/a`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return serveDisks(cmd.Context(), env, o) },
	}
	cmd.Flags().StringVar(&o.Data, "dir", "", "`directory` of the contents of the disks")
	cmd.Flags().StringVar(&o.Mount, "mount", "", "mount `directory` of the disks; must be empty")
	cmd.Flags().StringVar(&o.Socket, "socket", "", "`path` of the control socket, at most 107 characters")
	cmd.AddCommand(newFaultfsControlCommand(env), newFaultfsClassesCommand(env))
	return cmd
}

func serveDisks(ctx context.Context, env *environment, o faultfs.Options) error {
	if o.Data == "" || o.Mount == "" || o.Socket == "" {
		return usageError("give --dir, --mount and --socket")
	}
	ctx, stop := interruptible(ctx, env)
	defer stop()
	o.Log = log.New(env.stderr, "plimsoll: ", 0)
	o.Ready = func() { fmt.Fprintf(env.stdout, "disks are in %s, their control at %s\n", o.Mount, o.Socket) }
	o.Restart = func() error { return syscall.Exec("/proc/self/exe", os.Args, os.Environ()) }
	return withExit(exitFailure, faultfs.Serve(ctx, o))
}

func newFaultfsClassesCommand(env *environment) *cobra.Command {
	return &cobra.Command{
		Use:   "classes",
		Short: "List the device classes, their latencies and rates, and the sources of these",
		Args:  noArguments,
		RunE: func(*cobra.Command, []string) error {
			w := tabwriter.NewWriter(env.stdout, 0, 0, 2, ' ', 0)
			fmt.Fprintln(w, "class\tread\twrite\tflush\tsequential\tread/s\twrite/s\tat once\twhen power fails")
			for _, c := range faultfs.Classes() {
				d := c.Device
				cut := "loses unflushed data"
				if d.Protected {
					cut = "keeps acknowledged data"
				}
				fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%d\t%s\n", c.Name, brief(d.ReadLatency), brief(d.WriteLatency),
					brief(d.FlushLatency), brief(d.SequentialLatency), figure.Bytes(d.ReadRate), figure.Bytes(d.WriteRate), d.Parallel,
					cut)
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

// brief formats a latency of a device; 0 means none.
func brief(d time.Duration) string {
	if d == 0 {
		return "-"
	}
	return figure.Duration(d)
}
