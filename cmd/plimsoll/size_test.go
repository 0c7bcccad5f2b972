package main

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/plimsoll-bench/plimsoll/capacity/sizetest"
	"github.com/plimsoll-bench/plimsoll/measure"
)

// scriptMade writes the record of a run whose results are made up, so that what is said about them is known:
//
//	made DIR KEY=VALUE…    workload, rate, achieved, records, p99, cache (bytes), topology, invalid (a reason)
func scriptMade(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 {
		ts.Fatalf("usage: made DIR [KEY=VALUE]…")
	}
	var r sizetest.Run
	for _, arg := range args[1:] {
		key, value, _ := strings.Cut(arg, "=")
		ts.Check(setMade(&r, key, value))
	}
	dir := ts.MkAbs(args[0])
	ts.Check(os.MkdirAll(filepath.Dir(dir), 0o755))
	ts.Check(sizetest.WriteRun(dir, r))
}

func setMade(r *sizetest.Run, key, value string) (err error) {
	switch key {
	case "workload":
		r.Workload = value
	case "rate":
		r.Rate, err = strconv.ParseFloat(value, 64)
	case "achieved":
		r.Achieved, err = strconv.ParseFloat(value, 64)
	case "records":
		r.Records, err = strconv.ParseInt(value, 10, 64)
	case "p99":
		r.P99, err = time.ParseDuration(value)
	case "cache":
		r.Target.Settings = map[string]string{"wiredTiger cache bytes": value}
	case "topology":
		r.Target.Topology = value
	case "invalid":
		r.Findings = []measure.Finding{{ID: "client-cpu", Severity: measure.Invalid, Text: value}}
	default:
		err = &os.PathError{Op: "made", Path: key, Err: os.ErrInvalid}
	}
	return err
}

// What a year of failures costs is the first line, how sure that is the next, and the next command the last.
func TestFailuresInAYear(t *testing.T) {
	t.Parallel()
	drills := func(name string) (dirs []string) {
		for _, n := range []string{"-1", "-2", "-3"} {
			dir, err := filepath.Abs("../../capacity/predict/testdata/drills/" + name + n)
			if err != nil {
				t.Fatal(err)
			}
			dirs = append(dirs, dir)
		}
		return dirs
	}
	const next = " --fault kill:primary --repeat 5 --w majority"
	code, text := plimsoll(t, append([]string{"size", "--failures", "shards=333,ops=300k,kill=200"}, drills("mongod-kill")...)...)
	begin, rest, ok := strings.Cut(text, "valid, with ")
	if code != 0 || !ok || !strings.HasPrefix(begin, "! 333 shards of 3 members, a year with 200 failures: no writes for ") ||
		!strings.Contains(rest, " of outages in the middle 90 of 100 simulated years; ") || !strings.Contains(rest, "plimsoll drill lab:ddefault1"+next) {
		t.Errorf("exit code %d: %s", code, text)
	}
	code, text = plimsoll(t, append([]string{"size", "--failures", "shards=333,kill=200"}, drills("patroni-power-off")...)...)
	if code != exitInvalid || !strings.HasPrefix(text, "! shards=333,kill=200: these records do not show it refused") ||
		!strings.Contains(text, "plimsoll drill lab:dpg1"+next) {
		t.Errorf("exit code %d: %s", code, text)
	}
	code, text = plimsoll(t, append([]string{"size", "--failures", "shards=333,kil=200"}, drills("mongod-kill")...)...)
	if code != exitUsage || !strings.Contains(text, "did you mean kill?") {
		t.Errorf("exit code %d: %s", code, text)
	}
}
