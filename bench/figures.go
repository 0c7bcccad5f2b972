package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/plimsoll-bench/plimsoll/workload"
)

// started is what a start-up took, by distribution.
type started map[string]time.Duration

// playStart opens workloads over 10⁹ records and takes the first operation of 16 workers from each.
func playStart() error {
	out := started{}
	for _, distribution := range []string{"zipfian", "latest"} {
		for _, name := range []string{"core", "ycsb"} {
			begin := time.Now()
			w, err := workload.Open(workload.Spec{
				Name: name, Records: 1_000_000_000, Operations: 1_000_000, Seed: 1,
				Params: map[string]string{"requestdistribution": distribution},
			})
			if err != nil {
				return err
			}
			for worker := range 16 {
				var op workload.Op
				w.Stream(worker, 16).Next(&op)
			}
			out[name+", "+distribution] = time.Since(begin)
		}
	}
	return json.NewEncoder(os.Stdout).Encode(out)
}

// startUp shows how long it takes until the first operation on 10⁹ records is ready.
func startUp(ctx context.Context, w io.Writer, _ config) error {
	cmd, err := child(ctx, roleStart, nil)
	if err != nil {
		return err
	}
	var got started
	if err := runJSON(cmd, &got); err != nil {
		return err
	}
	fmt.Fprintf(w, "\nStart-up with 10⁹ records, until 16 workers have their first operation (goal: under 100 ms)\n")
	for _, name := range []string{"core, zipfian", "core, latest", "ycsb, zipfian", "ycsb, latest"} {
		fmt.Fprintf(w, "  %-14s %8.2f ms  %s\n", name, float64(got[name].Microseconds())/1e3, verdict(got[name] < 100*time.Millisecond))
	}
	return nil
}

// memories are the numbers of connections whose memory is shown, and the most that each may take, in KiB.
var memories = []struct {
	workers int
	most    int64
}{{1024, 512 << 10}, {10_000, 200e6 >> 10}}

// memory shows what many workers take, and whether it grows.
func memory(ctx context.Context, w io.Writer, c config) error {
	for _, m := range memories {
		if err := memoryOf(ctx, w, c, m.workers, m.most); err != nil {
			return err
		}
	}
	return nil
}

func memoryOf(ctx context.Context, w io.Writer, c config, workers int, most int64) error {
	addr, stop, err := startResponder(ctx, timing{})
	if err != nil {
		return err
	}
	defer stop()
	cmd, err := child(ctx, roleClient, job{
		Addr: addr, Client: clientWire, Operation: "read", Workers: workers, Rate: 5000,
		Duration: time.Duration(c.seconds) * time.Second, Memory: true,
	})
	if err != nil {
		return err
	}
	var o outcome
	if err := runJSON(cmd, &o); err != nil {
		return err
	}
	fmt.Fprintf(w, "\nMemory of %d workers with a connection each (wire, 5,000 operations/s, %d s; goal: under %.0f MiB)\n", workers, c.seconds, mib(most))
	fmt.Fprintf(w, "  peak (VmHWM) %.1f MiB  %s\n", mib(o.PeakKiB), verdict(o.PeakKiB < most))
	fmt.Fprintf(w, "  live heap %.1f MiB in the middle of the run, %.1f MiB in its last second: %s\n",
		mib(o.HalfKiB), mib(o.EndKiB), growth(o, c.seconds))
	fmt.Fprintf(w, "  %d operations, %d failed\n", o.Operations, o.Failed)
	return nil
}

// growth says what the change of the live heap would come to in an hour. Of less than 2 MiB nobody can
// tell whether it is a change at all: buffers and histograms are let go and made again.
func growth(o outcome, seconds int) string {
	grown := mib(o.EndKiB - o.HalfKiB)
	if grown < 2 {
		return "it does not grow"
	}
	return fmt.Sprintf("%+.0f MiB in an hour if that went on", grown/(float64(seconds)/2-1)*3600)
}

func mib(kib int64) float64 { return float64(kib) / 1024 }

// memoryKiB reads a figure of /proc/self/status, 0 where there is none.
func memoryKiB(field string) int64 {
	f, err := os.Open("/proc/self/status")
	if err != nil {
		return 0
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if rest, ok := strings.CutPrefix(lines.Text(), field+":"); ok {
			n, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(rest, "kB")), 10, 64)
			if err != nil {
				return 0
			}
			return n
		}
	}
	return 0
}

// binarySize shows the size of the program, as it is built and without symbols.
func binarySize(ctx context.Context, w io.Writer, _ config) error {
	dir, err := scratch("", "binary")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	fmt.Fprintf(w, "\nSize of the binary (goal: under 80 MB)\n")
	for _, flags := range []string{"", "-s -w"} {
		path := filepath.Join(dir, "plimsoll")
		cmd := exec.CommandContext(ctx, "go", "build", "-ldflags="+flags, "-o", path, "github.com/plimsoll-bench/plimsoll/cmd/plimsoll")
		if err := build("plimsoll", "run go build ./cmd/plimsoll", cmd); err != nil {
			return err
		}
		info, err := os.Stat(path)
		if err != nil {
			return err
		}
		name := "as built"
		if flags != "" {
			name = "without symbols"
		}
		fmt.Fprintf(w, "  %-16s %5.1f MB  %s\n", name, float64(info.Size())/1e6, verdict(info.Size() < 80e6))
	}
	return nil
}

// lateness shows how exactly an open loop keeps its schedule at 20,000 operations per second.
func lateness(ctx context.Context, w io.Writer, c config) error {
	addr, stop, err := startResponder(ctx, timing{})
	if err != nil {
		return err
	}
	defer stop()
	const rate = 20_000
	fmt.Fprintf(w, "\nOpen loop at %d operations/s for %d s (lateness: actual − intended send while a worker was free)\n", rate, c.seconds/2)
	for _, workers := range []int{16, 64} {
		cmd, err := child(ctx, roleClient, job{
			Addr: addr, Client: clientWire, Operation: "read", Workers: workers, Rate: rate, Duration: time.Duration(c.seconds/2) * time.Second,
		})
		if err != nil {
			return err
		}
		var o outcome
		if err := runJSON(cmd, &o); err != nil {
			return err
		}
		fmt.Fprintf(w, "  %3d workers: lateness p99 %s, %.0f operations/s done, %.1f µs CPU per operation, response p50 %s p99 %s\n",
			workers, short(o.Lateness), float64(o.Operations)/o.Seconds, o.CPUMicros, shortNS(o.Response, 0), shortNS(o.Response, 2))
	}
	return nil
}

func shortNS(values []int64, i int) string {
	if i >= len(values) {
		return "–"
	}
	return short(time.Duration(values[i]))
}

func short(d time.Duration) string { return d.Round(time.Microsecond).String() }
