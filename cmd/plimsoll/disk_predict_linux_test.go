package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/plimsoll-bench/plimsoll/record"
)

// TestPredictionFromProbe calibrates the embedded engine in memory, predicts it on a directory from a probe, runs it
// there, and draws both.
func TestPredictionFromProbe(t *testing.T) {
	shm, err := os.MkdirTemp("/dev/shm", "plimsoll-test-")
	if err != nil {
		t.Fatal("the calibration needs a filesystem in memory: ", err)
	}
	t.Cleanup(func() { os.RemoveAll(shm) })
	t.Chdir(t.TempDir())
	do := func(want int, args ...string) string {
		t.Helper()
		code, stdout, stderr := hereWith(t, "home", args...)
		if code != want {
			t.Fatalf("plimsoll %s: exit %d, want %d\n%s%s", strings.Join(args, " "), code, want, stdout, stderr)
		}
		return stdout
	}
	load := func(target, threads, out string) {
		t.Helper()
		do(0, "run", "embedded:"+target, "--workload", "a", "--records", "100", "--durability", "durable", "--threads", threads,
			"--operations", "500", "--out", out, "-q")
	}
	load(filepath.Join(shm, "data"), "1", "one")
	load(filepath.Join(shm, "data"), "4", "four")
	probe := []string{"disk", "data", "--profile", "journal", "--segment", "4MiB", "--duration", "500ms", "--clients", "1,2,4", "--force", "-q"}
	if err := os.Mkdir("data", 0o700); err != nil {
		t.Fatal(err)
	}
	do(0, append(probe, "--predict", "one,four", "--out", "probe")...)
	p, err := record.OpenProbe("probe")
	if err != nil {
		t.Fatal(err)
	}
	if p.Specification.Log != "growing" || p.Prediction == nil || p.Prediction.Refused != "" || len(p.Prediction.Points) != 3 {
		t.Fatalf("log %q, prediction %+v", p.Specification.Log, p.Prediction)
	}
	load("engine", "2", "runs/two")
	text := do(0, "compare", "probe", "runs", "--out", "both", "--verbose")
	if !strings.Contains(text, "2 workers") || !strings.Contains(text, "●") || !strings.Contains(text, "predicted p99") {
		t.Error(text)
	}
	var held record.Probe
	if err := json.Unmarshal([]byte(do(0, "compare", "probe", "runs", "--format", "json")), &held); err != nil {
		t.Fatal(err)
	}
	if m := held.Prediction.Points[1].Measured; m == nil || m.Rate <= 0 || held.Prediction.RateError == nil {
		t.Errorf("measured %+v", m)
	}
	do(0, "report", "both", "-o", "page.html")
	page, err := os.ReadFile("page.html")
	if err != nil || !strings.Contains(string(page), "Predicted and measured p99 of durable writes over workers") {
		t.Errorf("the page does not draw both: %v", err)
	}
	// A side without a prediction, and runs of something else.
	do(0, "disk", "data", "--profile", "journal", "--segment", "4MiB", "--duration", "200ms", "--clients", "1", "--force", "-q", "--out", "plain")
	do(2, "compare", "plain", "runs")
	do(2, append(probe, "--predict", "nothing")...)
	do(2, "disk", "--place", "kubernetes", "--predict", "one")
	load("engine", "3", "other")
	if text := do(6, "compare", "probe", "other", "--verbose"); !strings.Contains(text, "nothing is predicted for 3 workers") {
		t.Error(text)
	}
}
