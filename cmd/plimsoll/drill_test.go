package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/plimsoll-bench/plimsoll/drill"
	"github.com/plimsoll-bench/plimsoll/lab/topology"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/record/schema"
	"github.com/plimsoll-bench/plimsoll/run"
)

// The shipped drills are drills, their labs can be planned, and they fit the schema.
func TestShippedDrills(t *testing.T) {
	files, err := filepath.Glob("../../examples/drill/*.yaml")
	if err != nil || len(files) < 18 {
		t.Fatalf("only %v (%v)", files, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		spec, err := record.ReadDrillSpec(bytes.NewReader(text))
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		if spec.Lab == nil {
			t.Errorf("%s has no lab", file)
			continue
		}
		for _, engine := range []string{record.LabMongod, record.LabDocumentDB} {
			if spec.Lab.Engine.Name != "" && spec.Lab.Engine.Name != engine {
				continue
			}
			of, lab := spec, *spec.Lab
			lab.Engine.Name = engine
			of.Lab = &lab
			of.Defaults()
			if err := drill.Check(of); err != nil {
				t.Errorf("%s on %s: %v", file, engine, err)
			}
			if _, err := topology.Plan(*of.Lab); err != nil && record.EngineLacks(engine, record.CapSharding) == "" {
				t.Errorf("%s on %s: %v", file, engine, err)
			}
			if err := run.CheckRoom(*of.Lab, of.Run); err != nil {
				t.Errorf("%s on %s: %v", file, engine, err)
			}
		}
		if want := strings.TrimSuffix(filepath.Base(file), ".yaml"); spec.Name != want {
			t.Errorf("%s makes a drill called %s", file, spec.Name)
		}
		fitsSchema(t, file, text, schema.DrillSpec)
	}
}

// The exit code of a drill is that of the worst that happened.
func TestExitCodesOfDrills(t *testing.T) {
	lost := record.DrillRound{Verdict: record.Violated, Expect: record.ExpectSpec{Loss: record.LossNone},
		Ledger: &record.LedgerResult{Inserts: map[string]int64{record.WriteLost: 1}}}
	late := lost // and violated for another reason: what is lost is within the window
	late.Expect, late.Ledger = record.ExpectSpec{Loss: record.LossWindow, LossWindow: record.Duration(2e9)}, &record.LedgerResult{Inserts: lost.Ledger.Inserts, LossWindow: 1e9}
	for _, c := range []struct {
		d    record.Drill
		want int
	}{
		{record.Drill{Status: record.Complete, Verdict: record.Violated, Rounds: []record.DrillRound{late}}, exitObjective},
		{record.Drill{Status: record.Complete, Verdict: record.Holds}, exitSuccess},
		{record.Drill{Status: record.Complete, Verdict: record.Unknown}, exitInvalid},
		{record.Drill{Status: record.Complete, Verdict: record.Violated, Rounds: []record.DrillRound{lost}}, exitLost},
		{record.Drill{Status: record.Interrupted, Verdict: record.Violated, Rounds: []record.DrillRound{lost}}, exitLost},
		{record.Drill{Status: record.Complete, Verdict: record.Violated}, exitObjective},
		{record.Drill{Status: record.Interrupted, Verdict: record.Unknown}, exitInterrupted},
		{record.Drill{Status: record.Killed, Verdict: record.Unknown}, exitInterrupted},
		{record.Drill{Status: record.Failed, Verdict: record.Unknown}, exitFailure},
	} {
		if got := exitCode(verdictOfDrill(&c.d)); got != c.want {
			t.Errorf("%s %s ends with %d, want %d", c.d.Status, c.d.Verdict, got, c.want)
		}
	}
}
