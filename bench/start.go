package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"text/tabwriter"
)

// startRuns is how often each program is started in a round.
const startRuns = 5

// startCost compares what the release of plimsoll needs to print its version with what the go command needs for that.
func startCost(ctx context.Context, w io.Writer, c config) error {
	dir, err := scratchIn("")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	source, err := sourceDir(ctx)
	if err != nil {
		return err
	}
	program, usage := filepath.Join(dir, "plimsoll"), filepath.Join(dir, "usage")
	for out, pkg := range map[string]string{program: "../cmd/plimsoll", usage: "./usage"} {
		cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags=-s -w", "-o", out, pkg)
		cmd.Dir, cmd.Env = source, append(os.Environ(), "CGO_ENABLED=0")
		if err := build(pkg, "see the message of go", cmd); err != nil {
			return err
		}
	}
	goCommand, err := exec.LookPath("go")
	if err != nil {
		return err
	}
	programs := []struct{ name, path string }{{"plimsoll version", program}, {"go version", goCommand}}
	cpu, elapsed, memory := figures{}, figures{}, figures{}
	for range c.rounds * startRuns {
		for _, p := range programs {
			out, err := exec.CommandContext(ctx, usage, p.path, "version").Output()
			if err != nil {
				return fmt.Errorf("%s: %w", p.name, err)
			}
			var us, all, kib float64
			var code int
			if _, err := fmt.Sscan(string(out), &us, &all, &kib, &code); err != nil || code != 0 {
				return fmt.Errorf("%s ended with %d: %s", p.name, code, out)
			}
			cpu[p.name] = append(cpu[p.name], us/1e3)
			elapsed[p.name] = append(elapsed[p.name], all/1e3)
			memory[p.name] = append(memory[p.name], kib/1024)
		}
	}
	fmt.Fprintf(w, "\nStart: what it takes to print the version, median of %d\n", c.rounds*startRuns)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "\tCPU ms\tms\tpeak MiB\tfile MB\t")
	var size []float64
	for _, p := range programs {
		info, err := os.Stat(p.path)
		if err != nil {
			return err
		}
		size = append(size, float64(info.Size())/1e6)
		fmt.Fprintf(t, "%s\t%.1f\t%.1f\t%.1f\t%.1f\t\n", p.name, cpu.median(p.name), elapsed.median(p.name), memory.median(p.name), size[len(size)-1])
	}
	ratio := func(f figures) float64 { return f.median(programs[0].name) / f.median(programs[1].name) }
	fmt.Fprintf(t, "ratio\t%.2f\t%.2f\t%.2f\t%.2f\t\n", ratio(cpu), ratio(elapsed), ratio(memory), size[0]/size[1])
	return t.Flush()
}
