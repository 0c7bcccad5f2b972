package report

import (
	"cmp"
	"encoding/csv"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/plimsoll-bench/plimsoll/record"
)

// probeCSV writes one line per step, the first line being the header. Times are in microseconds; a field is empty where
// there are too few values to state it, or where it does not belong to the step.
func probeCSV(w io.Writer, p *record.Probe) error {
	header := []string{"started", "directory", "filesystem", "status", "validity", "verdict", "profile", "operation", "threads", "clients", "block", "mode", "sync",
		"seconds", "operations", "op_per_s", "bytes_per_s", "flushes", "flushes_per_sync", "writes_per_sync", "model_us", "cpu_seconds"}
	for _, kind := range []string{"latency", "flush"} {
		for _, q := range []string{"mean", "p50", "p99", "p99.9", "max"} {
			header = append(header, kind+"_"+q+"_us")
		}
	}
	rows := [][]string{header}
	for _, s := range p.Steps {
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
		row := []string{p.Started.UTC().Format(time.RFC3339), p.Specification.Directory, p.Storage.Filesystem,
			string(p.Status), validity(p.Validity), string(p.Verdict), s.Profile, s.Operation,
			strconv.Itoa(s.Threads), strconv.Itoa(s.Clients), integer(s.Block), s.Mode, s.Sync, number(s.Seconds),
			integer(s.Operations), number(s.Rate), number(s.BytesRate),
			integer(s.Flushes), flushes, writes, model, number(s.CPUSeconds)}
		for _, l := range []*record.Latency{s.Latency, s.Flush} {
			l = cmp.Or(l, &record.Latency{})
			row = append(row, microseconds(l, l.P50, l.P99, l.P999)...)
		}
		rows = append(rows, row)
	}
	return csv.NewWriter(w).WriteAll(rows)
}

// probeBench writes each step in the format of Go benchmarks, which benchstat compares.
func probeBench(w io.Writer, p *record.Probe) error {
	b := benchWriter{w: w}
	b.head(p.Environment, p.Validity)
	for _, s := range p.Steps {
		if s.Latency == nil {
			continue
		}
		flush := ""
		if s.Flush != nil && s.Flush.P50 != nil {
			flush = fmt.Sprintf("\t%d flush-p50-ns", *s.Flush.P50)
		}
		b.printf("BenchmarkDisk/profile=%s/operation=%s/threads=%d/clients=%d \t%d\t%s%s\t%.1f op/s\n", word(s.Profile), word(s.Operation),
			s.Threads, s.Clients, s.Operations, benchTimes(s.Latency), flush, s.Rate)
	}
	return b.err
}
