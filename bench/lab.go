package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"github.com/plimsoll-bench/plimsoll/lab"
	"github.com/plimsoll-bench/plimsoll/lab/engine"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// The goals of a lab.
const (
	labUsableGoal  = 5 * time.Second // three members with elect-fast
	labRemovedGoal = 3 * time.Second
	labCPUGoal     = 0.02 // of one core, during a run
)

// labRounds is the number of labs that are made and removed. The result is the median.
const labRounds = 3

// labCost measures how long a replica set of three takes to start and to be removed, and the processor time of its
// supervisor during a run.
func labCost(ctx context.Context, w io.Writer, c config) error {
	dir, err := scratchIn("")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	b := labBench{home: filepath.Join(dir, "home"), binary: filepath.Join(dir, "plimsoll"), dir: dir}
	if err := b.prepare(ctx); err != nil {
		return err
	}
	var up, down []time.Duration
	share := 0.0
	for round := range labRounds {
		usable, removed, cpu, err := b.round(ctx, round == labRounds-1, c.seconds)
		if err != nil {
			return err
		}
		up, down, share = append(up, usable), append(down, removed), max(share, cpu)
	}
	slices.Sort(up)
	slices.Sort(down)
	u, d := up[len(up)/2], down[len(down)/2]
	fmt.Fprintf(w, "\nLab of three members of documentdb on plain hosts, elect-fast; median of %d\n", labRounds)
	fmt.Fprintf(w, "  usable      %6.2f s   goal %v: %s\n", u.Seconds(), labUsableGoal, verdict(u < labUsableGoal))
	fmt.Fprintf(w, "  removed     %6.2f s   goal %v: %s\n", d.Seconds(), labRemovedGoal, verdict(d < labRemovedGoal))
	fmt.Fprintf(w, "  supervisor  %6.2f %%   of a core during a run of %d s, goal %.0f %%: %s\n",
		share*100, c.seconds, labCPUGoal*100, verdict(share < labCPUGoal))
	return nil
}

// labBench is a home directory for labs of the benchmark.
type labBench struct{ home, binary, dir string }

func (b labBench) prepare(ctx context.Context) error {
	if err := buildPlimsoll(ctx, b.binary); err != nil {
		return err
	}
	installed, err := engine.DefaultHome(os.Getenv)
	if err != nil {
		return err
	}
	return errors.Join(os.Mkdir(b.home, 0o700), os.Symlink(filepath.Join(installed, "engines"), filepath.Join(b.home, "engines")))
}

// round makes and removes a lab. With run it loads the lab in between and measures the supervisor.
func (b labBench) round(ctx context.Context, run bool, seconds int) (
	usable, removed time.Duration, cpu float64, err error) {
	asked := spec.Lab{Name: "bench", Engine: spec.Engine{Name: engine.DocumentDB},
		Topology: spec.Topology{Kind: spec.LabReplicaSet, Members: 3, Election: "elect-fast"}}
	if err := asked.Complete(); err != nil {
		return 0, 0, 0, err
	}
	begin := time.Now()
	h, err := lab.Up(ctx, asked, lab.Options{Home: b.home, Executable: b.binary})
	if err != nil {
		return 0, 0, 0, err
	}
	defer h.Close()
	usable = time.Since(begin)
	if run {
		cpu, err = b.supervisorShare(ctx, h, seconds)
	}
	begin = time.Now()
	err = errors.Join(err, lab.Down(context.WithoutCancel(ctx), b.home, asked.Name, nil))
	return usable, time.Since(begin), cpu, err
}

// supervisorShare is the share of a core that the supervisor uses during a run, which polls the lab once a second.
func (b labBench) supervisorShare(ctx context.Context, h *lab.Handle, seconds int) (float64, error) {
	pid, err := lab.SupervisorPID(h.Dir())
	if err != nil {
		return 0, err
	}
	before, err := processorTime(pid)
	if err != nil {
		return 0, err
	}
	begin := time.Now()
	cmd := exec.CommandContext(ctx, b.binary, "run", "lab:"+h.Name(), "--workload", "a", "--records", "1000",
		"--threads", "2", "--duration", fmt.Sprintf("%ds", seconds), "--quiet", "--out", filepath.Join(b.dir, "record"))
	cmd.Env = append(os.Environ(), "PLIMSOLL_HOME="+b.home)
	out, err := cmd.CombinedOutput()
	if code := cmd.ProcessState.ExitCode(); code != 0 && code != 6 {
		return 0, fmt.Errorf("the run failed: %w\n%s", err, out)
	}
	took := time.Since(begin)
	after, err := processorTime(pid)
	return (after - before).Seconds() / took.Seconds(), err
}
