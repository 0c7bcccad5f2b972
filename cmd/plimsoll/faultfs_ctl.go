package main

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/lab/faultfs"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// diskAnswerLimit bounds the wait for a faultfs. A power cut of many full disks takes seconds.
const diskAnswerLimit = 5 * time.Minute

// diskStartLimit bounds the wait for a faultfs that has just been started.
const diskStartLimit = 5 * time.Second

type diskControl struct {
	env    *environment
	socket string
}

// command makes a command that runs do on a running faultfs.
func (c *diskControl) command(use, short string, args cobra.PositionalArgs,
	do func(ctx context.Context, client *faultfs.Client, args []string) error) *cobra.Command {
	return &cobra.Command{Use: use, Short: short, Args: args, RunE: func(cmd *cobra.Command, args []string) error {
		if c.socket == "" {
			return usageError("give --socket: the control socket of plimsoll faultfs")
		}
		ctx, cancel := context.WithTimeout(cmd.Context(), diskAnswerLimit)
		defer cancel()
		start, stop := context.WithTimeout(ctx, diskStartLimit)
		defer stop()
		client, err := faultfs.DialWait(start, c.socket)
		if err == nil {
			err = do(ctx, client, args)
		}
		return withExit(exitFailure, err)
	}}
}

func newFaultfsControlCommand(env *environment) *cobra.Command {
	c := &diskControl{env: env}
	cmd := &cobra.Command{
		Use:   "ctl",
		Short: "Create disks of a running faultfs, and inject faults",
	}
	cmd.PersistentFlags().StringVar(&c.socket, "socket", "", "control `socket` of the faultfs")
	return group(cmd,
		c.command("list", "List the disks", noArguments, c.list),
		c.command("stats DISK", "Print the counters of a disk and its faults, as JSON", exactlyOne("disk"),
			func(ctx context.Context, client *faultfs.Client, args []string) error {
				s, err := client.Stats(ctx, args[0])
				if err != nil {
					return err
				}
				return printJSON(env.stdout, s)
			}),
		c.create(),
		c.command("remove DISK", "Delete a disk that is not in use, with its data", exactlyOne("disk"),
			func(ctx context.Context, client *faultfs.Client, args []string) error {
				return client.Remove(ctx, args[0])
			}),
		c.set(),
		c.command("clear DISK|all [KIND...]", "Revert all faults of a disk, or those of some kinds", someArguments(true, "a disk"),
			func(ctx context.Context, client *faultfs.Client, args []string) error {
				return client.Clear(ctx, orAll(args[0]), args[1:]...)
			}),
		c.cut(),
		c.command("restore DISK|all", "Restore the power of a disk", exactlyOne("disk"),
			func(ctx context.Context, client *faultfs.Client, args []string) error {
				return client.Restore(ctx, orAll(args[0]))
			}))
}

func (c *diskControl) list(ctx context.Context, client *faultfs.Client, _ []string) error {
	disks, err := client.List(ctx)
	if err != nil {
		return err
	}
	w := tabwriter.NewWriter(c.env.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "disk\tsize\tclass\treads\twrites\tflushes\tunflushed\tfaults")
	for _, s := range disks {
		var faults []string
		for _, f := range s.Faults {
			faults = append(faults, f.Kind)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%d\t%d\t%s\t%s\n", s.Name, figure.Bytes(s.Size), cmp.Or(s.Device.Class, "-"), s.Reads,
			s.Writes, s.Flushes, figure.Bytes(s.Unflushed), cmp.Or(strings.Join(faults, " "), "-"))
	}
	return w.Flush()
}

func (c *diskControl) create() *cobra.Command {
	var size, cacheSize byteFlag
	var class, cacheClass string
	var device faultfs.Device
	var cache *faultfs.Cache
	cmd := c.command("create DISK --size SIZE", "Create a disk", exactlyOne("disk"),
		func(ctx context.Context, client *faultfs.Client, args []string) error {
			return client.Create(ctx, args[0], int64(size), device, cache)
		})
	cmd.PreRunE = func(*cobra.Command, []string) (err error) {
		device, cache, err = diskOfClass(class, cacheClass, int64(cacheSize))
		return withExit(exitUsage, err)
	}
	cmd.Flags().Var(&size, "size", "size of the disk, for example 10GiB")
	cmd.Flags().StringVar(&class, "class", "", "device `class` to simulate (default: as fast as this machine's disk)")
	cmd.Flags().StringVar(&cacheClass, "cache-class", "", "device `class` of a cache in front of the disk")
	cmd.Flags().Var(&cacheSize, "cache-size", "size of the cache")
	return cmd
}

func diskOfClass(class, cacheClass string, cacheSize int64) (d faultfs.Device, c *faultfs.Cache, err error) {
	if class != "" {
		if d, err = faultfs.Class(class); err != nil {
			return d, nil, err
		}
	}
	if (cacheClass == "") != (cacheSize == 0) {
		return d, nil, fmt.Errorf("a cache needs both --cache-class and --cache-size")
	}
	if cacheClass == "" {
		return d, nil, nil
	}
	c = &faultfs.Cache{Size: cacheSize}
	c.Device, err = faultfs.Class(cacheClass)
	return d, c, err
}

func (c *diskControl) set() *cobra.Command {
	var f faultfs.Fault
	var from, to byteFlag
	cmd := c.command("set DISK KIND", "Inject a fault: error, full, slow, hang, corrupt, torn, lie or dead",
		someArguments(false, "a disk", "the kind of a fault"),
		func(ctx context.Context, client *faultfs.Client, args []string) error {
			f.Kind, f.From, f.To = args[1], int64(from), int64(to)
			return client.Set(ctx, args[0], f)
		})
	cmd.Flags().StringSliceVar(&f.Ops, "ops", nil, "affected `requests`: read, write, flush (default: all that the kind applies to)")
	cmd.Flags().StringVar(&f.Errno, "errno", "", "`error` to return, for the kind error (default EIO)")
	cmd.Flags().DurationVar(&f.Delay, "delay", 0, "additional latency, for the kind slow")
	cmd.Flags().Float64Var(&f.Probability, "probability", 0, "share of affected requests, 0 to 1 (default: all)")
	cmd.Flags().Uint64Var(&f.Seed, "seed", 0, "seed of the choice of requests")
	cmd.Flags().Var(&from, "from", "first affected byte")
	cmd.Flags().Var(&to, "to", "end of the affected bytes")
	cmd.Flags().DurationVar(&f.Limit, "limit", 0, "time after which the fault is reverted (default: never)")
	return cmd
}

// orAll maps the word all to the empty name, which means all disks. No disk can have the name all.
func orAll(name string) string {
	if name == "all" {
		return ""
	}
	return name
}

func (c *diskControl) cut() *cobra.Command {
	var p faultfs.PowerCut
	var block byteFlag
	cmd := c.command("cut DISK|all", "Cut the power: unflushed data is lost, and the disk is dead until restore", exactlyOne("disk"),
		func(ctx context.Context, client *faultfs.Client, args []string) error {
			p.Block = int64(block)
			return client.Cut(ctx, orAll(args[0]), p)
		})
	cmd.Flags().Float64Var(&p.Keep, "keep", 0, "share of the unflushed data that survives, 0 to 1")
	cmd.Flags().Uint64Var(&p.Seed, "seed", 0, "seed of the choice of the data that survives")
	cmd.Flags().Var(&block, "block", "size of the pieces that survive or not (default 4KiB; 512B tears pages)")
	return cmd
}

type byteFlag spec.Size

func (b *byteFlag) String() string {
	if *b == 0 {
		return ""
	}
	return spec.Size(*b).String()
}
func (b *byteFlag) Type() string { return "size" }

func (b *byteFlag) Set(text string) error {
	size, err := spec.ParseSize(text)
	*b = byteFlag(size)
	return err
}
