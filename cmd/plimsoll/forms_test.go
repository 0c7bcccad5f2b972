package main

import (
	"bytes"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/plimsoll-bench/plimsoll/report"
	"github.com/plimsoll-bench/plimsoll/report/recordtest"
)

// A record of each kind has its forms, and says which it has where one is asked for that it has not.
func TestFormsOfReports(t *testing.T) {
	t.Parallel()
	drill, probe := filepath.Join(t.TempDir(), "drill"), filepath.Join(t.TempDir(), "probe")
	if _, err := (recordtest.Drill{Rounds: 2, Lossy: 1}).Write(drill); err != nil {
		t.Fatal(err)
	}
	if _, err := (recordtest.Probe{}).Write(probe); err != nil {
		t.Fatal(err)
	}
	suite := filepath.Join(t.TempDir(), "suite")
	if _, err := (recordtest.Suite{}).Write(suite); err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct{ dir, format, want string }{
		{suite, "md", "| 192 | ops/s | +20.2 % |"}, {suite, "csv", "published_ratio"}, {suite, "json", `"agreement": "same direction"`}, {suite, "html", "a suite has no format html"},
		{drill, "md", "diverged"}, {drill, "csv", "loss_window_s"}, {drill, "json", `"kind": "drill"`}, {drill, "ycsb", "a drill has no format ycsb (known: csv, md, json)"},
		{probe, "md", "|"}, {probe, "csv", "flushes_per_sync"}, {probe, "json", `"kind": "probe"`}, {probe, "ycsb", "a probe has no format ycsb"},
	} {
		s, err := report.Open(x.dir)
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		got := ""
		if err := writeRecord(&b, s, x.format); err != nil {
			got = err.Error()
		}
		if got += b.String(); !strings.Contains(got, x.want) {
			t.Errorf("%s of %s does not have %q:\n%.300s", x.format, filepath.Base(x.dir), x.want, got)
		}
	}
	err := writeReport(t.Context(), &environment{stdout: io.Discard, stderr: io.Discard}, []string{probe, drill}, "md", "")
	if err == nil || !strings.Contains(err.Error(), "is neither a run nor a study") {
		t.Errorf("a probe and a drill as text: %v", err)
	}
}
