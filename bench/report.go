package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/report"
	"github.com/plimsoll-bench/plimsoll/report/html"
	"github.com/plimsoll-bench/plimsoll/report/recordtest"
)

// The goals of a page.
const (
	pageTime  = 3 * time.Second
	pageBytes = 5e6
)

// reportCost shows the time and the size of a page of a day, and of one of a study with a thousand trials.
func reportCost(_ context.Context, w io.Writer, _ config) error {
	dir, err := scratchIn("")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	fmt.Fprintf(w, "\nReports, from opening the record to the complete page (goals: under 3 s, under 5 MB)\n")
	for _, open := range []bool{false, true} {
		hour, day := filepath.Join(dir, fmt.Sprint("hour", open)), filepath.Join(dir, fmt.Sprint("day", open))
		what := "24 h closed loop"
		if open {
			what = "24 h open loop"
		}
		run := recordtest.Run{
			Seconds: 3600, Rate: 500, Open: open, Median: 2 * time.Millisecond, Seed: 1, Templates: 240,
		}
		if _, err := run.Write(hour); err != nil {
			return err
		}
		if err := recordtest.Repeat(hour, day, 24); err != nil {
			return err
		}
		if err := timePage(w, what+", 500 ok/s", day); err != nil {
			return err
		}
	}
	study := filepath.Join(dir, "study")
	var workers []int
	for n := range 50 {
		workers = append(workers, 4*(n+1))
	}
	if _, err := (recordtest.Study{Workers: workers, Blocks: 20, Seed: 1}).Write(study); err != nil {
		return err
	}
	return timePage(w, "study of 1,020 trials", study)
}

func timePage(w io.Writer, what, dir string) error {
	begin, before := time.Now(), measure.ProcessCPU()
	s, err := report.Open(dir)
	if err != nil {
		return err
	}
	var page bytes.Buffer
	if err := html.Write(&page, []*report.Source{s}, report.PageOptions{}); err != nil {
		return err
	}
	took := time.Since(begin)
	used := measure.ProcessCPU() - before
	fmt.Fprintf(w, "  %-28s %6.2f s (%5.2f s of processor time)  %s   %5.2f MB  %s\n", what, took.Seconds(), used.Seconds(),
		verdict(took < pageTime), float64(page.Len())/1e6, verdict(page.Len() < pageBytes))
	return nil
}
