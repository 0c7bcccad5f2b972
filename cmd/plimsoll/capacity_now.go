package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

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

// presentFlags are the flags of the present load of a deployment.
type presentFlags struct {
	now, growth string
	length      time.Duration

	load *record.PresentLoad // what was read, nil if nothing was asked
	rise *capacity.Growth    // nil if it is not given
}

// presentTarget is the value of --now without an address: the target of the search.
const presentTarget = "target"

func (f *presentFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&f.now, "now", "",
		"read the present load of a `deployment`, a recording or a directory diagnostic.data, and say how much of the line it is")
	flags.Lookup("now").NoOptDefVal = presentTarget
	flags.DurationVar(&f.length, "now-for", time.Minute, "`time` for which the present load is read")
	flags.StringVar(&f.growth, "growth", "", "`growth` of the load, to say when it reaches the line: 4%/month")
}

// take takes the address that --now has without an equals sign from the arguments.
func (f *presentFlags) take(args *[]string) {
	last := len(*args) - 1
	if f.now == presentTarget && last > 0 {
		f.now = (*args)[last]
	}
	if last > 0 && (*args)[last] == f.now {
		*args = (*args)[:last]
	}
}

// check checks the flags. A growth is that of a present load.
func (f *presentFlags) check() error {
	switch {
	case f.now == "" && f.growth != "":
		return usageError("--growth is that of the present load: add --now mongodb://HOST")
	case f.length < capture.PresentStep || f.length > 24*time.Hour:
		return usageError("--now-for is %v: it must be from %v to 24h", f.length, capture.PresentStep)
	case f.growth == "":
		return nil
	}
	g, err := capacity.ParseGrowth(f.growth)
	if err != nil {
		return usageError("--growth: %v", err)
	}
	f.rise = &g
	return nil
}

// read reads the present load, if it was asked. target is that of the search.
func (f *presentFlags) read(ctx context.Context, env *environment, target string) (err error) {
	switch f.now {
	case "":
		return nil
	case presentTarget:
		if f.now = target; strings.Contains(target, "***") {
			return usageError("the record has no credentials of %s: give its address, --now mongodb://USER:PASSWORD@HOST", store.Redact(target))
		}
	}
	f.load, err = readPresent(ctx, env, f.now, f.length)
	return err
}

// place places the present load beside the lines of a record, and keeps it there.
func (f *presentFlags) place(ctx context.Context, env *environment, dir string, c *record.Capacity) {
	if f.load == nil {
		return
	}
	placePresent(ctx, c, f.load, f.rise)
	if err := keepPresent(dir, c); err != nil {
		fmt.Fprintf(env.stderr, "the present load is not kept in the record: %v\n", err)
	}
}

// readPresent reads the present load of mongodb://…, of lab:NAME, or of a recording.
func readPresent(ctx context.Context, env *environment, from string,
	length time.Duration) (*record.PresentLoad, error) {
	uri := from
	if name, ok := spec.LabOf(from); ok {
		address, err := labAddress(ctx, env, name, "")
		if err != nil {
			return nil, err
		}
		uri = address
	} else if !strings.HasPrefix(from, "mongodb://") && !strings.HasPrefix(from, "mongodb+srv://") {
		if info, err := os.Stat(from); err == nil && info.IsDir() {
			d, err := readDiagnosis(ctx, env, from)
			if err != nil {
				return nil, withExit(exitUsage, err)
			}
			return capacity.PresentDiagnosis(d)
		}
		open := func() (io.ReadCloser, error) { return openRecorded(ctx, from) }
		p, err := capacity.PresentRecording(open, filepath.Base(from))
		if err != nil {
			return nil, usageError("--now %s is neither mongodb://HOST, nor lab:NAME, nor a recording, nor a directory diagnostic.data: %v", store.Redact(from), err)
		}
		return p, nil
	}
	fmt.Fprintf(env.stderr, "reading the load of %s for %v\n", store.Redact(from), length)
	p, err := capture.ReadPresent(ctx, uri, length)
	switch {
	case ctx.Err() != nil:
		return nil, withExit(exitInterrupted, errors.New("interrupted while the present load was read, so there is no answer"))
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
		open := func(name string) (io.ReadCloser, error) { return openRecorded(ctx, name) }
		mix, err = capacity.MixOf(c.Specification.Run, open)
	}
	capacity.Place(p, c, mix, err)
	if c.Now = p; growth != nil {
		growth.Reach(p)
	}
}

// capacityNow reads the present load beside the lines of an existing record, and prints both.
func capacityNow(ctx context.Context, env *environment, dir string, f *presentFlags, format string) error {
	if f.now == "" {
		return usageError("%s is the record of a capacity. Add --now mongodb://HOST to read the present load, or print the record with: "+
			"plimsoll show %[1]s", dir)
	}
	c, err := record.OpenCapacity(dir)
	if err != nil {
		return withExit(exitUsage, err)
	}
	target := ""
	if c.Specification != nil {
		target = c.Specification.Run.Target
	}
	ctx, stop := interruptible(ctx, env)
	defer stop()
	if err := f.read(ctx, env, target); err != nil {
		return err
	}
	f.place(ctx, env, dir, c)
	if err := printRecord(env.stdout, dir, c, format); err != nil {
		return err
	}
	if s := f.load.Share; s != nil && *s >= 1 {
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
