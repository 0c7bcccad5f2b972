package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/plimsoll-bench/plimsoll/capacity"
	"github.com/plimsoll-bench/plimsoll/internal/permit"
	"github.com/plimsoll-bench/plimsoll/internal/safeopen"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
	"github.com/plimsoll-bench/plimsoll/store"
	"github.com/plimsoll-bench/plimsoll/workload/capture"
	"github.com/plimsoll-bench/plimsoll/workload/recorded"
)

func newCapacityCommand(env *environment) *cobra.Command {
	var f presentFlags
	var format string
	cmd := &cobra.Command{
		Use:   "capacity DIR --now DEPLOYMENT",
		Short: "Say how much of its load line a deployment carries now",
		Long: `Read the present load of a deployment for a minute, and say how much it is of the load line in DIR, the record
of a capacity.

DEPLOYMENT is mongodb://HOST, lab:NAME or the file of a recording. The counters of all members are read, or of
all routers of a cluster. Reads of the oplog, mirrored reads, heartbeats and monitoring are not counted. If the
operations are not those of the workload that was measured, the output says how they differ and between which
ends the share is. The record keeps the present load, and its page shows it.

Exit codes: 0 below the line, 1 failed, 2 usage error or unreadable record, 4 at the line or above,
3 deployment unreachable, 130 interrupted.`,
		Example: `  plimsoll capacity my-capacity --now mongodb://db1,db2,db3/?replicaSet=rs0
  plimsoll capacity my-capacity --now lab:three --growth 4%/month`,
		Args: cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.take(&args); err != nil {
				return err
			}
			return capacityNow(cmd.Context(), env, args[0], &f, format)
		},
	}
	f.add(cmd.Flags())
	formatFlag(cmd.Flags(), &format, "result", "text", "md", "json")
	return cmd
}

// presentFlags are the flags of the present load of a deployment.
type presentFlags struct {
	now, growth string
	length      time.Duration
}

// presentTarget is the value of --now without an address: the target of the search.
const presentTarget = "target"

func (f *presentFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&f.now, "now", "", "read the present load of a `deployment` or a recording, and say how much of the line it is")
	flags.Lookup("now").NoOptDefVal = presentTarget
	flags.DurationVar(&f.length, "now-for", time.Minute, "`time` for which the present load is read")
	flags.StringVar(&f.growth, "growth", "", "`growth` of the load, to say when it reaches the line: 4%/month")
}

// take takes the address that --now has without an equals sign from the arguments.
func (f *presentFlags) take(args *[]string) error {
	switch last := len(*args) - 1; {
	case last < 1:
	case f.now != presentTarget:
		return usageError("give one record or target, not %d", last+1)
	default:
		f.now, *args = (*args)[last], (*args)[:last]
	}
	return nil
}

// check checks the flags, and returns the growth of the load, nil if it is not given.
func (f *presentFlags) check() (*capacity.Growth, error) {
	switch {
	case f.now == "":
		return nil, usageError("name the deployment whose load is read: --now mongodb://HOST")
	case f.length < capture.PresentStep || f.length > 24*time.Hour:
		return nil, usageError("--now-for is %v: it must be from %v to 24h", f.length, capture.PresentStep)
	case f.growth == "":
		return nil, nil
	}
	g, err := capacity.ParseGrowth(f.growth)
	if err != nil {
		return nil, usageError("--growth: %v", err)
	}
	return &g, nil
}

// readPresent reads the present load of mongodb://…, of lab:NAME, or of a recording.
func readPresent(ctx context.Context, env *environment, from string, length time.Duration) (*record.PresentLoad, error) {
	uri := from
	if name, ok := spec.LabOf(from); ok {
		address, err := labAddress(ctx, env, name, "")
		if err != nil {
			return nil, err
		}
		uri = address
	} else if !strings.HasPrefix(from, "mongodb://") && !strings.HasPrefix(from, "mongodb+srv://") {
		p, err := capacity.PresentRecording(func() (io.ReadCloser, error) { return openRecorded(ctx, from) }, filepath.Base(from))
		if err != nil {
			return nil, usageError("--now %s is neither mongodb://HOST, nor lab:NAME, nor a recording: %v", store.Redact(from), err)
		}
		return p, nil
	}
	fmt.Fprintf(env.stderr, "reading the load of %s for %v\n", store.Redact(from), length)
	p, err := capture.ReadPresent(ctx, uri, length)
	switch {
	case ctx.Err() != nil:
		return nil, withExit(exitInterrupted, errors.New("interrupted while the present load was read; nothing is known of it"))
	case err != nil:
		return nil, withExit(exitUnreachable, fmt.Errorf("cannot read the present load of %s: %s. Check host, port, user and password; "+
			"the user needs the role clusterMonitor", store.Redact(from), store.OneLine(store.Redact(err.Error()))))
	}
	for i := range p.Unread {
		p.Unread[i] = store.OneLine(store.Redact(p.Unread[i]))
	}
	return capacity.PresentOf(p, store.Redact(from)), nil
}

// openRecorded opens a recording that the user or a record names.
func openRecorded(ctx context.Context, name string) (io.ReadCloser, error) {
	if err := permit.Check(ctx, permit.Read, name); err != nil {
		return nil, err
	}
	return safeopen.OpenLimited(name, recorded.MaxRecording)
}

// placePresent places a present load beside the line of a capacity.
func placePresent(ctx context.Context, c *record.Capacity, p *record.PresentLoad, growth *capacity.Growth) {
	var mix capacity.Mix
	err := errors.New("the record has no specification")
	if c.Specification != nil {
		mix, err = capacity.MixOf(c.Specification.Run, func(name string) (io.ReadCloser, error) { return openRecorded(ctx, name) })
	}
	capacity.Place(p, c, mix, err)
	if c.Now = p; growth != nil {
		growth.Reach(p)
	}
}

// capacityNow reads the present load beside the lines of an existing record, prints both, and keeps the load in the
// record.
func capacityNow(ctx context.Context, env *environment, dir string, f *presentFlags, format string) error {
	growth, err := f.check()
	if err != nil {
		return err
	}
	c, err := record.OpenCapacity(dir)
	if err != nil {
		return withExit(exitUsage, err)
	}
	if f.now == presentTarget && c.Specification != nil {
		f.now = c.Specification.Run.Target
	}
	ctx, stop := interruptible(ctx, env)
	defer stop()
	p, err := readPresent(ctx, env, f.now, f.length)
	if err != nil {
		return err
	}
	placePresent(ctx, c, p, growth)
	if err := keepPresent(dir, c); err != nil {
		fmt.Fprintf(env.stderr, "the present load is not kept in the record: %v\n", err)
	}
	if err := printResult(env.stdout, c, format); err != nil {
		return err
	}
	if p.Share != nil && *p.Share >= 1 {
		return withExit(exitObjective, errSilent)
	}
	return nil
}

// keepPresent writes the present load into the record of a search that has ended. It keeps no record that somebody
// changed, because it would get new checksums.
func keepPresent(dir string, c *record.Capacity) error {
	if slices.ContainsFunc(c.Validity, func(f measure.Finding) bool { return f.ID == "altered" || f.ID == "unsummed" }) {
		return errors.New("its checksums are missing or do not match")
	}
	if c.Status != record.Complete || c.Specification == nil {
		return fmt.Errorf("the search is not complete (%s)", c.Status)
	}
	release, err := record.Hold(dir)
	if err != nil {
		return err
	}
	defer release()
	w, err := record.Continue[*record.Capacity](dir, *c.Specification)
	if err != nil {
		return err
	}
	defer w.Close()
	return w.Write(c)
}
