package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/plimsoll-bench/plimsoll/workload"
)

// started has the duration of each start-up, by workload and distribution.
type started map[string]time.Duration

// playStart opens workloads over 10⁹ records and makes the first operation of 16 workers of each.
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
		fmt.Fprintf(w, "  %-14s %8.2f ms  %s\n", name, ms(got[name]), verdict(got[name] < 100*time.Millisecond))
	}
	return nil
}

// memory shows the memory of many workers, and whether it grows.
func memory(ctx context.Context, w io.Writer, c config) error {
	if err := memoryOf(ctx, w, c, 1024, 512<<10); err != nil {
		return err
	}
	return memoryOf(ctx, w, c, 10_000, 200e6>>10)
}

// memoryOf measures one number of workers. most is the goal in KiB.
func memoryOf(ctx context.Context, w io.Writer, c config, workers int, most int64) error {
	j := job{Client: clientWire, Operation: "read", Workers: workers, Rate: 5000, Memory: true,
		Duration: time.Duration(c.seconds) * time.Second}
	o, err := j.play(ctx, timing{})
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "\nMemory of %d workers with a connection each (wire, 5,000 operations/s, %d s; goal: under %.0f MiB)\n",
		workers, c.seconds, mib(most))
	fmt.Fprintf(w, "  peak (VmHWM) %.1f MiB  %s\n", mib(o.PeakKiB), verdict(o.PeakKiB < most))
	fmt.Fprintf(w, "  live heap %.1f MiB in the middle of the run, %.1f MiB in its last second: %s\n",
		mib(o.HalfKiB), mib(o.EndKiB), growth(o, c.seconds))
	fmt.Fprintf(w, "  %d operations, %d failed\n", o.Operations, o.Failed)
	return nil
}

// growth words the change of the live heap per hour. Less than 2 MiB is no growth: buffers and histograms are freed and
// allocated again all the time.
func growth(o outcome, seconds int) string {
	grown := mib(o.EndKiB - o.HalfKiB)
	if grown < 2 {
		return "it does not grow"
	}
	return fmt.Sprintf("%+.0f MiB per hour at this rate", grown/(float64(seconds)/2-1)*3600)
}

func mib(kib int64) float64 { return float64(kib) / 1024 }

func binarySize(ctx context.Context, w io.Writer, _ config) error {
	dir, err := scratchIn("")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	fmt.Fprintf(w, "\nSize of the binary (goal: under 80 MB)\n")
	for _, flags := range []string{"", "-s -w"} {
		path := filepath.Join(dir, "plimsoll")
		if err := buildPlimsoll(ctx, path, "-ldflags="+flags); err != nil {
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

// lateness shows the deviation of an open loop from its schedule.
func lateness(ctx context.Context, w io.Writer, c config) error {
	const rate = 20_000
	fmt.Fprintf(w, "\nOpen loop at %d operations/s for %d s (lateness: actual − intended send while a worker was free)\n",
		rate, c.seconds/2)
	for _, workers := range []int{16, 64} {
		j := job{Client: clientWire, Operation: "read", Workers: workers, Rate: rate,
			Duration: time.Duration(c.seconds/2) * time.Second}
		o, err := j.play(ctx, timing{})
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "  %3d workers: lateness p99 %s, %.0f operations/s done, %.1f µs CPU per operation, response p50 %s p99 %s\n",
			workers, short(o.Lateness), float64(o.Operations)/o.Seconds, o.CPUMicros,
			shortNS(o.Response, 0), shortNS(o.Response, 2))
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

func ms(d time.Duration) float64 { return d.Seconds() * 1e3 }
