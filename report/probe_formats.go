package report

import (
	"encoding/csv"
	"fmt"
	"io"

	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
)

// probeCSV writes one line per step, the first line being the header. Times are in microseconds; a field is empty where
// there are too few values to state it, or where it does not belong to the step.
func probeCSV(w io.Writer, p *record.Probe) error {
	out := csv.NewWriter(w)
	header := []string{"started", "directory", "filesystem", "status", "validity", "verdict", "profile", "operation", "threads", "clients", "block", "mode", "sync",
		"seconds", "operations", "op_per_s", "bytes_per_s", "flushes", "flushes_per_sync", "writes_per_sync", "model_us", "cpu_seconds"}
	for _, kind := range []string{"latency", "flush"} {
		for _, q := range []string{"mean", "p50", "p99", "p99.9", "max"} {
			header = append(header, kind+"_"+q+"_us")
		}
	}
	if err := out.Write(header); err != nil {
		return err
	}
	worst := "valid"
	if s := measure.Worst(p.Validity); s == measure.Invalid || s == measure.Warning {
		worst = string(s)
	}
	for _, s := range p.Steps {
		if err := out.Write(probeRow(p, s, worst)); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}

func probeRow(p *record.Probe, s record.ProbeStep, worst string) []string {
	flushes, writes, model := "", "", ""
	if len(s.Devices) > 0 {
		if f := s.Devices[0].FlushesPerSync; f != nil {
			flushes = number(*f)
		}
		if w := s.Devices[0].WritesPerSync; w != nil {
			writes = number(*w)
		}
	}
	if s.Model != nil {
		model = number(float64(s.Model.Latency) / 1e3)
	}
	row := []string{p.Started.UTC().Format("2006-01-02T15:04:05Z"), p.Specification.Directory, p.Storage.Filesystem,
		string(p.Status), worst, string(p.Verdict), s.Profile, s.Operation,
		integer(int64(s.Threads)), integer(int64(s.Clients)), integer(s.Block), s.Mode, s.Sync, number(s.Seconds),
		integer(s.Operations), number(s.Rate), number(s.BytesRate),
		integer(s.Flushes), flushes, writes, model, number(s.CPUSeconds)}
	for _, l := range []*record.Latency{s.Latency, s.Flush} {
		if l == nil {
			row = append(row, make([]string, 5)...)
			continue
		}
		row = append(row, number(l.Mean/1e3))
		for _, q := range []*int64{l.P50, l.P99, l.P999, &l.Max} {
			cell := ""
			if q != nil {
				cell = number(float64(*q) / 1e3)
			}
			row = append(row, cell)
		}
	}
	return row
}

// probeBench writes each step in the format of Go benchmarks, which benchstat compares.
func probeBench(w io.Writer, p *record.Probe) error {
	fmt.Fprintf(w, "goos: %s\ngoarch: %s\n", p.Environment.OS, p.Environment.Arch)
	if p.Environment.CPU != "" {
		fmt.Fprintf(w, "cpu: %s\n", p.Environment.CPU)
	}
	if measure.Worst(p.Validity) == measure.Invalid {
		fmt.Fprintln(w, "validity: invalid")
	}
	for _, s := range p.Steps {
		if s.Latency == nil {
			continue
		}
		line := fmt.Sprintf("BenchmarkDisk/profile=%s/operation=%s/threads=%d/clients=%d \t%d\t%.1f ns/op", word(s.Profile), word(s.Operation), s.Threads, s.Clients, s.Operations, s.Latency.Mean)
		for _, q := range []struct {
			name string
			ns   *int64
		}{{"p50", s.Latency.P50}, {"p99", s.Latency.P99}, {"p99.9", s.Latency.P999}} {
			if q.ns != nil {
				line += fmt.Sprintf("\t%d %s-ns", *q.ns, q.name)
			}
		}
		if s.Flush != nil && s.Flush.P50 != nil {
			line += fmt.Sprintf("\t%d flush-p50-ns", *s.Flush.P50)
		}
		if _, err := fmt.Fprintf(w, "%s\t%.1f op/s\n", line, s.Rate); err != nil {
			return err
		}
	}
	return nil
}
