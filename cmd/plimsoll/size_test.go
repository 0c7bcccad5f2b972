package main

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/plimsoll-bench/plimsoll/capacity/sizetest"
	"github.com/plimsoll-bench/plimsoll/measure"
)

// scriptMade writes the record of a run whose results are made up, so that what is said about them is known:
//
//	made DIR KEY=VALUE…    workload, rate, achieved, records, p99, cache (bytes), invalid (a reason)
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
	case "invalid":
		r.Findings = []measure.Finding{{ID: "client-cpu", Severity: measure.Invalid, Text: value}}
	default:
		err = &os.PathError{Op: "made", Path: key, Err: os.ErrInvalid}
	}
	return err
}
