package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll-bench/plimsoll/capacity/sizetest"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// documentedCase is a line of the cases in docs/reference/exit-codes.md.
var documentedCase = regexp.MustCompile("(?m)^\\| ([0-9]+) \\| `plimsoll ([^`]+)` \\| .+ \\|$")

// TestDocumentedExitCodes runs every command that docs/reference/exit-codes.md lists with its code.
func TestDocumentedExitCodes(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "reference", "exit-codes.md"))
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	makeCases(t)
	const down = "mongodb://127.0.0.1:1/" // no test of another package listens there meanwhile
	cases := documentedCase.FindAllStringSubmatch(string(page), -1)
	found := map[int]int{}
	for _, c := range cases {
		want, err := strconv.Atoi(c[1])
		if err != nil {
			t.Fatal(err)
		}
		found[want]++
		args := strings.Fields(strings.ReplaceAll(c[2], "DOWN", down))
		for i := range args {
			args[i] = strings.Trim(args[i], "'")
		}
		code, stdout, stderr := hereWith(t, "home", args...)
		if code != want {
			t.Errorf("plimsoll %s: exit %d, the page says %d\n%s%s", c[2], code, want, stdout, stderr)
		}
	}
	for _, code := range []int{exitSuccess, exitFailure, exitUsage, exitUnreachable, exitObjective, exitLost, exitInvalid,
		exitInterrupted} {
		if found[code] == 0 {
			t.Errorf("the page has no case of %d", code)
		}
		if !strings.Contains(string(page), "\n| "+strconv.Itoa(code)+" | ") {
			t.Errorf("the table of codes has no %d", code)
		}
	}
	if rows := strings.Count(string(page), "| `plimsoll "); rows != len(cases) {
		t.Errorf("%d of %d cases were understood", len(cases), rows)
	}
}

// makeCases writes what the cases name.
func makeCases(t *testing.T) {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.WriteFile("FILE", nil, 0o600))
	must(os.MkdirAll("home/labs/dead", 0o700))
	must(os.MkdirAll("taken", 0o700))
	must(os.WriteFile("taken/run.json", []byte("{}"), 0o600))
	must(os.MkdirAll("damaged", 0o700))
	must(os.WriteFile("damaged/study.json", []byte(`{"schema_version":"1.0","kind":"stu`), 0o600))
	must(sizetest.WriteRun("doubtful", sizetest.Run{Rate: 1000,
		Findings: []measure.Finding{{ID: "client-cpu", Severity: measure.Invalid, Text: "busy"}}}))
	must(sizetest.WriteRun("slow", sizetest.Run{Rate: 1000, Objectives: []measure.ObjectiveResult{{Objective: "p99<1ms"}}}))
	must(sizetest.WriteRun("failed", sizetest.Run{Rate: 1000, Status: record.Failed}))
	asked := spec.Run{Target: "null:"}
	w, err := record.CreateRun("killed", record.Tool{Name: "plimsoll"}, asked) // and nobody ends it
	must(err)
	must(w.Begin(measure.Dims{Classes: []measure.Class{{Name: "read"}},
		Outcomes: []measure.Outcome{{Name: "ok", Success: true}}}, time.Now()))
	d, err := record.CreateDrill("lost", spec.Drill{Run: asked})
	must(err)
	must(d.Write(&record.Drill{Head: record.Head{SchemaVersion: record.SchemaVersion, Kind: record.KindDrill,
		Status: record.Complete}, Verdict: record.Violated, Rounds: []record.DrillRound{
		{Verdict: record.Violated, Expect: spec.Expect{Loss: spec.LossNone},
			Ledger: &record.LedgerResult{Inserts: map[string]int64{record.WriteLost: 1}}}}}))
}
