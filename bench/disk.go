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

	"github.com/plimsoll-bench/plimsoll/disk"
	"github.com/plimsoll-bench/plimsoll/disk/files"
	"github.com/plimsoll-bench/plimsoll/record"
)

// The goals of the probe of disks.
const (
	diskRate  = 0.03 // the rate may differ from fio's by this share
	diskCPU   = 1.2  // processor time per operation over fio's
	diskFlush = 0.05 // quantiles of a flush
	diskModel = 0.10 // measured over the model of the group commit
)

// fioJob is what of fio's JSON is compared.
type fioJob struct {
	Read, Write fioSide
	Sync        struct {
		Lat struct {
			Percentile map[string]float64
		} `json:"lat_ns"`
	}
	User   float64 `json:"usr_cpu"`
	System float64 `json:"sys_cpu"`
}

type fioSide struct{ IOPS float64 }

// diskPeers shows the probe beside fio on the same file, in turns within one run, and the group commit beside its model.
func diskPeers(ctx context.Context, w io.Writer, c config) error {
	if _, err := exec.LookPath("fio"); err != nil {
		return errors.New("fio is not installed: apt-get install fio")
	}
	dir, err := os.MkdirTemp(".", "plimsoll-bench-disk-") // the system's directory for temporary files may be memory
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	fmt.Fprintf(w, "\nDisk, beside fio (psync) on the same file in turns, medians of the ratios of %d rounds (goals: rate ±3 %%, processor time ≤ 1.2, flush ±5 %%)\n", c.rounds)
	for _, op := range []string{disk.Read, disk.Write} {
		for _, threads := range []int{1, 4, 16} {
			if err := randomRatio(ctx, w, dir, op, threads, c.rounds); err != nil {
				return err
			}
		}
	}
	if err := flushRatio(ctx, w, dir, c.rounds); err != nil {
		return err
	}
	return modelErrors(ctx, w, dir)
}

// turns runs fio before each step of a probe, when the probe's files are there.
type turns struct{ before func(file string) }

func (t turns) Step(text string)        { t.before(text) }
func (turns) Second(record.ProbeSecond) {}
func (turns) Note(string)               {}
func benchSpec(dir string) record.ProbeSpec {
	s := disk.Defaults(dir)
	s.Size, s.Duration = 256<<20, int64(2*time.Second)
	return s
}

// probeWith runs a probe whose steps alternate with something else.
func probeWith(ctx context.Context, s record.ProbeSpec, before func(file string)) (*record.Probe, error) {
	writer, err := record.CreateProbe("", &record.Probe{Specification: s, Environment: record.NewEnvironment(nil)})
	if err != nil {
		return nil, err
	}
	err = disk.Run(ctx, disk.Options{Writer: writer, Progress: turns{before}})
	return writer.Probe, err
}

// fio runs a job and reads what it says.
func fio(ctx context.Context, args ...string) (fioJob, error) {
	cmd := exec.CommandContext(ctx, "fio", append([]string{"--name=plimsoll", "--ioengine=psync", "--time_based", "--runtime=2", "--randrepeat=0", "--output-format=json"}, args...)...)
	var out struct{ Jobs []fioJob }
	if err := runJSON(cmd, &out); err != nil {
		return fioJob{}, err
	}
	if len(out.Jobs) == 0 {
		return fioJob{}, errors.New("fio reported no job")
	}
	return out.Jobs[0], nil
}

func randomRatio(ctx context.Context, w io.Writer, dir, op string, threads, rounds int) error {
	s := benchSpec(dir)
	s.Profiles, s.Operations = []string{record.ProbeRandom}, []string{op}
	s.Ramp = slices.Repeat([]int{threads}, rounds)
	var peer []fioJob
	var failed error
	p, err := probeWith(ctx, s, func(text string) {
		found, _ := filepath.Glob(filepath.Join(dir, files.Prefix+"*", files.Data))
		if len(text) < 6 || text[:6] != "random" || len(found) != 1 {
			return
		}
		args := []string{"--filename=" + found[0], "--rw=rand" + op, "--bs=4k", "--direct=1", "--norandommap", "--size=256m", "--refill_buffers", "--thread", "--group_reporting", fmt.Sprintf("--numjobs=%d", threads)}
		if op == disk.Write {
			args = append(args, "--fdatasync=1")
		}
		job, err := fio(ctx, args...)
		failed = errors.Join(failed, err)
		peer = append(peer, job)
	})
	if err := errors.Join(err, failed); err != nil {
		return err
	}
	var rates, cpu []float64
	for i, step := range p.ProfileSteps(record.ProbeRandom) {
		iops := peer[i].Read.IOPS + peer[i].Write.IOPS
		rates = append(rates, step.Rate/iops)
		cpu = append(cpu, step.CPUSeconds/float64(step.Operations)/((peer[i].User+peer[i].System)/100*float64(threads)/iops))
	}
	r, u := middle(rates), middle(cpu)
	fmt.Fprintf(w, "  random %-5s %2d threads   rate × %.3f %s   processor time × %.2f %s\n", op, threads, r, verdict(r > 1-diskRate && r < 1+diskRate), u, verdict(u <= diskCPU))
	return nil
}

func middle(list []float64) float64 {
	slices.Sort(list)
	return list[len(list)/2]
}

// flushRatio compares the time of fdatasync with one client.
func flushRatio(ctx context.Context, w io.Writer, dir string, rounds int) error {
	s := benchSpec(dir)
	s.Profiles, s.Clients = []string{record.ProbeJournal}, slices.Repeat([]int{1}, rounds)
	var peer []fioJob
	var failed error
	p, err := probeWith(ctx, s, func(text string) {
		if len(text) < 7 || text[:7] != "journal" {
			return
		}
		name := filepath.Join(dir, "fio")
		job, err := fio(ctx, "--filename="+name, "--rw=write", "--bs=1k", "--fdatasync=1", "--fallocate=native", "--filesize=100m", "--refill_buffers")
		failed = errors.Join(failed, err, os.Remove(name))
		peer = append(peer, job)
	})
	if err := errors.Join(err, failed); err != nil {
		return err
	}
	var p50, p99 []float64
	for i, step := range p.ProfileSteps(record.ProbeJournal) {
		if step.SyncOnly == nil || step.SyncOnly.P50 == nil || step.SyncOnly.P99 == nil {
			return errors.New("too few flushes to compare them")
		}
		p50 = append(p50, float64(*step.SyncOnly.P50)/peer[i].Sync.Lat.Percentile["50.000000"])
		p99 = append(p99, float64(*step.SyncOnly.P99)/peer[i].Sync.Lat.Percentile["99.000000"])
	}
	a, b := middle(p50), middle(p99)
	near := func(x float64) bool { return x > 1-diskFlush && x < 1+diskFlush }
	fmt.Fprintf(w, "  journal flush, one client   p50 × %.3f %s   p99 × %.3f %s\n", a, verdict(near(a)), b, verdict(near(b)))
	return nil
}

// modelErrors holds the group commit against its model.
func modelErrors(ctx context.Context, w io.Writer, dir string) error {
	s := benchSpec(dir)
	s.Profiles, s.Clients = []string{record.ProbeJournal}, []int{1, 4, 16, 64}
	p, err := probeWith(ctx, s, func(string) {})
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "Group commit, measured over its model (goal: ±10 %%)\n")
	for _, step := range p.ProfileSteps(record.ProbeJournal) {
		if step.Model == nil || step.Latency == nil {
			continue
		}
		fmt.Fprintf(w, "  %3d clients  %s measured, %s by the model, %+.1f %%  %s\n", step.Clients, time.Duration(step.Latency.Mean).Round(time.Microsecond),
			time.Duration(step.Model.Latency).Round(time.Microsecond), 100*step.Model.Error, verdict(step.Model.Error < diskModel && step.Model.Error > -diskModel))
	}
	return nil
}
