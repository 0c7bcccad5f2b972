package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/plimsoll-bench/plimsoll/disk"
	"github.com/plimsoll-bench/plimsoll/disk/files"
	"github.com/plimsoll-bench/plimsoll/measure/stats"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// The goals of the probe of disks.
const (
	diskRate  = 0.03 // largest relative difference of the rate from fio's
	diskCPU   = 1.2  // largest processor time per operation over fio's
	diskFlush = 0.05 // largest relative difference of the quantiles of a flush
	diskModel = 0.10 // largest relative difference of the group commit from its model
)

// diskTurn is the length of one turn of the probe or fio. It is short, so that the machine is the same for both of a
// pair.
const diskTurn = 1500 * time.Millisecond

// diskPlace is the directory of a comparison.
type diskPlace struct {
	dir, name        string
	pairs            int   // of turns, without the one that warms up
	readers, writers []int // numbers of threads
	// busy: the device takes so many requests that processor time per request, flushes and the kernel's counters are
	// compared too.
	busy bool
}

// diskPeers compares the probe with fio on the same file, alternating within one run, and the group commit with its
// model. It uses the disk of this directory and a virtual disk with fixed latencies, on which other load of the machine
// has little effect.
func diskPeers(ctx context.Context, w io.Writer, c config) error {
	if _, err := exec.LookPath("fio"); err != nil {
		return errors.New("fio is not installed: apt-get install fio")
	}
	dir, err := scratchIn(".") // the system's directory for temporary files may be memory
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	fmt.Fprintf(w, "\nDisk, compared with fio (psync) on the same file. Turns of %s in the order fio, probe, probe, fio; "+
		"the first pair warms up.\nThe figures are medians of the ratios of pairs with their 95 %% interval. Both write random "+
		"blocks (fio: refill_buffers); the probe also checks the data that it reads.\n", diskTurn)
	fmt.Fprintf(w, "Goals: rate ±%.0f %%, processor time ≤ %.1f, flush ±%.0f %%. Open: the median misses the goal, "+
		"the interval includes it.\n", 100*diskRate, diskCPU, 100*diskFlush)
	failed := diskCompare(ctx, w, diskPlace{dir: dir, name: "the disk of this directory", pairs: 3 * c.rounds,
		readers: []int{1, 4, 16}, writers: []int{1, 4, 16}, busy: true})
	return errors.Join(failed, fixedDisk(ctx, w, c))
}

func diskCompare(ctx context.Context, w io.Writer, at diskPlace) error {
	at.pairs += at.pairs % 2 // with the warm-up their number is odd, so the last turn is the probe's
	fmt.Fprintf(w, "On %s, %d pairs\n", at.name, at.pairs)
	for _, threads := range at.readers {
		if err := randomRatio(ctx, w, at, disk.Read, threads); err != nil {
			return err
		}
	}
	for _, threads := range at.writers {
		if err := randomRatio(ctx, w, at, disk.Write, threads); err != nil {
			return err
		}
	}
	if at.busy {
		if err := flushRatio(ctx, w, at); err != nil {
			return err
		}
		if err := compareIostat(ctx, w, at.dir); err != nil {
			return err
		}
	}
	return modelErrors(ctx, w, at.dir)
}

// turns calls before at the start of each step of a probe, when the probe has made its files.
type turns struct{ before func(text string) }

func (t turns) Step(text string)        { t.before(text) }
func (turns) Second(record.ProbeSecond) {}
func (turns) Note(string)               {}

// inTurns runs a probe and a peer in the order peer, probe, probe, peer, and so on. steps is the prefix of the names of
// the measured steps.
func inTurns(ctx context.Context, s record.ProbeSpec, steps string, peer func() error) (*record.Probe, error) {
	var failed error
	done := 0
	p, err := probeWith(ctx, s, func(text string) {
		if !strings.HasPrefix(text, steps) || failed != nil {
			return
		}
		due := 0 // turns of the peer before this step
		switch {
		case done == 0:
			due = 1
		case done%2 == 0:
			due = 2 // the second turn of the last pair, and the first one of this pair
		}
		for range due {
			failed = errors.Join(failed, peer())
		}
		done++
	})
	return p, errors.Join(err, failed)
}

func benchSpec(dir string) record.ProbeSpec {
	s := disk.Defaults(dir)
	s.Size, s.Segment, s.Duration = 256<<20, 64<<20, int64(diskTurn)
	return s
}

// probeWith runs a probe and calls a function before each of its steps.
func probeWith(ctx context.Context, s record.ProbeSpec, before func(text string)) (*record.Probe, error) {
	writer, err := record.CreateProbe("", &record.Probe{
		Specification: s, Head: record.Head{Environment: record.NewEnvironment(nil)},
	})
	if err != nil {
		return nil, err
	}
	err = disk.Run(ctx, disk.Options{Writer: writer, Progress: turns{before}})
	return writer.Probe, err
}

// fioJob has the compared part of fio's JSON. The processor time is that of the job's threads, without fio's start.
type fioJob struct {
	Read, Write fioSide
	Sync        struct {
		Lat struct {
			Percentile map[string]float64
		} `json:"lat_ns"`
	}
	User    float64 `json:"usr_cpu"`
	System  float64 `json:"sys_cpu"`
	Runtime float64 `json:"job_runtime"` // ms, of all threads together
}

type fioSide struct {
	IOPS  float64
	Total float64 `json:"total_ios"`
}

// perOperation is the processor time of one operation, in seconds.
func (j fioJob) perOperation() float64 {
	return (j.User + j.System) / 100 * j.Runtime / 1000 / (j.Read.Total + j.Write.Total)
}

func fio(ctx context.Context, args ...string) (fioJob, error) {
	cmd := exec.CommandContext(ctx, "fio", append([]string{"--name=plimsoll", "--ioengine=psync", "--time_based",
		fmt.Sprintf("--runtime=%dms", diskTurn.Milliseconds()), "--randrepeat=1", "--refill_buffers",
		"--output-format=json"}, args...)...)
	var out struct{ Jobs []fioJob }
	if err := runJSON(cmd, &out); err != nil {
		return fioJob{}, err
	}
	if len(out.Jobs) == 0 {
		return fioJob{}, errors.New("fio reported no job")
	}
	return out.Jobs[0], nil
}

func randomRatio(ctx context.Context, w io.Writer, at diskPlace, op string, threads int) error {
	s := benchSpec(at.dir)
	s.Profiles, s.Operations = []string{spec.ProbeRandom}, []string{op}
	s.Ramp = slices.Repeat([]int{threads}, 1+at.pairs)
	args := []string{"--rw=rand" + op, "--bs=4k", "--direct=1", "--norandommap", "--size=256m", "--thread",
		"--group_reporting", fmt.Sprintf("--numjobs=%d", threads)}
	if op == disk.Write {
		args = append(args, "--fdatasync=1")
	}
	var peer []fioJob
	p, err := inTurns(ctx, s, "random", func() error {
		found, err := filepath.Glob(filepath.Join(at.dir, files.Prefix+"*", files.Data))
		if err != nil || len(found) != 1 {
			return fmt.Errorf("the file of the probe was not found: %v", found)
		}
		job, err := fio(ctx, append(args, "--filename="+found[0])...)
		peer = append(peer, job)
		return err
	})
	if err != nil {
		return err
	}
	var rates, cpu []float64
	for i, step := range p.ProfileSteps(spec.ProbeRandom) {
		rates = append(rates, step.Rate/(peer[i].Read.IOPS+peer[i].Write.IOPS))
		cpu = append(cpu, step.CPUSeconds/float64(step.Operations)/peer[i].perOperation())
	}
	fmt.Fprintf(w, "  random %-5s %2d threads   rate %s", op, threads, paired(rates[1:], 1-diskRate, 1+diskRate))
	if at.busy {
		fmt.Fprintf(w, "   processor time %s", paired(cpu[1:], 0, diskCPU))
	}
	fmt.Fprintln(w)
	return nil
}

// paired words the median of the ratios of pairs, and whether it is between two bounds.
func paired(list []float64, low, high float64) string {
	logs := make([]float64, len(list))
	for i, x := range list {
		logs[i] = math.Log(x)
	}
	median, iv, ok := stats.MedianInterval(logs, 0.95)
	median = math.Exp(median)
	word := verdict(median >= low && median <= high)
	if !ok {
		return fmt.Sprintf("× %.3f (too few pairs to judge)", median)
	}
	from, to := math.Exp(iv.Low), math.Exp(iv.High)
	if word == verdict(false) && to >= low && from <= high {
		word = "open"
	}
	return fmt.Sprintf("× %.3f (%.3f to %.3f) %-6s", median, from, to, word)
}

// flushRatio compares the duration of fdatasync with one client. Each appends to its own reserved files. The files
// of fio are removed at the end, because discarding their blocks would slow down the next turn.
func flushRatio(ctx context.Context, w io.Writer, at diskPlace) error {
	s := benchSpec(at.dir)
	s.Profiles, s.Clients = []string{spec.ProbeJournal}, slices.Repeat([]int{1}, 1+at.pairs)
	var peer []fioJob
	var made []string
	p, err := inTurns(ctx, s, "journal", func() error {
		name := filepath.Join(at.dir, fmt.Sprintf("fio-%d", len(made)))
		made = append(made, name)
		job, err := fio(ctx, "--filename="+name, "--rw=write", "--bs=1k", "--fdatasync=1", "--fallocate=native",
			"--filesize=64m")
		peer = append(peer, job)
		return err
	})
	for _, name := range made {
		err = errors.Join(err, os.Remove(name))
	}
	if err != nil {
		return err
	}
	var p50, p99 []float64
	for i, step := range p.ProfileSteps(spec.ProbeJournal) {
		if step.SyncOnly == nil || step.SyncOnly.P50 == nil || step.SyncOnly.P99 == nil {
			return errors.New("too few flushes to compare them")
		}
		p50 = append(p50, float64(*step.SyncOnly.P50)/peer[i].Sync.Lat.Percentile["50.000000"])
		p99 = append(p99, float64(*step.SyncOnly.P99)/peer[i].Sync.Lat.Percentile["99.000000"])
	}
	fmt.Fprintf(w, "  journal flush, one client  p50 %s   p99 %s\n",
		paired(p50[1:], 1-diskFlush, 1+diskFlush), paired(p99[1:], 1-diskFlush, 1+diskFlush))
	return nil
}

// modelRepeats is the number of comparisons with the model for each number of clients. The middle one is shown.
const modelRepeats = 3

// modelErrors compares the group commit with its model.
func modelErrors(ctx context.Context, w io.Writer, dir string) error {
	s := benchSpec(dir)
	s.Profiles, s.Clients = []string{spec.ProbeJournal}, slices.Repeat([]int{1, 4, 16, 64}, modelRepeats)
	p, err := probeWith(ctx, s, func(string) {})
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "  group commit compared with its model, the middle of %d (goal ±%.0f %%)\n", modelRepeats, 100*diskModel)
	byClients := map[int][]record.ProbeStep{}
	for _, step := range p.ProfileSteps(spec.ProbeJournal) {
		if step.Model != nil && step.Latency != nil && step.Flush != nil {
			byClients[step.Clients] = append(byClients[step.Clients], step)
		}
	}
	for _, clients := range []int{1, 4, 16, 64} {
		list := byClients[clients]
		if len(list) == 0 {
			return fmt.Errorf("nothing was measured with %d clients", clients)
		}
		slices.SortFunc(list, func(a, b record.ProbeStep) int { return cmp.Compare(a.Model.Error, b.Model.Error) })
		step := list[len(list)/2]
		fmt.Fprintf(w, "  %3d clients  %8s measured, %8s by the model, %+5.1f %%  %-6s  flush %s\n", clients,
			short(time.Duration(step.Latency.Mean)), short(time.Duration(step.Model.Latency)),
			100*step.Model.Error, verdict(math.Abs(step.Model.Error) < diskModel), short(time.Duration(step.Flush.Mean)))
	}
	return nil
}
