package main

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/plimsoll-bench/plimsoll/disk"
	"github.com/plimsoll-bench/plimsoll/disk/files"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/run"
	"github.com/plimsoll-bench/plimsoll/spec"
	"github.com/plimsoll-bench/plimsoll/study/judge"
)

// firstDiskLook is the number of blocks after which two disks are judged for the first time, then after twice as many,
// as a study until decided is. A block is four probes: A B B A or B A A B.
const firstDiskLook = 4

// shortProbe makes a probe that can be repeated often: few steps for each use, in files that are made quickly.
func shortProbe(s *record.ProbeSpec) {
	s.Profiles = disk.Profiles()[:3]
	s.Operations, s.Ramp, s.Threads = []string{disk.Read}, []int{1, 16}, 16
	s.Clients = []int{1, 64}
	s.Duration, s.Size, s.Dirty = int64(2*time.Second), 256<<20, 32<<20
}

// alternate probes two directories in turn until it is known which is better for each use, and prints the comparison.
func (f *diskFlags) alternate(cmd *cobra.Command, env *environment, dirs []string) error {
	for _, name := range []string{"witness", "fault-socket", "predict", "no-record", "web", "iostat"} {
		if cmd.Flags().Changed(name) {
			return usageError("--%s is for one directory. Remove it, or give one directory", name)
		}
	}
	limit, err := spec.ParseDuration(f.limit)
	if err != nil || limit <= 0 {
		return usageError("--for %s: give a time such as 15m", f.limit)
	}
	a := &diskTurns{flags: f, out: cmp.Or(f.out, run.NewRecordDir("disks", env.now())), until: env.now().Add(limit.Std())}
	for _, dir := range dirs {
		if err := files.Refuse(dir); err != nil && !f.force {
			return withExit(exitUsage, err)
		}
		s := disk.Defaults(dir)
		shortProbe(&s)
		if s, err = f.specOf(cmd, s); err != nil {
			return err
		}
		a.specs = append(a.specs, s)
	}
	ctx, stop := untilInterrupt(cmd.Context(), env)
	defer stop()
	result, err := a.perform(ctx, env)
	if err != nil {
		return diskError(err)
	}
	kept := filepath.Join(a.out, "comparison")
	if err := record.WriteComparison(kept, result); err != nil {
		return err
	}
	if err := printRecord(env.stdout, kept, result, f.format); err != nil {
		return err
	}
	if !f.quiet {
		fmt.Fprintf(env.stderr, "records: %s\n", a.out)
	}
	if ctx.Err() != nil {
		return ending(record.Ended)
	}
	return ending(judge.ConcludeComparison(result))
}

// diskTurns probes two disks in turn.
type diskTurns struct {
	flags   *diskFlags
	specs   []record.ProbeSpec
	out     string
	until   time.Time
	longest time.Duration // of a block of four probes
	n       int           // probes so far
}

// sides are the directories of the probes of each disk.
func (a *diskTurns) sides() []string {
	return []string{filepath.Join(a.out, "A"), filepath.Join(a.out, "B")}
}

func (a *diskTurns) perform(ctx context.Context, env *environment) (*record.ComparisonReport, error) {
	level, look := 1-judge.DefaultConfidence, firstDiskLook
	for block := 1; ; block++ {
		began := env.now()
		order := []int{0, 1, 1, 0}
		if rand.IntN(2) == 1 {
			order = []int{1, 0, 0, 1}
		}
		for _, i := range order {
			if err := a.probe(ctx, env, i); err != nil {
				return nil, err
			}
			if ctx.Err() != nil {
				return a.judge(level / 2)
			}
		}
		a.longest = max(a.longest, env.now().Sub(began))
		last := env.now().Add(a.longest).After(a.until)
		if block < look && !last {
			continue
		}
		look *= 2
		level /= 2 // this look has half of what is left
		result, err := a.judge(level)
		if err != nil || last || !slices.ContainsFunc(result.Comparisons, func(c record.Comparison) bool {
			return c.Verdict == record.Inconclusive
		}) {
			return result, err
		}
	}
}

func (a *diskTurns) judge(level float64) (*record.ComparisonReport, error) {
	return judge.CompareProbes(a.sides(), judge.CompareOptions{Tool: tool(), Level: level,
		Names: []string{a.specs[0].Directory, a.specs[1].Directory}})
}

// probe makes one probe of a disk.
func (a *diskTurns) probe(ctx context.Context, env *environment, i int) error {
	a.n++
	asked := a.specs[i]
	asked.Seed = 1 + rand.Uint64N(1<<53-1)
	dir := filepath.Join(a.sides()[i], fmt.Sprintf("%04d", a.n))
	w, err := record.CreateProbe(dir, newProbe(env, asked))
	if err != nil {
		return err
	}
	if !a.flags.quiet {
		fmt.Fprintf(env.stderr, "probe %s of %s\n", strconv.Itoa(a.n), asked.Directory)
	}
	err = disk.Run(ctx, disk.Options{Writer: w, Progress: newDiskProgress(env, true, false)})
	return cmp.Or(err, endProbe(ctx, env, w, err))
}
